"""Asking people: a question is written down, then asked, and the loop goes on with the answer that counts.

A question is open in the loop's state before anybody is asked, so it survives every process. Answers come as files in the loop's
mailbox (command line, tracker, lapse of time) or as a form that was filled in for a paused run (Prefect UI, API).
"""

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.oversee.answers import answer_of, answered, lapsed, refusal
from helmsman.oversee.gates import gate_due
from helmsman.records.advance import end
from helmsman.records.decision import Decision, Outcome
from helmsman.records.events import GateAnswered, GateOpened
from helmsman.records.forms import form_for, read_form
from helmsman.records.gates import GATE, Answer, Choice, Gate, GateKind
from helmsman.records.state import LoopState
from helmsman.render.gate import evidence, form_text, in_short
from tasks.approvals import answers, pause
from tasks.approvals.answers import with_words
from tasks.engine.runs import is_under_a_worker
from tasks.observers.artifacts import publish_artifacts
from tasks.repository.git import read_ref
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import tick_by_word
from tasks.repository.state_ref import Fenced, replace_state
from tasks.repository.worktree import ensure_worktree
from tasks.system.clock import now_utc
from tasks.system.journal import publish
from tasks.trackers.thread import TrackerListener, answer_from_tracker, tell_news

ID_BYTES = 8
"""Of a question's key, so that nobody can answer it before it is asked."""


def passed(context: LoopContext, state: LoopState) -> LoopState:
    """Ask whatever has to be asked before the loop goes on. Returns the loop after the answers, or ended with a question open."""
    state = with_words(context, state)
    while (due := gate_due(state, now_utc())) is not None:
        state, gate = _written_down(context, state, due)
        state = _with_known_answer(context, state, gate)
        if state.gate is not None:
            after = _lapsed(context, state, gate) or _asked(context, state, gate)
            if after is None:
                return _left_open(context, state, gate)
            state = after
    tell_news(state, context)
    return state


def _written_down(context: LoopContext, state: LoopState, gate: Gate) -> tuple[LoopState, Gate]:
    if state.gate is not None:
        return state, state.gate
    key = f"{gate.key}-{secrets.token_hex(ID_BYTES)}"
    gate = gate.model_copy(update={"key": key, "evidence": evidence(state, str(context.worktree))})
    publish(GateOpened(loop=state.loop, gate=gate))
    opened = state.model_copy(update={"gate": gate, "gates_asked": state.gates_asked + 1, "updated_at": gate.asked_at})
    after = replace_state(context.repository, state, opened, f"ask: {gate.key}")
    publish_artifacts(after)
    tell_news(after, context)
    return after, gate


def _with_known_answer(context: LoopContext, state: LoopState, gate: Gate) -> LoopState:
    """After an answer that came while nobody drove the loop. The question stays open where none came, or none can be taken."""
    problem = ""
    _listen(context, state, answer_from_tracker(state, context))
    found = answers.find(context.folder.answers, state.uid, gate.key)
    if found is not None:
        try:
            return _closed(context, state, found)
        except Fenced:
            raise
        except OperatorError as error:
            problem = refusal(error)
            answers.put_aside(context.folder.answers, gate.key)
    for given in pause.earlier_inputs(state.uid, gate.key):
        after, why = _after_form(context, state, gate, given)
        if after is not None:
            return after
        problem = problem or why
    return _not_taken(context, state, problem) if problem else state


def _not_taken(context: LoopContext, state: LoopState, problem: str) -> LoopState:
    """Write down why an answer is not taken, so that whoever is asked again reads it, also where another process asks."""
    pause.warn_not_taken(problem)
    if state.gate is None or state.gate.refused == problem:
        return state
    asking = state.model_copy(update={"gate": state.gate.model_copy(update={"refused": problem}), "updated_at": now_utc()})
    after = replace_state(context.repository, state, asking, f"ask: {state.gate.key}: an answer was not taken")
    publish_artifacts(after)
    return after


def _lapsed(context: LoopContext, state: LoopState, gate: Gate) -> LoopState | None:
    lapse = lapsed(gate, now_utc())
    return _closed(context, state, lapse) if lapse else None


def _asked(context: LoopContext, state: LoopState, gate: Gate) -> LoopState | None:
    """Ask by a form until an answer can be followed; None where this loop does not ask while it runs."""
    if not state.config.gates.ask:
        return None
    form = form_for(gate)
    while state.gate is not None:
        description = form_text(state.gate, in_short(state))
        if is_under_a_worker():
            pause.suspend(gate, form, description)
        given = pause.pause(gate.key, form, description, _waker(context, state, gate))
        if given is None:
            state = _with_known_answer(context, state, gate)
            state = state if state.gate is None else _lapsed(context, state, gate) or state
        else:
            after, problem = _after_form(context, state, gate, given)
            state = after or _not_taken(context, state, problem)
    return state


def _after_form(context: LoopContext, state: LoopState, gate: Gate, given: Mapping[str, Any]) -> tuple[LoopState | None, str]:
    """The loop after a filled-in form, or what is wrong with it."""
    try:
        form = read_form(gate, given)
        return _closed(context, state, answer_of(state, gate, form, via="engine", now=now_utc())), ""
    except Fenced:
        raise
    except OperatorError as error:
        return None, refusal(error)


def _listen(context: LoopContext, state: LoopState, heard: Answer | None) -> None:
    """An answer from the tracker lies where all answers lie: the first one counts."""
    if heard is not None:
        answers.put(context.folder.answers, state.uid, heard)


def _waker(context: LoopContext, state: LoopState, gate: Gate) -> Callable[[], str]:
    """What else may end the wait for a form: a cancel, an answer by another way, the lapse of time."""
    ear = TrackerListener(state, context)

    def wake() -> str:
        if context.folder.cancel.exists():
            return pause.CANCELLED
        with suppress(HelmsmanError, OSError):  # it hears the same again, and a watch that has ended hears no cancel
            _listen(context, state, ear())
        found = answers.seen(context.folder.answers, state.uid, gate.key)
        lapse = None if found else lapsed(gate, now_utc())
        decided = found or lapse
        return decided.choice if decided else ""

    return wake


def _closed(context: LoopContext, state: LoopState, answer: Answer) -> LoopState:
    """Fold an answer; the loop goes on from what was committed meanwhile. Raises OperatorError for what cannot be followed."""
    after = answered(state, answer, now_utc())
    if (answer.kind, answer.choice) == (GateKind.ITEM, Choice.APPROVE):
        tick_by_word(context, state, answer.by or "a person")
    head = read_ref(context.repository.common, f"refs/heads/{state.branch}") or state.head
    if answer.kind is GateKind.MERGE and after.outcome is Outcome.COMPLETED and head != state.head:
        raise _moved(state, head)
    after = after.model_copy(update={"head": head})
    if after.ending is None:
        ensure_worktree(context.repository, context.worktree, after.branch, after.head, after.base_commit)
    publish(GateAnswered(answer=answer))
    after = replace_state(context.repository, state, after, f"answer: {answer.gate}: {answer.choice} ({answer.via})")
    tell_news(after, context)
    return after


def _moved(state: LoopState, head: str) -> OperatorError:
    return OperatorError(
        "the branch has moved on since the work was proven",
        expected=f"{state.branch} at {state.head[:12]}",
        found=head[:12],
        remedy="answer revise, so that what is there now is proven; or put the branch back",
    )


def _left_open(context: LoopContext, state: LoopState, gate: Gate) -> LoopState:
    """End as waiting, or stay unproven or blocked: nothing is spent, and an answer counts whenever the loop is driven again."""
    if state.outcome in {Outcome.WAITING, Outcome.UNPROVEN, Outcome.BLOCKED}:
        return state
    before = f"; before that: {state.ending.reason}" if state.ending else ""
    ways = f"helmsman approve {state.loop}, or reject, or answer; helmsman status {state.loop} shows the choices"
    decision = Decision(
        kind="stop",
        rule=f"{GATE}{gate.kind}",
        reason=f"{gate.question} Answer with: {ways}{before}",
        at=now_utc(),
        outcome=Outcome.WAITING,
    )
    return replace_state(context.repository, state, end(state, decision, now_utc()), f"ask: {gate.key} stays open")
