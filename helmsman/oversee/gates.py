"""When a person is asked. The first due question opens a gate."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from helmsman.oversee.merging import is_merge_blocked
from helmsman.records.advance import untested_checks
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import GATE, Choice, Gate, GateKind
from helmsman.records.proof import WAIVABLE_RULES
from helmsman.records.state import LoopState
from helmsman.texts import git_changes_text, plural
from helmsman.verify.completion import UNPROVEN
from helmsman.verify.findings import describe_checks_without_tests

TRIES = "plan.tries"
ITEM = "plan.person"
ACCEPTED_BY_PERSON = {
    f"{GATE}{GateKind.REJECTIONS}": "against the judge",
    f"{GATE}{GateKind.UNDECIDED}": "accepted by a person",
    f"{GATE}{GateKind.UNPROVEN}": "accepted by a person",
    f"{GATE}{GateKind.ITEM}": "accepted by a person",
}
"""Rules of endings accepted by a person instead of a proof."""
SAFE_TO_ASSUME = frozenset({GateKind.PLAN, GateKind.MILESTONE, GateKind.HUMAN, GateKind.REJECTIONS, GateKind.UNMERGED})
"""Kinds that `gates.at_timeout` may approve without an answer: none accepts work or spends more than was granted."""


def due_gate(state: LoopState, now: datetime) -> Gate | None:
    """The open question, or the one to ask before anything else; None if there is none."""
    if state.gate is not None:
        return state.gate
    questions = _running_questions(state) if state.ending is None else _ending_questions(state, state.ending)
    return next((open_gate(state, kind, question, now) for kind, question in questions), None)


def open_gate(state: LoopState, kind: GateKind, question: str, now: datetime) -> Gate:
    """Create a gate with a unique key."""
    config = state.config.gates
    approves = config.at_timeout == "approve" and kind in SAFE_TO_ASSUME
    return Gate(
        key=f"{kind}-{state.iteration}-{state.gates_asked + 1}",
        kind=kind,
        question=question,
        asked_at=now,
        deadline=now + timedelta(hours=config.timeout_hours),
        at_timeout=Choice.APPROVE if approves else Choice.STOP,
    )


Questions = Iterator[tuple[GateKind, str]]


def _running_questions(state: LoopState) -> Questions:
    yield from _handover_question(state)
    config = state.config.gates
    if state.iteration == 0 and config.plan and not _was_answered(state, GateKind.PLAN):
        yield GateKind.PLAN, "Start the loop with this goal, these checks and these limits?"
    every = config.milestone_every
    if every is not None and state.iteration and state.iteration % every == 0 and not _was_answered(state, GateKind.MILESTONE):
        yield GateKind.MILESTONE, f"Continue the loop after {plural(state.iteration, 'iteration')}?"


def _ending_questions(state: LoopState, ending: Decision) -> Questions:
    yield from _handover_question(state)
    if ending.rule == "judge.rejections":
        yield GateKind.REJECTIONS, "The judge keeps rejecting the work. Is it right?"
    if ending.rule == "judge.cannot_tell":
        yield GateKind.UNDECIDED, "The judge cannot tell from the evidence. Is the work done?"
    if ending.outcome is Outcome.UNPROVEN and not _was_answered(state, GateKind.UNPROVEN):
        why = _why_unproven(state, ending)
        yield GateKind.UNPROVEN, f"{why[0].upper()}{why[1:]}. Is the work done?"
    if ending.rule == ITEM:
        title = next((item.title for item in state.plan.sketch if item.id == state.plan.now), "")
        item = f"item {state.plan.now} of the plan ({title})"
        yield GateKind.ITEM, f"Only the agent says that {item} is done. Is it?"
    if is_merge_blocked(state):
        into = state.config.merge.into
        yield GateKind.UNMERGED, f"The work is verified and could not be merged into {into}. What should happen?"
    if ending.outcome is Outcome.BLOCKED:
        yield GateKind.HUMAN, f"The agent is blocked ({state.done.blocked_by}). How should it continue?"
    if ending.outcome is Outcome.WAITING and not ending.rule.startswith(GATE):
        tried = f"Item {state.plan.now} of the plan was tried {plural(state.plan.tried, 'time')} without success"
        yield GateKind.HUMAN, f"{tried if ending.rule == TRIES else 'The loop makes no progress'}. How should it continue?"
    if ending.outcome is Outcome.STOPPED and ending.rule.startswith("limits.") and state.config.gates.budget:
        yield GateKind.BUDGET, f"A limit is reached ({ending.rule}). Raise it?"
    if ending.outcome is Outcome.COMPLETED:
        yield from _completion_questions(state, ending)


def _why_unproven(state: LoopState, ending: Decision) -> str:
    if ending.rule == "agent.blocked":
        return f"every check passes, but the agent says that it is blocked ({state.done.blocked_by})"
    empty = untested_checks(state.checks, state.most_tests, state.without_test_at_start)
    reason = next((denial.why for denial in state.done.refused if denial.rule in WAIVABLE_RULES), UNPROVEN)
    return describe_checks_without_tests(empty) if empty else reason


def _completion_questions(state: LoopState, ending: Decision) -> Questions:
    # whoever accepted the work was not asked about the merge
    is_accepted_by_person = ending.rule in ACCEPTED_BY_PERSON and bool(state.config.merge.into)
    is_unasked = is_accepted_by_person or not ending.rule.startswith(GATE)
    changes = state.oversight.git.followed if state.config.merge.into else ()
    if is_unasked and (state.config.gates.merge or changes) and not _was_answered(state, GateKind.MERGE):
        done_by = f"is accepted as done {ACCEPTED_BY_PERSON[ending.rule]}" if is_accepted_by_person else "is proven to be done"
        but = f" But {git_changes_text(changes)}." if changes else ""
        yield GateKind.MERGE, f"The work {done_by}.{but} May it be merged?"
    # asked only if somebody may answer: a completed loop does not wait for it
    proposes = state.proposed and state.config.memory.agents_md == "commit" and state.config.gates.ask
    if proposes and not _was_answered(state, GateKind.LEARNINGS):
        lessons = plural(len(state.proposed), "lesson")
        yield GateKind.LEARNINGS, f"The loop proposes {lessons} for AGENTS.md. Commit them on its branch?"


def _handover_question(state: LoopState) -> Questions:
    if state.answers and state.answers[-1].choice is Choice.TAKE_OVER:
        yield GateKind.HANDED_OVER, f"You have taken over branch {state.branch}. Hand it back when the loop should continue."


def _was_answered(state: LoopState, kind: GateKind) -> bool:
    """Whether this question was asked and answered in the same iteration."""
    return any(answer.gate.startswith(f"{kind}-{state.iteration}-") for answer in state.answers)
