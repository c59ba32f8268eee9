"""Restarting loops without a process: after a crash, after the answer to a question, or after their worker died.

`helmsman approve` and a form in the UI resume a loop directly. But an answer may come while the engine is unreachable, and the
engine does not know a question's deadline.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.states import AwaitingRetry, Scheduled

from helmsman.errors import HelmsmanError
from helmsman.oversee.answers import timeout_answer
from helmsman.plain import clean
from helmsman.records.forms import form_for
from tasks.approvals import answers
from tasks.approvals.pause import placeholder_input, resume_paused
from tasks.engine.runs import REPOSITORY, runs_where, tagged
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state
from tasks.system.lock import holder

IDLE = "NothingToDo"
_log = logging.getLogger(__name__)
OUR_RUNS: dict[str, Any] = {"tags": {"all_": ["helmsman"]}}
DEPLOYED_RUNS: dict[str, Any] = {**OUR_RUNS, "deployment_id": {"is_null_": False}}
CRASHED = "Crashed"
RETRIED = "AwaitingRetry"
SETTLED_SECONDS = 30.0
"""A worker may report one crash twice, seconds apart (8 were seen); the second report must not stop the restarted run. The
automation of a crash starts the sweep after this time."""
OLDEST_CRASH = timedelta(days=1)  # older crashes were noticed by a person, or do not matter
UNSTARTED_SECONDS = 600.0  # a process starts within seconds; one that has not started after this long is dead
MOST_RESTARTS = 3  # restarts of an unstarted run; after that it stays pending for a person to look at
PENDING = "Pending"  # a worker that waits for a container uses another name (`InfrastructurePending`)
RESCHEDULED = "Rescheduled"


def sweep_runs(settled_seconds: float, unstarted_seconds: float = UNSTARTED_SECONDS) -> State[dict[str, Any]]:
    """Restart every loop that can continue. Returns the final state of the sweep's run. Raises TransientError."""
    with get_client(sync_client=True) as client:
        revived = revive_crashed(client, settled_seconds)
        unstarted = reschedule_unstarted(client, datetime.now(UTC), unstarted_seconds)
        asleep = runs_where(client, **OUR_RUNS, state={"name": {"any_": ["Suspended"]}})  # they have no process
        woken = [summary for run in asleep if (summary := _wake(run, datetime.now(UTC)))]
    data = {"waiting": len(asleep) - len(woken), "woken": woken, "revived": revived, "rescheduled": unstarted}
    message = f"{data['waiting']} wait for a person; resumed: {_join_names(woken)}; crashed and restarted: {_join_names(revived)}"
    message += f"; restarted, as no process was started: {_join_names(unstarted)}" if unstarted else ""
    name = "Woken" if woken or revived or unstarted else IDLE
    return State(type=StateType.COMPLETED, name=name, message=message, data=data)


def forget_idle(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as Prefect calls it
    """Delete the run of a sweep that did nothing: hundreds of them a day would only fill the list of runs."""
    if state.name == IDLE and flow_run.deployment_id is not None:
        with get_client(sync_client=True) as client:
            client.delete_flow_run(flow_run.id)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(map(clean, names)) or "none"


def _wake(run: FlowRun, now: datetime) -> str:
    """Resume a run whose question has an answer. Return a summary; empty where nothing was done.

    Does nothing where the loop is running, or is not on this machine.
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
        answer = answers.find_answer(folder.answers, state.uid, state.gate.key) or timeout_answer(state.gate, now)
        if answer is None or not resume_paused(state.uid, placeholder_input(form_for(state.gate.kind), answer.choice)):
            return ""
    except HelmsmanError as error:
        _log.warning("the loop of run %s cannot be read: %s", run.name, error)
        return ""
    return f"{loop} ({answer.choice} by {answer.by or answer.via})"


def _loop_of(run: FlowRun) -> tuple[str, str]:
    """Repository path and name of a run's loop."""
    return str(run.labels.get(REPOSITORY, "")), tagged(run, "loop:")


def revive_crashed(client: SyncPrefectClient, settled_seconds: float = SETTLED_SECONDS) -> list[str]:
    """Restart runs whose crash is that old and whose loop finished an iteration since the last restart. Returns their names."""
    now, revived = datetime.now(UTC), list[str]()
    settled: dict[str, Any] = {"after_": now - OLDEST_CRASH, "before_": now - timedelta(seconds=settled_seconds)}
    crashed: dict[str, Any] = {"state": {"name": {"any_": [CRASHED]}}, "parent_task_run_id": {"is_null_": True}}
    done: dict[str, Any] = {"state": {"type": {"any_": [StateType.COMPLETED]}}, "parent_task_run_id": {"is_null_": False}}
    for run in runs_where(client, **DEPLOYED_RUNS, **crashed, end_time=settled):
        retried = [state.timestamp for state in client.read_flow_run_states(run.id) if state.name == RETRIED]
        of_loop = {"all_": [f"uid:{tagged(run, 'uid:')}"]}
        has_progressed = not retried or (
            tagged(run, "uid:") and runs_where(client, tags=of_loop, end_time={"after_": max(retried)}, **done)
        )
        if has_progressed and not is_driven(run):
            result = client.set_flow_run_state(run.id, AwaitingRetry(message="The run crashed and is restarted automatically."))
            _log.info("run %s crashed and continues: %s", run.name, result.status)
            revived += [run.name] if result.status is SetStateStatus.ACCEPT else []
    return revived


def is_driven(run: FlowRun) -> bool:
    """Whether the run's loop is running on this machine: after sleep, a machine only seems to have crashed."""
    place, loop = _loop_of(run)
    try:
        return bool(place and loop) and holder(loop_folder(open_repository(Path(place)), loop).lock) is not None
    except HelmsmanError:
        return False  # the loop is not on this machine


def reschedule_unstarted(client: SyncPrefectClient, now: datetime, after_seconds: float = UNSTARTED_SECONDS) -> list[str]:
    """Reschedule runs that have been pending for `after_seconds`. Returns their names."""
    limit, rescheduled = now - timedelta(seconds=after_seconds), list[str]()
    for run in runs_where(client, **DEPLOYED_RUNS, state={"name": {"any_": [PENDING]}}):
        # a container, whose id is not a plain number, may wait long for its image
        is_container = bool(run.infrastructure_pid) and not str(run.infrastructure_pid).isdecimal()
        if run.state is None or run.state.timestamp > limit or is_container or is_driven(run):
            continue
        restarts = [state.name for state in client.read_flow_run_states(run.id)].count(RESCHEDULED)
        if restarts >= MOST_RESTARTS:
            warning = "run %s stays pending: it was claimed %d times and had no process; see the worker's log, then cancel it"
            _log.warning(warning, run.name, restarts + 1)
            continue
        result = client.set_flow_run_state(
            run.id, Scheduled(name=RESCHEDULED, message="A worker claimed this run, but started no process.")
        )
        _log.info("run %s had no process and is restarted: %s", run.name, result.status)
        rescheduled += [run.name] if result.status is SetStateStatus.ACCEPT else []
    return rescheduled
