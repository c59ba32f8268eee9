"""Runs that a worker took up and died with before their process was there: nobody else takes up what is pending."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterState,
    FlowRunFilterStateName,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import ObjectNotFound
from prefect.states import Scheduled

from tasks.engine.runs import PAGE
from tasks.loops.reviving import is_driven

UNSTARTED_SECONDS = 600.0
"""A process needs seconds to begin. One that has not begun after this long is dead."""
MOST_TIMES = 3
"""Whatever is not there after that is no accident: its run stays pending for a person to look at."""
PENDING = "Pending"
"""A worker that waits for a container says so by another name (`InfrastructurePending`)."""
AGAIN = "Rescheduled"

_log = logging.getLogger(__name__)


def reschedule_unstarted(client: SyncPrefectClient, now: datetime, after_seconds: float = UNSTARTED_SECONDS) -> list[str]:
    """Have a worker take up anew what has been pending for so long. Returns the names of the runs."""
    late = now - timedelta(seconds=after_seconds)
    found = [run for run in list(_pending(client)) if run.state and run.state.timestamp <= late and not _may_begin(run)]
    return [run.name for run in found if _reschedule(client, run)]


def _pending(client: SyncPrefectClient) -> Iterator[FlowRun]:
    """Read to the end before any is rescheduled: pages would shift."""
    wanted = FlowRunFilter(
        tags=FlowRunFilterTags(all_=["helmsman"]),
        state=FlowRunFilterState(name=FlowRunFilterStateName(any_=[PENDING])),
        deployment_id=FlowRunFilterDeploymentId(is_null_=False),
    )
    offset = 0
    while page := client.read_flow_runs(flow_run_filter=wanted, limit=PAGE, offset=offset):
        yield from page
        offset += len(page)


def _may_begin(run: FlowRun) -> bool:
    """Whether it is under way after all. A container, which has no mere number, may wait for its image for long."""
    return bool(run.infrastructure_pid and not run.infrastructure_pid.isdecimal()) or is_driven(run)


def _reschedule(client: SyncPrefectClient, run: FlowRun) -> bool:
    """Whether it was. Its process may begin between our looking and our doing, so the look is a fresh one."""
    try:
        fresh, names = client.read_flow_run(run.id), [state.name for state in client.read_flow_run_states(run.id)]
        if fresh.state is None or run.state is None or fresh.state.id != run.state.id:
            return False
        if (times := names.count(AGAIN)) >= MOST_TIMES:
            _log.warning(
                "run %s stays pending: it was taken up %d times and had no process; see the worker's log, then cancel it",
                run.name,
                times + 1,
            )
            return False
        told = client.set_flow_run_state(run.id, Scheduled(name=AGAIN, message="A worker took it up, and no process of it came."))
    except ObjectNotFound:
        return False  # somebody has deleted it
    _log.info("run %s had no process and is taken up anew: %s", run.name, told.status)
    return told.status is SetStateStatus.ACCEPT
