"""Handle an issue event: start, steer or end a loop whose result is a pull request."""

from datetime import UTC, datetime
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from flows.loop import loop
from helmsman.records.request import LoopRequest
from helmsman.records.triggers import IssueEvent
from tasks.engine.runs import driven_loop, ending_with_reason
from tasks.triggers.issues import handle_issue_event
from tasks.triggers.push_runs import completed_without_loop


@flow(name="on_issue", persist_result=False)
@ending_with_reason
def on_issue(event: IssueEvent) -> State[dict[str, Any]]:
    """Check the event again, and drive the loop that it starts or resumes in this run."""
    result = handle_issue_event(event, datetime.now(UTC), driven_loop())
    return loop.fn(result) if isinstance(result, LoopRequest) else completed_without_loop(result)
