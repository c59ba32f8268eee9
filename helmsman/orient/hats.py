"""Which hat an iteration wears, and why: one table of conditions over what is known before it begins. It is total."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from helmsman.oversee.advice import PERSONAS, advise
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Movement
from helmsman.records.hats import Condition, Hat, Preset, Worn
from helmsman.records.state import LoopState
from helmsman.texts import plural

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
            clauses = [_clause(name, condition, scene) for name in condition.asked]
            if all(clauses):
                return hat, " and ".join(dict.fromkeys(clauses))
    return preset.hats[0], USUAL


def worn_hat(state: LoopState) -> Hat | None:
    """The hat of the iteration that is due; None where hats are not used."""
    chosen = _chosen(state)
    return chosen[0] if chosen else None


def worn(state: LoopState) -> Worn | None:
    """The same for the record."""
    chosen = _chosen(state)
    if chosen is None or state.preset is None:
        return None
    return Worn(name=chosen[0].name, title=chosen[0].title, why=chosen[1], preset=state.preset.name)


def _chosen(state: LoopState) -> tuple[Hat, str] | None:
    return choose(state.preset, scene_of(state)) if state.preset else None


class Meaning(NamedTuple):
    rule: str  # what people are told of it; `{}` is what it asks for
    holds: str  # how it holds, with what the scene has there
    noun: str = ""  # what the scene counts there


MEANINGS: Mapping[str, Meaning] = {
    "phase": Meaning("in an iteration of {}", "{}"),
    "rung": Meaning("at the level {}", "the ladder is at {}"),
    "checks": Meaning("checks are {}", "the checks are {}"),
    "failing": Meaning("failures of {}", "{}"),
    "in_row": Meaning("{} in a row", "{}"),
    "idle": Meaning("no progress, {} in a row", "{} in a row without progress", "iteration"),
    "rejections": Meaning("rejections by the judge, {} in a row", "{} by the judge in a row", "rejection"),
    "findings": Meaning("a finding blocks", "{} in the diff", "finding"),
    "untrue": Meaning("a claim did not hold", "{}", "untrue claim"),
    "taken_back": Meaning("work was taken back", "the last work was taken back"),
    "first": Meaning("nothing is done yet", "nothing is done yet"),
    "replan": Meaning("the plan is made anew", "the plan is made anew"),
    "conflict": Meaning("a merge has to be fixed", "a merge has to be fixed"),
    "item": Meaning("the plan's item says {}", "the plan's item says {}"),
}
INSTEAD = {
    ("phase", "research"): "it looks only",
    ("phase", "work"): "it is for the work itself",
    ("checks", "none"): "nothing was checked yet",
}
"""Words for what a value says better by itself."""


def _clause(name: str, condition: Condition, scene: Scene) -> str:
    """How one thing that a condition asks for holds; empty where it does not."""
    asked: Any = getattr(condition, name)
    found: Any
    if name in {"failing", "in_row"}:  # the classes that are there, for as many iterations in a row as are asked for
        classes = {kind: times for kind, times in scene.failing.items() if kind in condition.failing}
        times = max(classes.values(), default=0)
        lasting = f" in {plural(times, 'iteration')} in a row" if condition.in_row else ""
        found = f"{', '.join(classes)} failures{lasting}" if classes and times >= (condition.in_row or 0) else ""
    elif name == "item":  # the first of the words that the item in hand has, whole and in any case
        every = (re.search(rf"(?<!\w){re.escape(word)}(?!\w)", scene.item, re.IGNORECASE) for word in condition.item)
        found = next((match[0] for match in every if match), "")
    else:
        value = getattr(scene, name)
        found = value if (value in asked if isinstance(asked, tuple) else value >= asked) else ""
    if not found:
        return ""
    meaning = MEANINGS[name]
    return INSTEAD.get((name, found)) or meaning.holds.format(plural(found, meaning.noun) if meaning.noun else found)


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
    return ", ".join(MEANINGS[name].rule.format(value) for name, value in values.items())
