"""What a push starts: the loop that the pushed commit itself configures, or nothing, with the reason in the run's state."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.loop import loop
from helmsman.records.push import Nothing, Push
from tasks.opening import now_utc
from tasks.push_runs import nothing_to_do
from tasks.pushes import begin


@flow(name="on_push", persist_result=False)
def on_push(push: Push) -> State[dict[str, Any]]:
    """Look at the push once more, and drive its loop in this very run: one timeline, cancelled and retried as every loop is."""
    found = begin(push, now_utc())
    return nothing_to_do(found) if isinstance(found, Nothing) else loop.fn(found)
