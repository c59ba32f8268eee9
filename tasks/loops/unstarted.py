"""Runs that a worker took up and died with before their process was there: nobody else takes up what is pending."""

import logging
from datetime import datetime, timedelta

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.states import Scheduled

from tasks.engine.runs import PAGE

UNSTARTED_SECONDS = 600.0
"""A process starts in seconds, a container whose image has to be fetched in minutes. Should the first one come after all, the
lock of the loop lets one of the two drive."""
MOST_TIMES = 3
"""Whatever is not there after that is no accident: its run stays pending for a person to look at."""
AGAIN = "Rescheduled"

_log = logging.getLogger(__name__)


def reschedule_unstarted(client: SyncPrefectClient, now: datetime, after_seconds: float = UNSTARTED_SECONDS) -> list[str]:
    """Have a worker take up anew what has been pending for so long. Returns the names of the runs."""
    wanted = FlowRunFilter(
        tags=FlowRunFilterTags(all_=["helmsman"]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.PENDING])),
        deployment_id=FlowRunFilterDeploymentId(is_null_=False),
    )
    late = now - timedelta(seconds=after_seconds)
    pending = client.read_flow_runs(flow_run_filter=wanted, limit=PAGE)
    return [run.name for run in pending if run.state and run.state.timestamp <= late and _reschedule(client, run)]


def _reschedule(client: SyncPrefectClient, run: FlowRun) -> bool:
    times = sum(state.name == AGAIN for state in client.read_flow_run_states(run.id))
    if times >= MOST_TIMES:
        _log.warning("run %s stays pending: it was taken up %d times and never had a process", run.name, times + 1)
        return False
    told = client.set_flow_run_state(run.id, Scheduled(name=AGAIN, message="A worker took it up, and no process of it came."))
    _log.info("run %s had no process and is taken up anew: %s", run.name, told.status)
    return told.status is SetStateStatus.ACCEPT
