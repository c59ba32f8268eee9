"""A chain: loops one after the other, each on the work of the one before it. Start it with a ChainRequest."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.parallel import parallel
from helmsman.records.request import ChainRequest


@flow(name="chain", persist_result=False)
def chain(request: ChainRequest) -> State[dict[str, Any]]:
    """A group in a row, for whoever has started such runs before there were groups in a row."""
    return parallel.fn(request.as_group)
