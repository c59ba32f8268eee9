"""Handle a push: start the loop that the pushed commit configures, or report why not."""

from datetime import UTC, datetime
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.loop import loop
from helmsman.records.triggers import Ignored, Push
from tasks.engine.runs import ending_with_reason
from tasks.triggers.push_runs import completed_without_loop
from tasks.triggers.pushes import handle_push


@flow(name="on_push", persist_result=False)
@ending_with_reason
def on_push(push: Push) -> State[dict[str, Any]]:
    """Check the push again, and drive its loop in this run, so that cancel and retry apply to it."""
    result = handle_push(push, datetime.now(UTC))
    return completed_without_loop(result) if isinstance(result, Ignored) else loop.fn(result)
