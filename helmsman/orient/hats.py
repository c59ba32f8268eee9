"""Which hat an iteration wears, and why: one table of conditions over what is known before it begins. It is total."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from helmsman.config import ClaudeConfig
from helmsman.orient.research import researching
from helmsman.oversee.advice import Persona, advise
from helmsman.prompts import render
from helmsman.records.agent import FailureClass
from helmsman.records.checks import Weight
from helmsman.records.control import Movement, Rung
from helmsman.records.hats import Condition, Hat, Preset, Worn
from helmsman.records.plan import PlanProgress
from helmsman.records.state import LoopState
from helmsman.texts import counted

RungName = Literal["patch", "refactor", "redesign"]
RUNGS: Mapping[Rung, RungName] = {Rung.PATCH: "patch", Rung.REFACTOR: "refactor"}
"""What is not here is a redesign: after a person was asked it begins with one."""
CALLED: Mapping[Persona, str] = {persona: persona.value.replace(" ", "-") for persona in Persona if persona}
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
    persona: Persona = Persona.NONE
    """Whom the ladder asks for."""


def scene_of(state: LoopState) -> Scene:
    """The situation of the iteration that is due."""
    given, report = advise(state), state.checks
    red = report is not None and bool(report.failures)
    return Scene(
        phase="research" if researching(state) else "work",
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
        item=_item(state.plan),
        persona=given.persona,
    )


def _item(plan: PlanProgress) -> str:
    item = next((one for one in plan.sketch if one.id == plan.now and not one.done), None)
    return f"{'[VERIFY] ' * item.verify}{'[P] ' * item.parallel}{item.title}" if item else ""


def choose(preset: Preset, scene: Scene) -> tuple[Hat, str]:
    """The hat, and why in a clause. Whom the ladder asks for comes first; of the others the first one whose conditions hold."""
    by_name = {hat.name: hat for hat in preset.hats}
    asked = by_name.get(CALLED.get(scene.persona, ""))
    if asked is not None:
        return asked, f"the ladder asks for this one, at {scene.rung}"
    for hat in sorted(preset.hats[1:], key=lambda hat: -hat.priority):  # which keeps the order of equals
        for condition in hat.when:
            if all(HOLDS[name](condition, scene) for name in condition.asked):
                return hat, " and ".join(filter(None, (WORDS[name](condition, scene) for name in condition.asked)))
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
    changed = {
        "model": _model(hat, state) or config.model,
        "allowed_tools": tuple(dict.fromkeys((*config.allowed_tools, *hat.allowed_tools))),
        "disallowed_tools": tuple(dict.fromkeys((*config.disallowed_tools, *hat.disallowed_tools))),
    }
    return config.model_copy(update=changed)


def _chosen(state: LoopState) -> tuple[Hat, str] | None:
    return choose(state.preset, scene_of(state)) if state.preset and state.config.hats.use else None


def _model(hat: Hat, state: LoopState) -> str:
    """Empty where the operator named a model by hand, at the start or since."""
    by_hand = state.preset is None or state.config.claude.model != state.preset.replaces
    return "" if by_hand else state.config.hats.models.get(hat.name) or hat.model


def _failing(state: LoopState) -> dict[FailureClass, int]:
    """What the last checks showed, with how long the overseer has seen it; the tree that a loop begins with counts for none."""
    seen = [moment for moment in state.history if moment.checked and moment.movement is not Movement.WAITED]
    known = {learnt.kind: learnt.in_row for learnt in state.oversight.learning}
    return {error.kind: known.get(error.kind, 0) for error in seen[-1].errors} if seen else {}


# --- the table ------------------------------------------------------------------------------------------------------


def _failures(condition: Condition, scene: Scene) -> Mapping[FailureClass, int]:
    """Of the classes that are asked for, those that are there."""
    return {kind: times for kind, times in scene.failing.items() if kind in condition.failing}


def _said_of(condition: Condition, scene: Scene) -> str:
    """The first of the words that are asked for that the item in hand has, whole and in any case."""
    whole = (rf"(?<!\w){re.escape(word)}(?!\w)" for word in condition.item)
    found = (re.search(pattern, scene.item, re.IGNORECASE) for pattern in whole)
    return next((match[0] for match in found if match), "")


def _times(condition: Condition, scene: Scene) -> int:
    return max(_failures(condition, scene).values(), default=0)


def _lasting(condition: Condition, scene: Scene) -> str:
    return f" in {counted(_times(condition, scene), 'iteration')} in a row" if condition.in_row else ""


HOLDS: Mapping[str, Callable[[Condition, Scene], bool]] = {
    "phase": lambda asked, scene: scene.phase in asked.phase,
    "rung": lambda asked, scene: scene.rung in asked.rung,
    "checks": lambda asked, scene: scene.checks in asked.checks,
    "failing": lambda asked, scene: bool(_failures(asked, scene)),
    "in_row": lambda asked, scene: _times(asked, scene) >= (asked.in_row or 0),
    "idle": lambda asked, scene: scene.idle >= (asked.idle or 0),
    "rejections": lambda asked, scene: scene.rejections >= (asked.rejections or 0),
    "findings": lambda _, scene: scene.findings > 0,
    "untrue": lambda _, scene: scene.untrue > 0,
    "taken_back": lambda _, scene: scene.taken_back,
    "first": lambda _, scene: scene.first,
    "replan": lambda _, scene: scene.replan,
    "conflict": lambda _, scene: scene.conflict,
    "item": lambda asked, scene: bool(_said_of(asked, scene)),
}
"""Whether a condition holds, by its name."""

WORDS: Mapping[str, Callable[[Condition, Scene], str]] = {
    "phase": lambda _, scene: "it looks only" if scene.phase == "research" else "it is for the work itself",
    "rung": lambda _, scene: f"the ladder is at {scene.rung}",
    "checks": lambda _, scene: "nothing was checked yet" if scene.checks == "none" else f"the checks are {scene.checks}",
    "failing": lambda asked, scene: f"{', '.join(_failures(asked, scene))} failures{_lasting(asked, scene)}",
    "in_row": lambda _, __: "",  # the one before it says so
    "idle": lambda _, scene: f"{counted(scene.idle, 'iteration')} in a row without progress",
    "rejections": lambda _, scene: f"{counted(scene.rejections, 'rejection')} by the judge in a row",
    "findings": lambda _, scene: f"{counted(scene.findings, 'finding')} in the diff",
    "untrue": lambda _, scene: f"{counted(scene.untrue, 'untrue claim')}",
    "taken_back": lambda _, __: "the last work was taken back",
    "first": lambda _, __: "nothing is done yet",
    "replan": lambda _, __: "the plan is made anew",
    "conflict": lambda _, __: "a merge has to be fixed",
    "item": lambda asked, scene: f"the plan's item says {_said_of(asked, scene)}",
}
"""What is said of a condition that holds."""
