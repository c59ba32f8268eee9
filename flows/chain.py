"""A chain: sequential loops, each based on the work of the previous one. Start it with a ChainRequest."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.parallel import parallel
from helmsman.records.request import ChainRequest


@flow(name="chain", persist_result=False)
def chain(request: ChainRequest) -> State[dict[str, Any]]:
    """Run a sequential group. Kept for deployments that were created before sequential groups."""
    return parallel.fn(request.as_group)
