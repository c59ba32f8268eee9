"""The loop: iterations until a decision stops it. Start it with a LoopRequest; go on with it the same way."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.iteration import iteration
from helmsman.records.advance import advance
from helmsman.records.request import LoopRequest
from tasks.approvals.ask import passed
from tasks.engine.runs import ending_with_reason
from tasks.loop.finish import finish
from tasks.loop.recover import left_at_best
from tasks.loop.run import STOPPED_FROM_OUTSIDE, begun, driving, end_from_outside, engine_state, landed, tidy, wait_if_due
from tasks.observers.artifacts import log_iteration, publish_artifacts


@flow(name="loop", persist_result=False)
@ending_with_reason
def loop(request: LoopRequest) -> State[dict[str, Any]]:
    """Steer the coding agent toward a goal until its checks pass, a limit is reached, or somebody stops it."""
    with driving(request) as (place, opened):
        state = opened
        try:
            state = begun(place, state)
            while (state := landed(place, passed(place, state))).ending is None:
                wait_if_due(place, state)
                record = iteration(request.repository, state)
                state = advance(state, record)
                log_iteration(record)
                publish_artifacts(state, record)
        except STOPPED_FROM_OUTSIDE as why:
            state = end_from_outside(place, state, why)
        state = left_at_best(place, state)
        publish_artifacts(state)
        state = finish(place, state)
        tidy(place, state)
    return engine_state(state)
