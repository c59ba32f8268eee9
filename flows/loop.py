"""The loop: iterations until a decision stops it. Start or resume it with a LoopRequest."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.iteration import iteration
from helmsman.records.advance import advance
from helmsman.records.request import LoopRequest
from tasks.approvals.ask import ask_due_questions
from tasks.engine.runs import ending_with_reason
from tasks.loop.finish import finish
from tasks.loop.recover import leave_at_best
from tasks.loop.run import (
    STOPPED_FROM_OUTSIDE,
    begin_loop,
    drive_loop,
    end_from_outside,
    engine_state,
    merge_when_due,
    tidy,
    unless_moved,
    wait_if_due,
    with_current_checks,
)
from tasks.observers.artifacts import log_iteration, publish_artifacts


@flow(name="loop", persist_result=False)
@ending_with_reason
def loop(request: LoopRequest) -> State[dict[str, Any]]:
    """Steer the coding agent toward a goal until its checks pass, a limit is reached, or somebody stops it."""
    with drive_loop(request) as (context, initial):
        state = initial
        try:
            state = begin_loop(context, state)
            while (state := merge_when_due(context, ask_due_questions(context, state))).ending is None:
                wait_if_due(context, state)
                state = with_current_checks(context, state)
                record = iteration(request.repository, state)
                state = unless_moved(context, advance(state, record))
                log_iteration(record)
                publish_artifacts(state, record)
        except STOPPED_FROM_OUTSIDE as reason:
            state = end_from_outside(context, state, reason)
        state = leave_at_best(context, state)
        publish_artifacts(state)
        state = finish(context, state)
        tidy(context, state)
    return engine_state(state, initial)
