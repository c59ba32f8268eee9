"""Which hat an iteration wears, and why: one table of conditions over what is known before it begins. It is total."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from helmsman.oversee.advice import PERSONAS, advise
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Movement
from helmsman.records.hats import Condition, Hat, Preset, Worn
from helmsman.records.state import LoopState

RungName = Literal["patch", "refactor", "redesign"]
RUNGS: Mapping[EscalationLevel, RungName] = {EscalationLevel.PATCH: "patch", EscalationLevel.REFACTOR: "refactor"}
"""What is not here is a redesign: after a person was asked it begins with one."""
CALLED: Mapping[str, str] = {persona: persona.replace(" ", "-") for persona in PERSONAS if persona}
"""Hats that the ladder asks for, by the names of their files."""
USUAL = "nothing calls for another one"


@dataclass(frozen=True)
class Scene:
    """What is known before an iteration begins, as far as a hat may depend on it."""

    phase: Literal["work", "research"] = "work"
    rung: RungName = "patch"
    checks: Literal["red", "green", "none"] = "none"
    failing: Mapping[FailureClass, int] = field(default_factory=dict[FailureClass, int])
    """Classes of failure that the checks show, with the iterations in a row that each was not dealt with."""
    idle: int = 0
    rejections: int = 0
    findings: int = 0  # those that block
    untrue: int = 0
    taken_back: bool = False
    first: bool = False
    replan: bool = False
    conflict: bool = False
    item: str = ""  # markers and title of the plan's item in hand
    persona: str = ""  # whom the ladder asks for


def scene_of(state: LoopState) -> Scene:
    given, report = advise(state), state.checks
    item = next((one for one in state.plan.sketch if one.id == state.plan.now and not one.done), None)
    red = report is not None and bool(report.failures)
    # what the last checks showed, with how long the overseer has seen it; the tree that a loop begins with counts for none
    seen = [summary for summary in state.history if summary.checked and summary.movement is not Movement.WAITED]
    lasting = {learnt.kind: learnt.in_row for learnt in state.oversight.learning}
    return Scene(
        phase="research" if state.researching else "work",
        rung=RUNGS.get(state.oversight.ladder.rung, "redesign") if state.config.ladder.act else "patch",
        checks="none" if report is None or not report.results else "red" if red else "green",
        failing={error.kind: lasting.get(error.kind, 0) for error in seen[-1].errors} if red and seen else {},
        idle=state.oversight.idle,
        rejections=state.judge.rejections,
        findings=sum(finding.weight is Weight.BLOCK for finding in state.findings),
        untrue=len(state.contradictions),
        taken_back=state.failed is not None,
        first=state.iteration <= state.memory.research.tries,  # research prepares, and does nothing yet
        replan=given.anew,
        conflict=state.merging.trouble is not None,
        item=f"{'[VERIFY] ' * item.verify}{'[P] ' * item.parallel}{item.title}" if item else "",
        persona=given.persona,
    )


def choose(preset: Preset, scene: Scene) -> tuple[Hat, str]:
    """The hat, and why in a clause. Whom the ladder asks for comes first; of the others the first one whose conditions hold."""
    by_name = {hat.name: hat for hat in preset.hats}
    asked = by_name.get(CALLED.get(scene.persona, ""))
    if asked is not None:
        return asked, f"the ladder asks for this one, at {scene.rung}"
    for hat in sorted(preset.hats[1:], key=lambda hat: -hat.priority):  # which keeps the order of equals
        for condition in hat.when:
            if all(_holds(name, condition, scene) for name in condition.asked):
                return hat, condition_text(condition)
    return preset.hats[0], USUAL


def worn_hat(state: LoopState) -> Hat | None:
    """The hat of the iteration that is due; None where hats are not used."""
    return choose(state.preset, scene_of(state))[0] if state.preset else None


def worn(state: LoopState) -> Worn | None:
    """The same for the record."""
    if state.preset is None:
        return None
    hat, why = choose(state.preset, scene_of(state))
    return Worn(name=hat.name, title=hat.title, why=why, preset=state.preset.name)


RULES: Mapping[str, str] = {
    "phase": "in an iteration of {}",
    "rung": "at the level {}",
    "checks": "checks are {}",
    "failing": "failures of {}",
    "in_row": "{} in a row",
    "idle": "no progress, {} in a row",
    "rejections": "rejections by the judge, {} in a row",
    "findings": "a finding blocks",
    "untrue": "a claim did not hold",
    "taken_back": "work was taken back",
    "first": "nothing is done yet",
    "replan": "the plan is made anew",
    "conflict": "a merge has to be fixed",
    "item": "the plan's item says {}",
}
"""What a condition may ask for, as people are told of it."""


def _holds(name: str, condition: Condition, scene: Scene) -> bool:
    """Whether one thing that a condition asks for is so."""
    if name in {"failing", "in_row"}:  # one of the classes is there, for as many iterations in a row as are asked for
        return any(times >= (condition.in_row or 0) for kind, times in scene.failing.items() if kind in condition.failing)
    if name == "item":  # the item in hand has one of the words, whole and in any case
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", scene.item, re.IGNORECASE) for word in condition.item)
    asked, value = getattr(condition, name), getattr(scene, name)
    return value in asked if isinstance(asked, tuple) else value >= asked


def hat_rows(preset: Preset) -> Iterator[tuple[str, str]]:
    """Each hat's name, and when it is worn, in the order in which they are asked."""
    usual, *others = preset.hats
    yield usual.name, "where nothing calls for another one"
    for hat in sorted(others, key=lambda hat: -hat.priority if hat.when else 1):
        yield hat.name, "; or ".join(map(condition_text, hat.when)) or "where the ladder asks for it"


def condition_text(condition: Condition) -> str:
    asked: dict[str, Any] = {name: getattr(condition, name) for name in condition.asked}
    values = {
        name: " or ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value
        for name, value in asked.items()
    }
    return ", ".join(RULES[name].format(value) for name, value in values.items())
