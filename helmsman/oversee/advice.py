"""What the next iteration is told to do differently: one table from situation to stance, orders and session.

The first row that holds decides, and the last one always does. Its orders are the one paragraph of advice in the prompt; numbers,
rungs and names of rules are for people and stand in none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from helmsman.orient.progress import without_plan
from helmsman.oversee.drift import flagged
from helmsman.oversee.ladder import CYCLES
from helmsman.records.control import Band
from helmsman.records.findings import Weight
from helmsman.records.memory import WorkingMemory
from helmsman.records.modes import Feedback, Ladder, Rung
from helmsman.records.oversight import Diagnosis, Learnt, Oversight, Stance, Strategy
from helmsman.records.session import FailureClass
from helmsman.records.state import LoopState
from helmsman.texts import counted

MOST = 5
"""Orders of one row."""
NEAR = 0.8
"""Completion above which an approach is finished rather than changed."""
DONE = 0.95
"""Completion from which, under green checks, an agent is expected to ask to be done."""
IDLE = 2
"""Iterations in a row without progress from which something else is tried; one may be research."""
RECURS = 2
"""Iterations in which the same class of failure was seen."""


class Persona(StrEnum):
    """Whose eyes an iteration looks with."""

    NONE = ""
    ARCHITECT = "architect"
    DEBUGGER = "debugger"
    TESTER = "tester"
    BUILD_ENGINEER = "build engineer"


PERSONAS: Mapping[Persona, str] = {
    Persona.NONE: "",
    Persona.ARCHITECT: "Design the interfaces first.",
    Persona.DEBUGGER: "Reproduce the failure and show its cause before you change code.",
    Persona.TESTER: "Start from the smallest failing case.",
    Persona.BUILD_ENGINEER: "Fix the environment first, then dependencies, then the build.",
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


@dataclass(frozen=True)
class Advice:
    """One row of the table: what is the case, and what follows from it."""

    situation: str
    holds: Callable[[LoopState], bool]
    stance: Stance = Stance.PERSIST
    because: str = ""
    """What is the case, in a sentence for the agent."""
    orders: tuple[str, ...] = ()
    """Five at most."""
    fresh: bool = False
    """It begins with an empty context, whatever `claude.session` says."""
    anew: bool = False
    """The plan is discarded before it begins."""
    specialist: bool = False
    """Whoever knows the class of failure that recurs is asked."""
    persona: Persona = Persona.NONE
    model: str = ""
    """Model that it is made with. Empty: the loop's own."""


def advise(state: LoopState) -> Advice:
    """What the iteration that is due is told; nothing where the ladder is only watched."""
    if not state.config.ladder.act:
        return ORDINARY
    row, oversight = next(row for row in ADVICE if row.holds(state)), state.oversight
    orders = (*((oversight.instructions[0],) if row.situation in INSTRUCTED and oversight.instructions else ()), *row.orders)
    recurring = recurring_classes(oversight.learning)
    asked = SPECIALISTS.get(recurring[0].kind, row.persona) if row.specialist and recurring else row.persona
    redesigns = oversight.ladder.rung is Rung.REDESIGN or row.anew
    model = state.config.ladder.redesign_model if redesigns else ""
    return replace(row, orders=orders[:MOST], persona=asked, model=model)


def strategy_of(state: LoopState) -> Strategy:
    """The same for people, with the numbers."""
    advice, oversight = advise(state), state.oversight
    idle = f", {counted(oversight.idle, 'iteration')} without progress" if oversight.idle else ""
    because = f"{advice.situation}: {oversight.progress.completion:.0%} done{idle}, {oversight.ladder.rung.title}"
    return Strategy(stance=advice.stance, reasoning=because, priorities=advice.orders)


def planned_anew(memory: WorkingMemory, state: LoopState) -> WorkingMemory:
    """The agent's notes as the advice leaves them: a plan that failed is discarded, what was decided and done stays."""
    return without_plan(memory) if advise(state).anew else memory


def recurring_classes(learning: Sequence[Learnt]) -> list[Learnt]:
    """Classes of failure that are still there, the longest run first."""
    again = [learnt for learnt in learning if learnt.in_row >= RECURS]
    return sorted(again, key=lambda learnt: (learnt.in_row, learnt.recurred, learnt.seen), reverse=True)


# --- situations -----------------------------------------------------------------------------------------------------


def _rung(rung: Rung, *, begins: bool | None = None) -> Callable[[LoopState], bool]:
    """On a rung that has brought nothing yet. `begins`: whether this is its first iteration."""

    def holds(state: LoopState) -> bool:
        ladder = state.oversight.ladder
        return ladder.rung is rung and not _gets_on(ladder) and begins in (None, not ladder.spent)

    return holds


def _gets_on(ladder: Ladder) -> bool:
    """An easier rung that clean iterations led to begins with what got on."""
    last = ladder.climbs[-1] if ladder.climbs else None
    eased = last is not None and last.after < last.before < Rung.HUMAN
    return not ladder.spent and bool(ladder.clean or eased)


def _goes_round(*, begins: bool) -> Callable[[LoopState], bool]:
    return lambda state: (
        _cause(state.oversight) in CYCLES and any(_rung(rung, begins=begins)(state) for rung in (Rung.REFACTOR, Rung.REDESIGN))
    )


def _cause(oversight: Oversight) -> str:
    """The rule that led to the rung; the ladder puts it before its reason."""
    return oversight.ladder.reason.partition(":")[0]


def _nothing_done(state: LoopState) -> bool:
    """Whether the loop has done nothing at all, as far as its program tells."""
    worked = state.worked
    return len(worked) >= IDLE and not any(one.tool_calls or one.files_changed or "tools" in one.untold for one in worked)


def _diagnosed(diagnosis: Diagnosis) -> Callable[[LoopState], bool]:
    return lambda state: state.oversight.diagnosis is diagnosis


def _left(feedback: Feedback) -> Callable[[LoopState], bool]:
    return lambda state: state.oversight.feedback is feedback


def _slow(state: LoopState) -> bool:
    oversight = state.oversight
    return oversight.control.band is Band.PIVOT and oversight.idle >= IDLE and oversight.diagnosis is not Diagnosis.PRODUCTIVE


def _another_demanded(state: LoopState) -> bool:
    judge = state.judge
    return bool(judge.feedback) and judge.reset_at == judge.feedback[-1].iteration


def _refused(state: LoopState) -> bool:
    return bool(state.done.refused) or any(finding.weight is Weight.BLOCK for finding in state.findings)


def _not_asked(state: LoopState) -> bool:
    green = state.checks is not None and state.checks.passed
    return green and bool(state.worked) and state.oversight.progress.completion >= DONE


NEW_PLAN = "Before you change code, note which assumption failed and a plan of three to five steps, each with a proving command."

ADVICE: tuple[Advice, ...] = (
    Advice(
        "double bind",
        _diagnosed(Diagnosis.DOUBLE_BIND),
        Stance.ESCALATE,
        "Two of your instructions contradict each other, and a person has to choose.",
        (
            "Do only what both of them allow.",
            "Then end with BLOCKED: name both, and the question that decides between them.",
        ),
    ),
    Advice(
        "denied",
        lambda state: "denied" in state.oversight.redirected,
        Stance.PIVOT,
        "Permissions were denied, and nobody can grant them.",
        (
            "Reach the goal with the tools and paths that are allowed.",
            "If you cannot, end with BLOCKED: what was denied, and why it is needed.",
        ),
    ),
    Advice(
        "nothing done",
        _nothing_done,
        Stance.PIVOT,
        "So far no file was changed and no tool was called.",
        (
            "Start with one failing test: run it alone, read the code that it calls, and change that code.",
            "Commit as soon as one more test passes.",
        ),
        fresh=True,
    ),
    Advice(
        "broken",
        _left(Feedback.BROKEN),
        Stance.PIVOT,
        "Nothing can be built or run at the moment.",
        (
            "Make it build and start before anything else.",
            "Read the first error of the output; the others often follow from it.",
        ),
    ),
    Advice(
        "plan diverged",
        lambda state: _cause(state.oversight) == "plan.diverged" and _rung(Rung.REFACTOR)(state),
        Stance.PIVOT,
        "The plan in your notes no longer matches the repository.",
        (NEW_PLAN, "Look at each file before you name it."),
        fresh=True,
        anew=True,
        specialist=True,
    ),
    Advice(
        "goes round",
        _goes_round(begins=True),
        Stance.ESCALATE,
        "The last changes undo each other: fixing one failure brings back another.",
        (
            "Compare the commits that undo each other with `git diff`.",
            "Then make one change that satisfies both and keeps every passing test.",
        ),
        fresh=True,
        anew=True,
        persona=Persona.ARCHITECT,
    ),
    Advice(
        "goes round still",
        _goes_round(begins=False),
        Stance.ESCALATE,
        "The last changes still undo each other.",
        ("Write code that was not there before, and keep every passing test.",),
        fresh=True,
        persona=Persona.ARCHITECT,
    ),
    Advice(
        "redesign",
        _rung(Rung.REDESIGN, begins=True),
        Stance.ESCALATE,
        "The approach so far has failed.",
        (NEW_PLAN, "Replace earlier work where the plan needs it."),
        fresh=True,
        anew=True,
        specialist=True,
        persona=Persona.ARCHITECT,
    ),
    Advice(
        "redesign goes on",
        _rung(Rung.REDESIGN, begins=False),
        Stance.ESCALATE,
        "The new plan has brought no progress yet.",
        ("Correct it where the failures refute it, then prove its smallest next step with a command.",),
        fresh=True,
        specialist=True,
        persona=Persona.ARCHITECT,
    ),
    Advice(
        "refactor",
        _rung(Rung.REFACTOR),
        Stance.PIVOT,
        "Working on as before did not help.",
        (
            "Find the cause that the failures share, and restructure the code around it.",
            "Choose an approach that is neither in the commits nor in your notes.",
        ),
        fresh=True,
        specialist=True,
    ),
    Advice(
        "amnesiac",
        _diagnosed(Diagnosis.AMNESIAC),
        Stance.PERSIST,
        "Sessions undo what earlier ones found out.",
        (
            "Read your notes first and keep to their decisions.",
            "Note each finding at once, with its reason.",
        ),
    ),
    Advice("redirected", lambda state: bool(state.oversight.redirected and state.oversight.instructions), Stance.PIVOT),
    Advice(
        "stuck",
        lambda state: _diagnosed(Diagnosis.STUCK)(state) or _slow(state),
        Stance.PIVOT,
        "The last iterations made no progress.",
        (
            "Look for the cause that the failures share.",
            "Choose another kind of approach, and test its central assumption first.",
        ),
    ),
    Advice(
        "gutter",
        _left(Feedback.GUTTER),
        Stance.PERSIST,
        "Most tool calls of the last session failed.",
        ("Take one failure, find its cause, fix it and commit; then take the next.",),
        fresh=True,
    ),
    Advice(
        "judge",
        _another_demanded,
        Stance.PIVOT,
        "The reviewer rejected this approach several times in a row.",
        ("Name the assumption that the rejections share, and take an approach without it, even if that undoes work.",),
    ),
    Advice("refused", _refused),
    Advice(
        "only documents",
        lambda state: bool(state.last_call.drift.documents),
        orders=("Change the code now; documents come last.",),
    ),
    Advice(
        "off the task",
        lambda state: flagged(state.last_call.drift),
        orders=("Continue with the task itself. If the files that are listed below belong to it, say why in your notes.",),
    ),
    Advice("warned", lambda state: bool(state.oversight.instructions)),
    Advice(
        "gets on",
        lambda state: state.oversight.ladder.rung in (Rung.REFACTOR, Rung.REDESIGN),
        because="The new approach makes progress.",
        orders=("Continue with it in small steps, each proven by a check.",),
    ),
    Advice(
        "not asked",
        _not_asked,
        because="Every check passes, and completion was not asked for.",
        orders=("Go through the goal point by point; where all of it is true, ask for completion.",),
    ),
    Advice(
        "near",
        lambda state: state.oversight.progress.completion > NEAR,
        orders=("Finish what is open, the smallest piece first.",),
    ),
    Advice("ordinary", lambda _: True),
)
"""Orders that cannot be followed come first, then what keeps any work from starting, failed levels, standstill, and the end."""

ORDINARY = ADVICE[-1]
INSTRUCTED = frozenset({"refactor", "redirected", "warned"})
"""Rows whose first order is what the gravest signal calls for."""
