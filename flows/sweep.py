"""Periodic maintenance, whether or not a loop runs."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from tasks.engine.runs import ending_with_reason
from tasks.loop.sweep import SETTLED_SECONDS, UNSTARTED_SECONDS, forget_idle, sweep_runs


@flow(name="sweep", persist_result=False, on_completion=[forget_idle])
@ending_with_reason
def sweep(settled_seconds: float = SETTLED_SECONDS, unstarted_seconds: float = UNSTARTED_SECONDS) -> State[dict[str, Any]]:
    """Restart runs that crashed once, never began, or wait for an answer that has arrived or timed out."""
    return sweep_runs(settled_seconds, unstarted_seconds)
