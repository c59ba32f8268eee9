"""Runs under a worker that crashed: each goes on by itself, as long as it gets on.

One that crashes again without a finished iteration in between stays crashed until a person has looked.
"""

import logging
import time
from datetime import datetime, timedelta
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterEndTime,
    FlowRunFilterParentTaskRunId,
    FlowRunFilterState,
    FlowRunFilterStateName,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.states import AwaitingRetry

from helmsman.errors import HelmsmanError
from tasks.engine.runs import PAGE, REPOSITORY, tagged
from tasks.lock import holder
from tasks.loops.opening import now_utc
from tasks.places import loop_folder
from tasks.repository.git import open_repository

CRASHED = "Crashed"
RETRIED = "AwaitingRetry"
SETTLED_SECONDS = 30.0
"""A worker may tell of one crash twice, seconds apart (8 were seen); the second time must not strike the run that goes on."""
FORGOTTEN = timedelta(days=1)
"""What crashed before that was seen by somebody, or nobody minds."""

_log = logging.getLogger(__name__)


def revive_crashed(client: SyncPrefectClient, settled_seconds: float = SETTLED_SECONDS) -> list[str]:
    """Have runs that may go on after a crash started again, the newest too once it is settled. Returns their names."""
    if not (found := _may_be_revived(client)):
        return []
    time.sleep(max(max(map(_crashed_at, found)) + settled_seconds - now_utc().timestamp(), 0))
    settled = {run.id for run in found}
    return [run.name for run in _may_be_revived(client) if run.id in settled and _start_again(client, run)]


def _may_be_revived(client: SyncPrefectClient) -> list[FlowRun]:
    wanted = FlowRunFilter(
        tags=FlowRunFilterTags(all_=["helmsman"]),
        state=FlowRunFilterState(name=FlowRunFilterStateName(any_=[CRASHED])),
        deployment_id=FlowRunFilterDeploymentId(is_null_=False),
        parent_task_run_id=FlowRunFilterParentTaskRunId(is_null_=True),
        end_time=FlowRunFilterEndTime.model_validate({"after_": now_utc() - FORGOTTEN}),
    )
    return [run for run in client.read_flow_runs(flow_run_filter=wanted, limit=PAGE) if _may_go_on(client, run)]


def _crashed_at(run: FlowRun) -> float:
    return run.end_time.timestamp() if run.end_time else 0.0


def _may_go_on(client: SyncPrefectClient, run: FlowRun) -> bool:
    """Whether it has finished an iteration since we or a person had it started again last. What the engine remembers decides."""
    retried = [state.timestamp for state in client.read_flow_run_states(run.id) if state.name == RETRIED]
    return (not retried or _got_on(client, run, max(retried))) and not is_driven(run)


def _got_on(client: SyncPrefectClient, run: FlowRun, since: datetime) -> bool:
    """Whether an iteration of its loop has ended since."""
    uid = tagged(run, "uid:")
    wanted = FlowRunFilter(
        tags=FlowRunFilterTags(all_=[f"uid:{uid}"]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.COMPLETED])),
        parent_task_run_id=FlowRunFilterParentTaskRunId(is_null_=False),
        end_time=FlowRunFilterEndTime.model_validate({"after_": since}),
    )
    return bool(uid and client.read_flow_runs(flow_run_filter=wanted, limit=1))


def is_driven(run: FlowRun) -> bool:
    """Whether somebody drives its loop here, after all: a machine that slept was only silent."""
    place, loop = str(run.labels.get(REPOSITORY, "")), tagged(run, "loop:")
    try:
        return bool(place and loop) and holder(loop_folder(open_repository(Path(place)), loop).lock) is not None
    except HelmsmanError:
        return False  # it is not on this machine


def _start_again(client: SyncPrefectClient, run: FlowRun) -> bool:
    told = client.set_flow_run_state(run.id, AwaitingRetry(message="It crashed, and goes on by itself."))
    _log.info("run %s crashed and goes on: %s", run.name, told.status)
    return told.status is SetStateStatus.ACCEPT
