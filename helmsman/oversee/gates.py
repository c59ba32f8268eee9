"""When a person is asked: one table, in order; the first row that has something to ask opens a gate."""

from collections.abc import Callable
from datetime import datetime, timedelta

from helmsman.oversee.merging import is_hindered
from helmsman.records.folds import without_test
from helmsman.records.gates import GATE, Choice, Gate, GateKind
from helmsman.records.proof import NEEDS_WORD
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from helmsman.texts import counted
from helmsman.verify.completion import UNPROVEN
from helmsman.verify.objections import no_test_ran_in

TRIES = "plan.tries"
ITEM = "plan.person"
BY_A_WORD = {
    f"{GATE}{GateKind.REJECTIONS}": "against the judge",
    f"{GATE}{GateKind.UNDECIDED}": "by a person's word",
    f"{GATE}{GateKind.UNPROVEN}": "by a person's word",
    f"{GATE}{GateKind.ITEM}": "by a person's word",
}
"""Rules of endings that a person's word brought about, where no proof did."""
SAFE_TO_ASSUME = frozenset({GateKind.PLAN, GateKind.MILESTONE, GateKind.HUMAN, GateKind.REJECTIONS, GateKind.UNMERGED})
"""Kinds that silence may approve where `gates.at_timeout` says so: none of them accepts work or spends more than was granted."""


def gate_due(state: LoopState, now: datetime) -> Gate | None:
    """The question that is open, or that has to be asked before anything else happens; None where there is none."""
    if state.gate is not None:
        return state.gate
    asked = ((kind, question(state)) for kind, question in QUESTIONS)
    return next((opened(state, kind, words, now) for kind, words in asked if words), None)


def opened(state: LoopState, kind: GateKind, question: str, now: datetime) -> Gate:
    """A gate with a key of its own."""
    config = state.config.gates
    approves = config.at_timeout == "approve" and kind in SAFE_TO_ASSUME
    return Gate(
        key=f"{kind}-{state.iteration}-{state.gates_asked + 1}",
        kind=kind,
        question=question,
        asked_at=now,
        deadline=now + timedelta(hours=config.timeout_hours),
        at_timeout=Choice.APPROVE if approves else Choice.STOP,
        asked_of=config.asked_of,
    )


def _handed_over(state: LoopState) -> str:
    taken = bool(state.answers) and state.answers[-1].choice is Choice.TAKE_OVER
    return f"You work on branch {state.branch} by hand. Hand it back when the loop shall go on." if taken else ""


def _plan(state: LoopState) -> str:
    begins = state.ending is None and state.iteration == 0
    wanted = begins and state.config.gates.plan and not _answered(state, GateKind.PLAN)
    return "Shall the loop begin with this goal, these checks and these limits?" if wanted else ""


def _rejections(state: LoopState) -> str:
    rejected = state.ending is not None and state.ending.rule == "judge.rejections"
    return "The judge keeps rejecting the work. Is it right?" if rejected else ""


def _undecided(state: LoopState) -> str:
    wanted = state.ending is not None and state.ending.rule == "judge.cannot_tell"
    return "The judge cannot tell from what it was shown. Is the work done?" if wanted else ""


def _unproven(state: LoopState) -> str:
    wanted = state.outcome is Outcome.UNPROVEN and not _answered(state, GateKind.UNPROVEN)
    empty = without_test(state.checks, state.most_tests, state.without_test_at_start)
    said = next((denial.why for denial in state.done.refused if denial.rule in NEEDS_WORD), UNPROVEN)
    why = no_test_ran_in(empty) if empty else said
    return f"{why[0].upper()}{why[1:]}. Is the work done?" if wanted else ""


def _item(state: LoopState) -> str:
    wanted = state.ending is not None and state.ending.rule == ITEM
    title = next((one.title for one in state.plan.sketch if one.id == state.plan.now), "")
    return (
        f"Nothing shows that {state.plan.now} of the plan ({title}) is done but the agent's word. Is it done?" if wanted else ""
    )


def _unmerged(state: LoopState) -> str:
    into = state.config.merge.into
    return f"The work is proven and could not be merged into {into}. What shall be done?" if is_hindered(state) else ""


def _human(state: LoopState) -> str:
    if state.outcome is Outcome.BLOCKED:
        return f"The agent says that it is blocked ({state.done.blocked_by}). How shall it go on?"
    stuck = state.ending is not None and state.ending.outcome is Outcome.WAITING and not state.ending.rule.startswith(GATE)
    if stuck and state.ending and state.ending.rule == TRIES:
        return f"{state.plan.now} of the plan was tried {counted(state.plan.tried, 'time')} without success. How shall it go on?"
    return "The loop does not get on by itself. How shall it go on?" if stuck else ""


def _budget(state: LoopState) -> str:
    ending = state.ending
    reached = ending is not None and ending.outcome is Outcome.STOPPED and ending.rule.startswith("limits.")
    wanted = reached and state.config.gates.budget
    return f"A limit is reached ({ending.rule}). How much more may be used?" if ending and wanted else ""


def _merge(state: LoopState) -> str:
    ending = state.ending
    done = ending is not None and ending.outcome is Outcome.COMPLETED and (not ending.rule.startswith(GATE) or _by_a_word(state))
    wanted = done and state.config.gates.merge and not _answered(state, GateKind.MERGE)
    done_by = f"counts as done {BY_A_WORD[ending.rule]}" if ending and _by_a_word(state) else "is proven to be done"
    return f"The work {done_by}. May it be merged?" if wanted else ""


def _by_a_word(state: LoopState) -> bool:
    """Whether the work counts as done by a person's word, who was not asked whether it is to be merged."""
    return state.ending is not None and state.ending.rule in BY_A_WORD and bool(state.config.merge.into)


def _learnings(state: LoopState) -> str:
    """Asked only where somebody may be there: a loop that is done does not wait for it."""
    wanted = state.outcome is Outcome.COMPLETED and state.config.gates.ask and not _answered(state, GateKind.LEARNINGS)
    if not state.proposed or not wanted or state.config.memory.agents_md != "commit":
        return ""
    return f"The loop learnt {counted(len(state.proposed), 'thing')} for AGENTS.md. May that be committed on its branch?"


def _milestone(state: LoopState) -> str:
    every = state.config.gates.milestone_every
    reached = every is not None and state.ending is None and state.iteration > 0 and state.iteration % every == 0
    wanted = reached and not _answered(state, GateKind.MILESTONE)
    return f"Shall the loop go on after {counted(state.iteration, 'iteration')}?" if wanted else ""


def _answered(state: LoopState, kind: GateKind) -> bool:
    """Whether this was asked and answered at the same iteration."""
    return any(answer.gate.startswith(f"{kind}-{state.iteration}-") for answer in state.answers)


QUESTIONS: tuple[tuple[GateKind, Callable[[LoopState], str]], ...] = (
    (GateKind.HANDED_OVER, _handed_over),
    (GateKind.PLAN, _plan),
    (GateKind.REJECTIONS, _rejections),
    (GateKind.UNDECIDED, _undecided),
    (GateKind.UNPROVEN, _unproven),
    (GateKind.ITEM, _item),
    (GateKind.UNMERGED, _unmerged),
    (GateKind.HUMAN, _human),
    (GateKind.BUDGET, _budget),
    (GateKind.MERGE, _merge),
    (GateKind.LEARNINGS, _learnings),
    (GateKind.MILESTONE, _milestone),
)
