"""Parallel loops. Start it with a ParallelRequest; the same request resumes it."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from helmsman.records.request import ParallelRequest
from tasks.engine.runs import ending_with_reason
from tasks.groups.members import choose_best, final_state, run_due_loops, running_group
from tasks.groups.parallel import group_result
from tasks.observers.artifacts import publish_group


@flow(name="parallel", persist_result=False)
@ending_with_reason
def parallel(request: ParallelRequest) -> State[dict[str, Any]]:
    """Drive loops in parallel, each in its own process and worktree; a failed one does not stop the others."""
    with running_group(request) as group:
        while run_due_loops(group) or choose_best(group):
            publish_group(group_result(group))
        return final_state(group)
