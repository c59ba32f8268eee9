"""Loops without a process that may go on: after a crash, because a question is settled, or because their worker died.

`helmsman approve` and a form in the UI wake a loop by themselves. But an answer may have come while the engine was away,
and nobody there knows that the time for a question has run out.
"""

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.states import AwaitingRetry, Scheduled

from helmsman.errors import HelmsmanError
from helmsman.oversee.answers import lapsed
from helmsman.plain import clean
from helmsman.records.forms import form_for
from tasks.approvals import answers
from tasks.approvals.pause import resume_paused, stand_in
from tasks.engine.runs import REPOSITORY, runs_where, tagged
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state
from tasks.system.clock import now_utc
from tasks.system.lock import holder

IDLE = "NothingToDo"
_log = logging.getLogger(__name__)
OURS: dict[str, Any] = {"tags": {"all_": ["helmsman"]}}
OF_A_DEPLOYMENT: dict[str, Any] = {**OURS, "deployment_id": {"is_null_": False}}
CRASHED = "Crashed"
RETRIED = "AwaitingRetry"
SETTLED_SECONDS = 30.0
"""A worker may tell of one crash twice, seconds apart (8 were seen); the second time must not strike the run that goes on."""
FORGOTTEN = timedelta(days=1)  # what crashed before that was seen by somebody, or nobody minds
UNSTARTED_SECONDS = 600.0  # a process needs seconds to begin; one that has not begun after this long is dead
MOST_TIMES = 3  # whatever is not there after that is no accident: its run stays pending for a person to look at
PENDING = "Pending"  # a worker that waits for a container says so by another name (`InfrastructurePending`)
AGAIN = "Rescheduled"


def swept(settled_seconds: float, unstarted_seconds: float = UNSTARTED_SECONDS) -> State[dict[str, Any]]:
    """Start again whatever can go on. Returns the state that the sweep's own run ends in. Raises TransientError."""
    with get_client(sync_client=True) as client:
        revived = revive_crashed(client, settled_seconds)
        unstarted = reschedule_unstarted(client, now_utc(), unstarted_seconds)
        asleep = runs_where(client, **OURS, state={"name": {"any_": ["Suspended"]}})  # they have left their processes
        woken = [words for run in asleep if (words := _woken(run, now_utc()))]
    found = {"waiting": len(asleep) - len(woken), "woken": woken, "revived": revived, "rescheduled": unstarted}
    told = f"{found['waiting']} wait for a person; woken: {_listed(woken)}; revived after a crash: {_listed(revived)}"
    told += f"; restarted, because no process was started: {_listed(unstarted)}" if unstarted else ""
    name = "Woken" if woken or revived or unstarted else IDLE
    return State(type=StateType.COMPLETED, name=name, message=told, data=found)


def forget_idle(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as Prefect calls it
    """Once a sweep has ended: one that did nothing would only fill the list of runs, hundreds of times a day."""
    if state.name == IDLE and flow_run.deployment_id is not None:
        with get_client(sync_client=True) as client:
            client.delete_flow_run(flow_run.id)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(clean, names)) or "none"


def _woken(run: FlowRun, now: datetime) -> str:
    """Have a run go on whose question is settled. Returns in words what was done; empty where nothing was.

    Nothing is done where somebody drives its loop, or where the loop is not here.
    """
    place, loop = _loop_of(run)
    try:
        if not (loop and place and Path(place).is_dir()):
            return ""
        repository = open_repository(Path(place))
        state, _ = read_state(repository, loop)
        folder = loop_folder(repository, loop)
        if state.gate is None or state.uid != tagged(run, "uid:") or holder(folder.lock) is not None:
            return ""
        answer = answers.find(folder.answers, state.uid, state.gate.key) or lapsed(state.gate, now)
        if answer is None or not resume_paused(state.uid, stand_in(form_for(state.gate.kind), answer.choice)):
            return ""
    except HelmsmanError as error:
        _log.warning("the loop of run %s cannot be looked at: %s", run.name, error)
        return ""
    return f"{loop} ({answer.choice} by {answer.by or answer.via})"


def _loop_of(run: FlowRun) -> tuple[str, str]:
    """Where the loop of a run is, and its name."""
    return str(run.labels.get(REPOSITORY, "")), tagged(run, "loop:")


def revive_crashed(client: SyncPrefectClient, settled_seconds: float = SETTLED_SECONDS) -> list[str]:
    """Have runs that may go on after a crash started again, the newest too once it is settled. Returns their names."""
    if not (found := _may_be_revived(client)):
        return []
    newest = max(run.end_time.timestamp() if run.end_time else 0.0 for run in found)
    time.sleep(max(newest + settled_seconds - now_utc().timestamp(), 0))
    settled, revived = {run.id for run in found}, list[str]()
    for run in _may_be_revived(client):
        if run.id in settled:
            told = client.set_flow_run_state(run.id, AwaitingRetry(message="It crashed, and continues by itself."))
            _log.info("run %s crashed and continues: %s", run.name, told.status)
            revived += [run.name] if told.status is SetStateStatus.ACCEPT else []
    return revived


def _may_be_revived(client: SyncPrefectClient) -> list[FlowRun]:
    """Those whose loop has finished an iteration since we or a person had them started again last, as the engine remembers."""
    crashed: dict[str, Any] = {"state": {"name": {"any_": [CRASHED]}}, "parent_task_run_id": {"is_null_": True}}
    done: dict[str, Any] = {"state": {"type": {"any_": [StateType.COMPLETED]}}, "parent_task_run_id": {"is_null_": False}}
    found = list[FlowRun]()
    for run in runs_where(client, **OF_A_DEPLOYMENT, **crashed, end_time={"after_": now_utc() - FORGOTTEN}):
        retried = [state.timestamp for state in client.read_flow_run_states(run.id) if state.name == RETRIED]
        ours = {"all_": [f"uid:{tagged(run, 'uid:')}"]}
        got_on = not retried or (tagged(run, "uid:") and runs_where(client, tags=ours, end_time={"after_": max(retried)}, **done))
        if got_on and not is_driven(run):
            found.append(run)
    return found


def is_driven(run: FlowRun) -> bool:
    """Whether somebody drives its loop here, after all: a machine that slept was only silent."""
    place, loop = _loop_of(run)
    try:
        return bool(place and loop) and holder(loop_folder(open_repository(Path(place)), loop).lock) is not None
    except HelmsmanError:
        return False  # it is not on this machine


def reschedule_unstarted(client: SyncPrefectClient, now: datetime, after_seconds: float = UNSTARTED_SECONDS) -> list[str]:
    """Have a worker take up anew what has been pending for so long. Returns the names of the runs."""
    late, rescheduled = now - timedelta(seconds=after_seconds), list[str]()
    for run in runs_where(client, **OF_A_DEPLOYMENT, state={"name": {"any_": [PENDING]}}):
        # a container, which has no mere number, may wait for its image for long
        contained = bool(run.infrastructure_pid) and not str(run.infrastructure_pid).isdecimal()
        if run.state is None or run.state.timestamp > late or contained or is_driven(run):
            continue
        times = [state.name for state in client.read_flow_run_states(run.id)].count(AGAIN)
        if times >= MOST_TIMES:
            stays = "run %s stays pending: it was claimed %d times and had no process; see the worker's log, then cancel it"
            _log.warning(stays, run.name, times + 1)
            continue
        told = client.set_flow_run_state(run.id, Scheduled(name=AGAIN, message="A worker claimed it, but started no process."))
        _log.info("run %s had no process and is restarted: %s", run.name, told.status)
        rescheduled += [run.name] if told.status is SetStateStatus.ACCEPT else []
    return rescheduled
