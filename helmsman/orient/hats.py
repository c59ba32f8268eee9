"""Choice of an iteration's hat and its reason, by one total table of conditions on the state before it starts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from helmsman.oversee.advice import PERSONAS, advise
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Movement
from helmsman.records.hats import ChosenHat, Condition, Hat, Preset
from helmsman.records.state import LoopState

RungName = Literal["patch", "refactor", "redesign"]
RUNGS: Mapping[EscalationLevel, RungName] = {EscalationLevel.PATCH: "patch", EscalationLevel.REFACTOR: "refactor"}
"""Other levels mean a redesign: after a question to a person the loop starts with one."""
CALLED: Mapping[str, str] = {persona: persona.replace(" ", "-") for persona in PERSONAS if persona}
"""Hats that the ladder requests, with the names of their files."""
DEFAULT_REASON = "no other hat's condition holds"


@dataclass(frozen=True)
class Scene:
    """State before an iteration that a hat may depend on."""

    phase: Literal["work", "research"] = "work"
    rung: RungName = "patch"
    checks: Literal["red", "green", "none"] = "none"
    failing: Mapping[FailureClass, int] = field(default_factory=dict[FailureClass, int])
    """Classes of failure in the checks, with their number of consecutive iterations."""
    idle: int = 0
    rejections: int = 0
    findings: int = 0  # blocking ones
    untrue: int = 0
    taken_back: bool = False
    first: bool = False
    replan: bool = False
    conflict: bool = False
    item: str = ""  # markers and title of the plan's current item
    persona: str = ""  # requested by the ladder


def scene_of(state: LoopState) -> Scene:
    advice, report = advise(state), state.checks
    item = next((candidate for candidate in state.plan.sketch if candidate.id == state.plan.now and not candidate.done), None)
    has_failures = report is not None and bool(report.failures)
    # failures of the last checks and how long they have lasted; the initial tree does not count
    checked = [summary for summary in state.history if summary.checked and summary.movement is not Movement.WAITED]
    iterations_in_row = {learnt.kind: learnt.in_row for learnt in state.oversight.learning}
    return Scene(
        phase="research" if state.researching else "work",
        rung=RUNGS.get(state.oversight.ladder.rung, "redesign") if state.config.ladder.act else "patch",
        checks="none" if report is None or not report.results else "red" if has_failures else "green",
        failing={error.kind: iterations_in_row.get(error.kind, 0) for error in checked[-1].errors}
        if has_failures and checked
        else {},
        idle=state.oversight.idle,
        rejections=state.judge.rejections,
        findings=sum(finding.weight is Weight.BLOCK for finding in state.findings),
        untrue=len(state.contradictions),
        taken_back=state.failed is not None,
        first=state.iteration <= state.memory.research.tries,  # research only prepares work
        replan=advice.new_plan,
        conflict=state.merging.trouble is not None,
        item=f"{'[VERIFY] ' * item.verify}{'[P] ' * item.parallel}{item.title}" if item else "",
        persona=advice.persona,
    )


def choose(preset: Preset, scene: Scene) -> tuple[Hat, str]:
    """The hat and the reason as a clause. A persona requested by the ladder precedes the first hat whose conditions hold."""
    by_name = {hat.name: hat for hat in preset.hats}
    requested = by_name.get(CALLED.get(scene.persona, ""))
    if requested is not None:
        return requested, f"the escalation level asks for it: {scene.rung}"
    for hat in sorted(preset.hats[1:], key=lambda hat: -hat.priority):  # a stable sort
        for condition in hat.when:
            if all(_holds(name, condition, scene) for name in condition.asked):
                return hat, condition_text(condition)
    return preset.hats[0], DEFAULT_REASON


def current_hat(state: LoopState) -> Hat | None:
    """The hat of the due iteration; None if hats are not used."""
    return choose(state.preset, scene_of(state))[0] if state.preset else None


def hat_record(state: LoopState) -> ChosenHat | None:
    """The hat of the due iteration for its record."""
    if state.preset is None:
        return None
    hat, why = choose(state.preset, scene_of(state))
    return ChosenHat(name=hat.name, title=hat.title, why=why, preset=state.preset.name)


RULES: Mapping[str, str] = {
    "phase": "in an iteration of {}",
    "rung": "at the level {}",
    "checks": "checks are {}",
    "failing": "failures of {}",
    "in_row": "{} in a row",
    "idle": "no progress, {} in a row",
    "rejections": "rejections by the judge, {} in a row",
    "findings": "a finding blocks",
    "untrue": "a claim was contradicted",
    "taken_back": "work was rolled back",
    "first": "nothing is done yet",
    "replan": "the plan is rewritten",
    "conflict": "a merge must be fixed",
    "item": "the plan's item contains {}",
}
"""Texts for people of what a condition may require."""


def _holds(name: str, condition: Condition, scene: Scene) -> bool:
    """Whether one requirement of a condition holds."""
    if name in {"failing", "in_row"}:  # one of the classes is present for enough consecutive iterations
        return any(times >= (condition.in_row or 0) for kind, times in scene.failing.items() if kind in condition.failing)
    if name == "item":  # the current item has one of the words, case-insensitive
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", scene.item, re.IGNORECASE) for word in condition.item)
    required, value = getattr(condition, name), getattr(scene, name)
    return value in required if isinstance(required, tuple) else value >= required


def hat_rows(preset: Preset) -> Iterator[tuple[str, str]]:
    """Name and conditions of each hat, in order of evaluation."""
    usual, *others = preset.hats
    yield usual.name, "if no other hat's condition holds"
    for hat in sorted(others, key=lambda hat: -hat.priority if hat.when else 1):
        yield hat.name, "; or ".join(map(condition_text, hat.when)) or "if the escalation level asks for it"


def condition_text(condition: Condition) -> str:
    required: dict[str, Any] = {name: getattr(condition, name) for name in condition.asked}
    values = {
        name: " or ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value
        for name, value in required.items()
    }
    return ", ".join(RULES[name].format(value) for name, value in values.items())
