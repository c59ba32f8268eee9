"""What the next iteration does differently: by rung of the ladder, by quality of the feedback, by diagnosis. Literal tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from string import Template
from typing import Literal, NamedTuple

from helmsman.config import LoopConfig
from helmsman.oversee.ladder import CYCLES
from helmsman.records.memory import WorkingMemory
from helmsman.records.modes import Feedback, Ladder, Rung
from helmsman.records.oversight import Learnt, Oversight
from helmsman.records.session import FailureClass

RECURS = 2  # iterations in which the same thing was seen


class Persona(StrEnum):
    """Whose eyes an iteration looks with."""

    NONE = ""
    ARCHITECT = "architect"
    DEBUGGER = "debugger"
    TESTER = "tester"
    BUILD_ENGINEER = "build engineer"


PERSONAS: Mapping[Persona, str] = {
    Persona.NONE: "",
    Persona.ARCHITECT: "Work as an architect: settle the parts and what passes between them, then write code.",
    Persona.DEBUGGER: "Work as a debugger: reproduce the failure as small as you can and change code once its cause is shown.",
    Persona.TESTER: "Work as a tester: find the smallest case that fails and what it truly demands, then satisfy that.",
    Persona.BUILD_ENGINEER: "Work as a build engineer: make environment, dependencies, build and start work, in this order.",
}

SPECIALISTS: Mapping[FailureClass, Persona] = {
    FailureClass.TEST: Persona.TESTER,
    FailureClass.EXCEPTION: Persona.DEBUGGER,
    FailureClass.TIMEOUT: Persona.DEBUGGER,
    FailureClass.RESOURCES: Persona.DEBUGGER,
    FailureClass.BUILD: Persona.BUILD_ENGINEER,
    FailureClass.SYNTAX: Persona.BUILD_ENGINEER,
    FailureClass.LINT: Persona.BUILD_ENGINEER,
    FailureClass.MISSING_MODULE: Persona.BUILD_ENGINEER,
    FailureClass.MISSING_FILE: Persona.BUILD_ENGINEER,
    FailureClass.MISSING_COMMAND: Persona.BUILD_ENGINEER,
    FailureClass.USAGE: Persona.BUILD_ENGINEER,
    FailureClass.NETWORK: Persona.BUILD_ENGINEER,
    FailureClass.TYPES: Persona.ARCHITECT,
}
"""Who is asked about a class of failure that recurs; classes that are not here call for nobody in particular."""


class Approach(StrEnum):
    """How an iteration goes about it."""

    PATCH = "patch"
    REFACTOR = "refactor"
    REPLAN = "replan"
    """The plan has come apart from what is there."""
    REDESIGN = "redesign"
    REDESIGN_ON = "redesign_on"
    """The redesign is under way and has not got on yet."""
    CARRY_ON = "carry_on"
    """What was changed gets on."""


class Stage(StrEnum):
    """How long the loop has been on a rung."""

    BEGINS = "begins"
    GOES_ON = "goes_on"
    GETS_ON = "gets_on"
    """The last iteration was clean."""


APPROACHES: Mapping[tuple[Rung, Stage], Approach] = {
    (Rung.REFACTOR, Stage.BEGINS): Approach.REFACTOR,
    (Rung.REFACTOR, Stage.GOES_ON): Approach.REFACTOR,
    (Rung.REFACTOR, Stage.GETS_ON): Approach.CARRY_ON,
    (Rung.REDESIGN, Stage.BEGINS): Approach.REDESIGN,
    (Rung.REDESIGN, Stage.GOES_ON): Approach.REDESIGN_ON,
    (Rung.REDESIGN, Stage.GETS_ON): Approach.CARRY_ON,
}
"""What is not here is a patch: E-0, and rungs on which a person decides before there is a next iteration."""

BY_CAUSE: Mapping[tuple[str, Stage], Approach] = {
    ("plan.diverged", Stage.BEGINS): Approach.REPLAN,
    ("plan.diverged", Stage.GOES_ON): Approach.REPLAN,
    **{(rule, Stage.BEGINS): Approach.REDESIGN for rule in CYCLES},
    **{(rule, Stage.GOES_ON): Approach.REDESIGN_ON for rule in CYCLES},
}
"""What comes before that on E-I, by the rule that led there: a loop that goes round needs another structure, not another try."""

WITH_REASONS = frozenset({Approach.REFACTOR, Approach.REPLAN, Approach.REDESIGN, Approach.REDESIGN_ON})
"""Approaches that are told what was tried before them."""

NO_ORDERS = Template("")


@dataclass(frozen=True)
class Treatment:
    """What the next iteration does differently from the last."""

    fresh: bool = False
    """It begins with an empty context, whatever `claude.session` says."""
    model: str = ""
    """Model that it is made with. Empty: the loop's own."""
    persona: Persona = Persona.NONE
    plan: Literal["keep", "regenerate"] = "keep"
    """`regenerate`: the plan in progress.md is discarded before it begins."""
    strictness: int = 0
    """How closely its work is confined: 0 free, 1 to what fails, 2 to what keeps everything from running, 3 to one failure."""
    text: Template = NO_ORDERS
    """Heading and orders, with $rung, $numbers, $persona and $keep to be filled in. Empty: nothing is ordered."""


TREATMENTS: Mapping[Approach, Treatment] = {
    Approach.PATCH: Treatment(),
    Approach.REFACTOR: Treatment(
        fresh=True,
        text=Template("""\
# Another approach ($rung)
Working on as before did not help: $numbers. $keep, and change the way. Find the cause that the failures have in common,
restructure the code around it, and choose a way that neither the commits nor DECISIONS show yet. $persona"""),
    ),
    Approach.REPLAN: Treatment(
        fresh=True,
        plan="regenerate",
        text=Template("""\
# A new plan ($rung)
The plan in `.helmsman/progress.md` has come apart from what is there: $numbers. $persona
Before you change code, look at the files and write a new one under REMAINING_GAP: three to five steps, made from the goal and the
checks, each with the check that proves it. List under COMPLETED what a check or a commit proves. Then take the first step."""),
    ),
    Approach.REDESIGN: Treatment(
        fresh=True,
        persona=Persona.ARCHITECT,
        plan="regenerate",
        text=Template("""\
# A redesign ($rung)
The strategy so far does not carry: $numbers. You begin with an empty context and with the reasons below. $persona
Before you change code, write into `.helmsman/progress.md`:
1. under DECISIONS, the assumption that failed and what you build on instead (`- chose …; rejected …; reason …; revisit if …`);
2. under REMAINING_GAP, a new plan of three to five steps, made from the goal and the checks, each with the check that proves it.
   It takes the place of whatever plan stood there.
Then take its first step, and commit. Replacing earlier work is welcome where the new plan asks for it."""),
    ),
    Approach.REDESIGN_ON: Treatment(
        fresh=True,
        persona=Persona.ARCHITECT,
        text=Template("""\
# The redesign goes on ($rung)
Its last step has not got on yet: $numbers. $persona
Compare the new plan in `.helmsman/progress.md` (DECISIONS, REMAINING_GAP) with the reasons below. Where a step rests on something
that they refute, correct the plan first and say so under DECISIONS. Then take its smallest next step, with the check that proves
it."""),
    ),
    Approach.CARRY_ON: Treatment(
        text=Template("""\
# The new approach gets on ($rung)
Go on with the plan in `.helmsman/progress.md`, in small steps that the checks confirm: $numbers."""),
    ),
}

PLAN_ANEW = (
    "Throw away the plan in progress.md: write REMAINING_GAP anew from the goal, the checks and the files that are there now, "
    "and strike out under DECISIONS what names files that do not exist. Look at each file before you name it, list as COMPLETED "
    "only what a check or a commit proves, and begin with the first step of the new plan."
)
"""What the signal of a plan that has come apart from what is there orders; beside it nothing may say that the plan is kept."""


class Damping(NamedTuple):
    """How the quality of the feedback confines an iteration."""

    strictness: int = 0
    fresh: bool = False
    text: str = ""


DAMPING: Mapping[Feedback, Damping] = {
    Feedback.NONE: Damping(),
    Feedback.GREEN: Damping(),
    Feedback.FAILING: Damping(1, text="Checks fail: choose work that turns one of them green; new features come after that."),
    Feedback.BROKEN: Damping(
        2,
        text="Nothing can be run: this iteration's whole work is to make it build and start. New work waits until a test runs.",
    ),
    Feedback.GUTTER: Damping(
        3,
        fresh=True,
        text="The last session drowned in failures: take one of them, find its cause, mend it and commit; then the next.",
    ),
}


def treatment(oversight: Oversight, config: LoopConfig) -> Treatment:
    """What the next iteration does differently; nothing where the ladder is only watched."""
    if not config.ladder.act:
        return TREATMENTS[Approach.PATCH]
    approach, damping = approach_of(oversight.ladder), DAMPING[oversight.feedback]
    row = TREATMENTS[approach]
    redesigned = approach in (Approach.REDESIGN, Approach.REDESIGN_ON) or oversight.ladder.rung is Rung.REDESIGN
    return replace(
        row,
        fresh=row.fresh or damping.fresh,
        model=config.ladder.redesign_model if redesigned else "",
        persona=_persona(oversight, approach, row.persona),
        strictness=damping.strictness,
    )


def planned_anew(memory: WorkingMemory, given: Treatment) -> WorkingMemory:
    """The agent's working memory as the treatment leaves it: a plan that failed is discarded, what was decided and done stays."""
    return memory.model_copy(update={"remaining_gap": ""}) if given.plan == "regenerate" else memory


def approach_of(ladder: Ladder) -> Approach:
    """How the iteration that is due goes about it."""
    stage = _stage(ladder)
    usual = APPROACHES.get((ladder.rung, stage), Approach.PATCH)
    return BY_CAUSE.get((_cause(ladder), stage), usual) if ladder.rung is Rung.REFACTOR else usual


def _cause(ladder: Ladder) -> str:
    """The rule that led to the rung; the ladder puts it before its reason."""
    return ladder.reason.partition(":")[0]


def _stage(ladder: Ladder) -> Stage:
    """A clean iteration begins the count of the others anew. An easier rung that clean ones led to begins with what got on."""
    last = ladder.climbs[-1] if ladder.climbs else None
    eased = last is not None and last.after < last.before < Rung.HUMAN
    if ladder.spent:
        return Stage.GOES_ON
    return Stage.GETS_ON if ladder.clean or eased else Stage.BEGINS


def goes_round(ladder: Ladder) -> bool:
    """Whether a cycle led to the rung, and nothing has got on since."""
    climbed = ladder.rung in (Rung.REFACTOR, Rung.REDESIGN) and _stage(ladder) is not Stage.GETS_ON
    return climbed and _cause(ladder) in CYCLES


def _persona(oversight: Oversight, approach: Approach, default: Persona) -> Persona:
    """Who is asked about the class of failure that recurs most; a cycle is a matter of structure, whatever fails in it."""
    if approach not in WITH_REASONS or goes_round(oversight.ladder):
        return default
    recurring = recurring_classes(oversight.learning)
    return SPECIALISTS.get(recurring[0].kind, default) if recurring else default


def recurring_classes(learning: Sequence[Learnt]) -> list[Learnt]:
    """Classes of failure that are still there, the longest run first."""
    again = [learnt for learnt in learning if learnt.in_row >= RECURS]
    return sorted(again, key=lambda learnt: (learnt.in_row, learnt.recurred, learnt.seen), reverse=True)
