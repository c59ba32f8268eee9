"""What a push starts: the loop that the pushed commit itself configures, or nothing, with the reason."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.loop import loop
from helmsman.records.triggers import Ignored, Push
from tasks.engine.runs import ending_with_reason
from tasks.system.clock import now_utc
from tasks.triggers.push_runs import nothing_to_do
from tasks.triggers.pushes import begin


@flow(name="on_push", persist_result=False)
@ending_with_reason
def on_push(push: Push) -> State[dict[str, Any]]:
    """Look at the push once more, and drive what it starts in this very run: one timeline, cancelled and retried as ever."""
    found = begin(push, now_utc())
    return nothing_to_do(found) if isinstance(found, Ignored) else loop.fn(found)
