"""What is done now and then, whether or not a loop runs."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from tasks.loops.reviving import SETTLED_SECONDS
from tasks.loops.sweeping import swept


@flow(name="sweep", persist_result=False)
def sweep(settled_seconds: float = SETTLED_SECONDS) -> State[dict[str, Any]]:
    """Start again what crashed for the first time, and what waits for a person who has answered or whose time has run out."""
    return swept(settled_seconds)
