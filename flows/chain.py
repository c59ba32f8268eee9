"""A chain: loops one after the other, each on the work of the one before it. Start it with a ChainRequest."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.loop import loop
from helmsman.records.request import ChainRequest
from tasks.engine.end_states import ending_with_reason
from tasks.groups.chaining import chained, next_loop


@flow(name="chain", persist_result=False)
@ending_with_reason
def chain(request: ChainRequest) -> State[dict[str, Any]]:
    """Drive each loop in this very run; the first one that does not complete ends it, and a new run goes on with that one."""
    driven = ""
    while (due := next_loop(request, driven)) is not None:
        ended = loop.fn(due)
        if not ended.is_completed():
            return chained(request, ended)
        driven = due.loop
    return chained(request)
