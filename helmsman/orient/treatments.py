"""What the next iteration does differently: by rung of the ladder, by quality of the feedback, by diagnosis. Literal tables."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from string import Template
from typing import Literal, NamedTuple

from helmsman.config import LoopConfig
from helmsman.orient.budget import Foreign, Piece
from helmsman.orient.validation import Failure, failures_of, remaining
from helmsman.oversee.ladder import CYCLES
from helmsman.records.checks import CheckReport
from helmsman.records.memory import WorkingMemory
from helmsman.records.modes import Feedback, Ladder, Rung
from helmsman.records.moments import Moment
from helmsman.records.oversight import Diagnosis, Learnt, Oversight
from helmsman.records.session import ErrorVector, FailureClass
from helmsman.texts import clean, counted

CLIMBS_SHOWN = 3
FAILURES_SHOWN = 3
CLASSES_SHOWN = 4
LONGEST_LINE = 200
LONGEST_INSTRUCTION = 500
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

KEEP_ALL = "Keep the goal and the plan"
KEEP_GOAL = "Keep the goal"

PLAN_ANEW = (
    "Throw away the plan in progress.md: write REMAINING_GAP anew from the goal, the checks and the files that are there now, "
    "and strike out under DECISIONS what names files that do not exist. Look at each file before you name it, list as COMPLETED "
    "only what a check or a commit proves, and begin with the first step of the new plan."
)
"""What the signal of a plan that has come apart from what is there orders; beside it nothing may say that the plan is kept."""

CYCLE = """\
The same states came back: what changes now is the structure. Choose other boundaries in the code, another order of work, and a
step that leads to a state that has not been there yet."""


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

HEADING = "# How to go about it now"
REASONS = "Why, and what was tried (iteration, rung, reason):"
RECURRING = "What keeps failing:"
FORGOTTEN = """\
# What earlier sessions learnt and later ones forgot
Read this and `.helmsman/progress.md` before anything else. Write what you learn beyond it under DECISIONS, so that it lasts."""
INSTRUCTED = "What the last iterations call for:"
INSTRUCTIONS_SHOWN: Mapping[Approach, int] = {
    Approach.PATCH: 5,
    Approach.REFACTOR: 3,
    Approach.REPLAN: 3,
    Approach.REDESIGN: 1,
    Approach.REDESIGN_ON: 2,
    Approach.CARRY_ON: 3,
}
"""A redesign is to think afresh: corrections of the old way would lead it back."""


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


def treatment_section(
    oversight: Oversight,
    config: LoopConfig,
    history: Sequence[Moment] = (),
    checks: CheckReport | None = None,
    *,
    hatted: bool = False,
) -> Sequence[Piece]:
    """The section of the prompt that says so; empty where there is nothing to say. Reasons, never a transcript.

    `checks`: the report on the tree that the iteration begins with. `hatted`: a hat says whose eyes it looks with.
    """
    if not config.ladder.act:
        return ()
    given, approach = treatment(oversight, config), approach_of(oversight.ladder)
    return (
        *(_forgotten(oversight, history) if oversight.diagnosis is Diagnosis.AMNESIAC else ()),
        *_orders(replace(given, persona=Persona.NONE) if hatted else given, oversight),
        *((DAMPING[oversight.feedback].text,) if given.strictness else ()),
        *((CYCLE,) if _goes_round(oversight.ladder) else ()),
        *(_why(oversight, history, checks) if approach in WITH_REASONS else ()),
        *_instructions(oversight.instructions[: INSTRUCTIONS_SHOWN[approach]]),
    )


WITH_REASONS = frozenset({Approach.REFACTOR, Approach.REPLAN, Approach.REDESIGN, Approach.REDESIGN_ON})


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


def _goes_round(ladder: Ladder) -> bool:
    climbed = ladder.rung in (Rung.REFACTOR, Rung.REDESIGN) and _stage(ladder) is not Stage.GETS_ON
    return climbed and _cause(ladder) in CYCLES


def _persona(oversight: Oversight, approach: Approach, default: Persona) -> Persona:
    """Who is asked about the class of failure that recurs most; a cycle is a matter of structure, whatever fails in it."""
    if approach not in WITH_REASONS or _goes_round(oversight.ladder):
        return default
    recurring = _recurring(oversight.learning)
    return SPECIALISTS.get(recurring[0].kind, default) if recurring else default


def _recurring(learning: Sequence[Learnt]) -> list[Learnt]:
    """Classes of failure that are still there, the longest run first."""
    again = [learnt for learnt in learning if learnt.in_row >= RECURS]
    return sorted(again, key=lambda learnt: (learnt.in_row, learnt.recurred, learnt.seen), reverse=True)


def _orders(given: Treatment, oversight: Oversight) -> Sequence[Piece]:
    if not given.text.template:
        return (HEADING,) if given.strictness or any(map(str.strip, oversight.instructions)) else ()
    filled = given.text.substitute(
        rung=oversight.ladder.rung.title,
        numbers=_numbers(oversight),
        persona=PERSONAS[given.persona],
        keep=KEEP_GOAL if PLAN_ANEW in oversight.instructions else KEEP_ALL,
    )
    return ("\n".join(line.rstrip() for line in filled.split("\n")),)


def _numbers(oversight: Oversight) -> str:
    best, idle, completion = oversight.best, oversight.breaker.idle, oversight.progress.completion
    fell = best is not None and round(best.completion, 2) > round(completion, 2)
    parts = (
        f"completion is {completion:.0%}",
        f"the best was {best.completion:.0%} in iteration {best.iteration}" if best and fell else "",
        f"{counted(idle, 'iteration')} in a row without progress" if idle else "",
    )
    return ", ".join(part for part in parts if part)


def _why(oversight: Oversight, history: Sequence[Moment], checks: CheckReport | None) -> Sequence[Piece]:
    climbs = [climb for climb in oversight.ladder.climbs if climb.after > climb.before or climb.before >= Rung.HUMAN]
    tried = [f"{climb.iteration}, {climb.before.title}: {climb.reason}" for climb in climbs[-CLIMBS_SHOWN:]]
    there = remaining(history, checks)
    kinds = {kind for kind, _ in there} if checks else set(FailureClass)
    classes = [_class(learnt) for learnt in _recurring(oversight.learning) if learnt.kind in kinds][:CLASSES_SHOWN]
    told = oversight.diagnosis is Diagnosis.AMNESIAC  # it was named above
    recurring = [] if told else [*classes, *_failures(history, there)]
    return (*_quoted(REASONS, tried), *_quoted(RECURRING, recurring))


def _forgotten(oversight: Oversight, history: Sequence[Moment]) -> Sequence[Piece]:
    known = [_class(learnt) for learnt in oversight.learning if learnt.recurred or learnt.seen >= RECURS][:CLASSES_SHOWN]
    return _quoted(FORGOTTEN, [*known, *_failures(history)]) or (FORGOTTEN,)


def _class(learnt: Learnt) -> str:
    again = f", {counted(learnt.recurred, 'time')} again after it was dealt with" if learnt.recurred else ""
    return f"{learnt.kind} failures in {counted(learnt.seen, 'iteration')}{again}"


def _failures(history: Sequence[Moment], among: Collection[Failure] | None = None) -> list[str]:
    """Failures that several iterations ended with, the most frequent first, in the words of the last of them."""
    ended: Counter[Failure] = Counter()
    words: dict[Failure, ErrorVector] = {}
    for moment in history:
        last = {failure: error for failure, error in failures_of(moment).items() if among is None or failure in among}
        ended.update(last.keys())
        words.update(last)
    again = [(words[failure], times) for failure, times in ended.most_common(FAILURES_SHOWN) if times >= RECURS]
    return [f"{times} times {error.kind} at {error.where or '?'}: {error.message}" for error, times in again]


def _quoted(heading: str, lines: Sequence[str]) -> Sequence[Piece]:
    return (heading, Foreign("\n".join(_line(line, LONGEST_LINE) for line in lines))) if lines else ()


def _instructions(instructions: Sequence[str]) -> Sequence[Piece]:
    """They are the overseer's own words; a name of the repository in them stays on its line."""
    lines = [f"- {_line(instruction, LONGEST_INSTRUCTION)}" for instruction in instructions if instruction.strip()]
    return (f"{INSTRUCTED}\n{lines[0]}", *lines[1:]) if lines else ()


def _line(text: str, longest: int) -> str:
    short = clean(text[: longest + 1])
    return short if len(short) <= longest else f"{short[: longest - 1].rstrip()}…"
