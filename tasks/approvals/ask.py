"""Ask people: store a question in the state, ask it, and continue with the answer that counts.

A question is in the loop's state before anybody is asked, so it survives every process. Answers come as files in the loop's
mailbox (command line, tracker, timeout) or as the form of a paused run (Prefect UI, API).
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.oversee.answers import answer_from_form, apply_answer, rejection_reason, timeout_answer
from helmsman.oversee.gates import due_gate
from helmsman.records.advance import end
from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import GateAnswered, GateOpened
from helmsman.records.forms import form_for, read_form
from helmsman.records.gates import GATE, Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.render.gate import evidence, form_text, loop_summary
from tasks.approvals import answers, pause
from tasks.approvals.answers import with_messages
from tasks.observers.artifacts import publish_artifacts
from tasks.repository.git import read_ref
from tasks.repository.hidden import require_outside
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import tick_by_person
from tasks.repository.state_ref import Fenced, replace_state
from tasks.repository.worktree import ensure_worktree
from tasks.system.journal import publish
from tasks.trackers.thread import TrackerListener, answer_from_tracker, publish_changes

ID_BYTES = 8
"""Random bytes in a question's key, so that nobody can answer it in advance."""


def ask_due_questions(context: LoopContext, state: LoopState) -> LoopState:
    """Ask all questions due before the loop continues. Returns the state after the answers, or ended with an open question."""
    state = with_messages(context, state)
    while (due := due_gate(state, datetime.now(UTC))) is not None:
        if state.gate is None:
            state = _open_question(context, state, due)
        gate = state.gate or due
        state = _apply_known_answer(context, state, gate)
        if state.gate is None:
            continue
        if lapse := timeout_answer(gate, datetime.now(UTC)):
            state = _apply_answer(context, state, lapse)
        elif not state.config.gates.ask:
            return _leave_open(context, state, gate)
        else:
            wake = partial(_wake, context, state, gate, TrackerListener(state, context))
            submitted = pause.pause(gate, form_for(gate.kind), form_text(state.gate, loop_summary(state)), wake)
            if submitted is not None:  # it precedes answers that came later; if it is invalid, the next round stores why
                state = _apply_form(context, state, gate, submitted)[0] or state
    publish_changes(state, context)
    return state


def _open_question(context: LoopContext, state: LoopState, gate: Gate) -> LoopState:
    key = f"{gate.key}-{secrets.token_hex(ID_BYTES)}"
    gate = gate.model_copy(update={"key": key, "evidence": evidence(state, str(context.worktree))})
    publish(GateOpened(loop=state.loop, gate=gate))
    opened = state.model_copy(update={"gate": gate, "gates_asked": state.gates_asked + 1, "updated_at": gate.asked_at})
    after = replace_state(context.repository, state, opened, f"ask: {gate.key}")
    publish_artifacts(after)
    publish_changes(after, context)
    return after


def _leave_open(context: LoopContext, state: LoopState, gate: Gate) -> LoopState:
    """End as waiting, or stay unproven or blocked: this costs nothing, and the answer counts when the loop is resumed."""
    if state.outcome in {Outcome.WAITING, Outcome.UNPROVEN, Outcome.BLOCKED}:
        return state
    before = f"; before that: {state.ending.reason}" if state.ending else ""
    commands = f"helmsman approve {state.loop}, or reject, or answer; helmsman status {state.loop} shows the choices"
    reason, now = f"{gate.question} Answer with: {commands}{before}", datetime.now(UTC)
    decision = Decision(kind="stop", rule=f"{GATE}{gate.kind}", reason=reason, at=now, outcome=Outcome.WAITING)
    return replace_state(context.repository, state, end(state, decision, now), f"ask: {gate.key} stays open")


def _wake(context: LoopContext, state: LoopState, gate: Gate, from_tracker: TrackerListener) -> str:
    """Check what else ends the wait for a form: a cancel, an answer from elsewhere, a timeout."""
    if context.folder.cancel.exists():
        return pause.CANCELLED
    answered = None
    with suppress(HelmsmanError, OSError):  # the next call reads it again, and a crashed watch would miss a cancel
        if answer := from_tracker():
            answers.store_answer(context.folder.answers, state.uid, answer)
    with suppress(HelmsmanError):  # the next call tries again
        answered = answers.find_answer(context.folder.answers, state.uid, gate.key)
    decisive = answered or timeout_answer(gate, datetime.now(UTC))
    return decisive.choice if decisive else ""


def _apply_known_answer(context: LoopContext, state: LoopState, gate: Gate) -> LoopState:
    """Apply an answer that came while nobody drove the loop. The question stays open if there is none, or none is valid."""
    problem = ""
    if answer := answer_from_tracker(state, context):  # stored with all other answers: the first one counts
        answers.store_answer(context.folder.answers, state.uid, answer)
    stored = answers.find_answer(context.folder.answers, state.uid, gate.key)
    if stored is not None:
        try:
            return _apply_answer(context, state, stored)
        except Fenced:
            raise
        except OperatorError as error:
            problem = rejection_reason(error)
            answers.move_answer_aside(context.folder.answers, gate.key)
    for submitted in pause.earlier_inputs(state.uid, gate.key):
        after, form_problem = _apply_form(context, state, gate, submitted)
        if after is not None:
            return after
        problem = problem or form_problem
    return _store_rejection(context, state, problem) if problem else state


def _store_rejection(context: LoopContext, state: LoopState, problem: str) -> LoopState:
    """Store why an answer is rejected, so that the next prompt shows it, even if another process asks."""
    pause.warn_rejected(problem)
    if state.gate is None or state.gate.refused == problem:
        return state
    asking = state.model_copy(
        update={"gate": state.gate.model_copy(update={"refused": problem}), "updated_at": datetime.now(UTC)}
    )
    after = replace_state(context.repository, state, asking, f"ask: {state.gate.key}: an answer was rejected")
    publish_artifacts(after)
    return after


def _apply_form(context: LoopContext, state: LoopState, gate: Gate, submitted: Mapping[str, Any]) -> tuple[LoopState | None, str]:
    """State after a submitted form, or None and what is wrong with the form."""
    try:
        form = read_form(gate, submitted)
        return _apply_answer(context, state, answer_from_form(state, gate, form, via="engine", now=datetime.now(UTC))), ""
    except Fenced:
        raise
    except OperatorError as error:
        return None, rejection_reason(error)


def _apply_answer(context: LoopContext, state: LoopState, answer: Answer) -> LoopState:
    """Apply an answer, continuing from the current head of the branch. Raises OperatorError if it cannot be applied."""
    after = apply_answer(state, answer, datetime.now(UTC))
    if after.config != state.config:
        require_outside(context.repository, after.config)
    if (answer.kind, answer.choice) == (GateKind.ITEM, Choice.APPROVE):
        tick_by_person(context, state, answer.by or "a person")
    head = read_ref(context.repository.common, f"refs/heads/{state.branch}") or state.head
    is_accepted = answer.choice is Choice.ACCEPT or (answer.kind is GateKind.MERGE and after.outcome is Outcome.COMPLETED)
    if is_accepted and head != state.head:
        raise _moved_error(state, head)
    after = after.model_copy(update={"head": head})
    if after.ending is None:
        ensure_worktree(context.repository, context.worktree, after.branch, after.head, after.base_commit)
    publish(GateAnswered(answer=answer))
    return replace_state(context.repository, state, after, f"answer: {answer.gate}: {answer.choice} ({answer.via})")


def _moved_error(state: LoopState, head: str) -> OperatorError:
    """The answer would also accept commits that were made since the question was asked."""
    again = Choice.REVISE if state.gate and Choice.REVISE in state.gate.choices else Choice.APPROVE
    return OperatorError(
        "the branch has moved since the question was asked",
        expected=f"{state.branch} at {state.head[:12]}",
        found=head[:12],
        remedy=f"answer {again} to verify what is there now, or reset the branch",
    )
