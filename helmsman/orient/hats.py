"""Which hat an iteration wears, and why: one table of conditions over what is known before it begins. It is total."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from helmsman.config import ClaudeConfig
from helmsman.oversee.advice import PERSONAS, advise
from helmsman.prompts import render
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import EscalationLevel, Movement
from helmsman.records.hats import Condition, Hat, Preset, Sheet, Worn
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
    findings: int = 0
    """Those that block."""
    untrue: int = 0
    taken_back: bool = False
    first: bool = False
    replan: bool = False
    conflict: bool = False
    item: str = ""
    """Markers and title of the plan's item in hand."""
    persona: str = ""
    """Whom the ladder asks for."""


def scene_of(state: LoopState) -> Scene:
    """The situation of the iteration that is due."""
    given, report = advise(state), state.checks
    item = next((one for one in state.plan.sketch if one.id == state.plan.now and not one.done), None)
    red = report is not None and bool(report.failures)
    return Scene(
        phase="research" if state.researching else "work",
        rung=RUNGS.get(state.oversight.ladder.rung, "redesign") if state.config.ladder.act else "patch",
        checks="none" if report is None or not report.results else "red" if red else "green",
        failing=_failing(state) if red else {},
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
            clauses = [MEANINGS[name].holds(condition, scene) for name in condition.asked]
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
    hat, why = chosen
    return Worn(name=hat.name, title=hat.title, why=why, preset=state.preset.name)


def hat_sections(state: LoopState) -> Iterator[tuple[str, str]]:
    """What the prompt says of the kind of work and of the hat. The operator chose both, so they stand as orders."""
    preset, chosen = state.preset, _chosen(state)
    if preset and preset.sheet.guidance:
        yield "preset", render("kind_of_work", title=preset.sheet.title, guidance=preset.sheet.guidance)
    if chosen:
        hat, _ = chosen
        yield "hat", render("hat", title=hat.title, words=hat.prompt)


def in_hat(config: ClaudeConfig, state: LoopState) -> ClaudeConfig:
    """The agent's configuration with the hat's model and tools. Nothing that is denied becomes allowed."""
    hat = worn_hat(state)
    if hat is None:
        return config
    by_hand = state.preset is None or state.config.claude.model != state.preset.replaces  # at the start or since
    changed = {
        "model": ("" if by_hand else state.config.hats.models.get(hat.name) or hat.model) or config.model,
        "allowed_tools": tuple(dict.fromkeys((*config.allowed_tools, *hat.allowed_tools))),
        "disallowed_tools": tuple(dict.fromkeys((*config.disallowed_tools, *hat.disallowed_tools))),
    }
    return config.model_copy(update=changed)


def _chosen(state: LoopState) -> tuple[Hat, str] | None:
    return choose(state.preset, scene_of(state)) if state.preset and state.config.hats.use else None


def _failing(state: LoopState) -> dict[FailureClass, int]:
    """What the last checks showed, with how long the overseer has seen it; the tree that a loop begins with counts for none."""
    seen = [summary for summary in state.history if summary.checked and summary.movement is not Movement.WAITED]
    known = {learnt.kind: learnt.in_row for learnt in state.oversight.learning}
    return {error.kind: known.get(error.kind, 0) for error in seen[-1].errors} if seen else {}


# --- the table ------------------------------------------------------------------------------------------------------


def _failures(condition: Condition, scene: Scene) -> str:
    """Of the classes that are asked for those that are there, for as many iterations in a row as are asked for."""
    found = {kind: times for kind, times in scene.failing.items() if kind in condition.failing}
    times = max(found.values(), default=0)
    lasting = f" in {plural(times, 'iteration')} in a row" if condition.in_row else ""
    return f"{', '.join(found)} failures{lasting}" if found and times >= (condition.in_row or 0) else ""


def _item_says(condition: Condition, scene: Scene) -> str:
    """The first of the words that are asked for that the item in hand has, whole and in any case."""
    whole = (rf"(?<!\w){re.escape(word)}(?!\w)" for word in condition.item)
    found = (re.search(pattern, scene.item, re.IGNORECASE) for pattern in whole)
    return next((f"the plan's item says {match[0]}" for match in found if match), "")


@dataclass(frozen=True)
class Meaning:
    """What a condition means, by its name."""

    rule: str
    """What people are told of it; `{}` is what it asks for."""
    holds: Callable[[Condition, Scene], str]
    """The clause that says how it holds; empty where it does not."""


_PHASES = {"research": "it looks only", "work": "it is for the work itself"}
_CHECKS = {"none": "nothing was checked yet"}
MEANINGS: Mapping[str, Meaning] = {
    "phase": Meaning("in an iteration of {}", lambda asked, scene: _PHASES[scene.phase] * (scene.phase in asked.phase)),
    "rung": Meaning("at the level {}", lambda asked, scene: f"the ladder is at {scene.rung}" * (scene.rung in asked.rung)),
    "checks": Meaning(
        "checks are {}",
        lambda asked, scene: _CHECKS.get(scene.checks, f"the checks are {scene.checks}") * (scene.checks in asked.checks),
    ),
    "failing": Meaning("failures of {}", _failures),
    "in_row": Meaning("{} in a row", _failures),
    "idle": Meaning(
        "no progress, {} in a row",
        lambda asked, scene: f"{plural(scene.idle, 'iteration')} in a row without progress" * (scene.idle >= (asked.idle or 0)),
    ),
    "rejections": Meaning(
        "rejections by the judge, {} in a row",
        lambda asked, scene: (
            f"{plural(scene.rejections, 'rejection')} by the judge in a row" * (scene.rejections >= (asked.rejections or 0))
        ),
    ),
    "findings": Meaning(
        "a finding blocks", lambda _, scene: f"{plural(scene.findings, 'finding')} in the diff" * (scene.findings > 0)
    ),
    "untrue": Meaning("a claim did not hold", lambda _, scene: plural(scene.untrue, "untrue claim") * (scene.untrue > 0)),
    "taken_back": Meaning("work was taken back", lambda _, scene: "the last work was taken back" * scene.taken_back),
    "first": Meaning("nothing is done yet", lambda _, scene: "nothing is done yet" * scene.first),
    "replan": Meaning("the plan is made anew", lambda _, scene: "the plan is made anew" * scene.replan),
    "conflict": Meaning("a merge has to be fixed", lambda _, scene: "a merge has to be fixed" * scene.conflict),
    "item": Meaning("the plan's item says {}", _item_says),
}

# --- what people are told of a preset -------------------------------------------------------------------------------


def hat_rows(preset: Preset) -> Iterator[tuple[str, str]]:
    """Each hat's name, and when it is worn, in the order in which they are asked."""
    usual, *others = preset.hats
    yield usual.name, "where nothing calls for another one"
    for hat in sorted(others, key=lambda hat: -hat.priority if hat.when else 1):
        yield hat.name, "; or ".join(map(condition_text, hat.when)) or "where the ladder asks for it"


def setting_rows(sheet: Sheet) -> Iterator[tuple[str, str]]:
    """Dotted keys with their values, as JSON."""
    for name, value in sheet.settings.items():
        tables: dict[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {"": value}
        yield from ((f"{name}.{key}".rstrip("."), json.dumps(inner, ensure_ascii=False)) for key, inner in tables.items())


def condition_text(condition: Condition) -> str:
    asked: dict[str, Any] = {name: getattr(condition, name) for name in condition.asked}
    values = {
        name: " or ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value
        for name, value in asked.items()
    }
    return ", ".join(MEANINGS[name].rule.format(value) for name, value in values.items())
