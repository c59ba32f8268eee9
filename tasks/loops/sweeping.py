"""Loops without a process that may go on: after a crash, or because the question that they wait with is settled.

`helmsman approve` and a form in the UI wake a loop by themselves. But an answer may have come while the engine was away,
and nobody there knows that the time for a question has run out.
"""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateName,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext

from helmsman.errors import HelmsmanError
from helmsman.oversee.answers import lapsed
from helmsman.plain import clean
from helmsman.records.forms import form_for
from helmsman.records.gates import Answer, Gate
from helmsman.records.state import LoopState
from tasks.engine.runs import PAGE, REPOSITORY, tagged
from tasks.lock import holder
from tasks.loops.opening import now_utc
from tasks.loops.reviving import revive_crashed
from tasks.loops.unstarted import UNSTARTED_SECONDS, reschedule_unstarted
from tasks.people import answer_box
from tasks.people.pausing import resume_paused, stand_in
from tasks.places import loop_folder
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_state

SWEEPS_KEPT = timedelta(hours=1)
"""Runs of the sweep itself are of no interest afterwards."""
IDLE = "NothingToDo"

_log = logging.getLogger(__name__)


def swept(settled_seconds: float, unstarted_seconds: float = UNSTARTED_SECONDS) -> State[dict[str, Any]]:
    """Start again whatever can go on. Returns the state that the sweep's own run ends in. Raises WorldError."""
    with get_client(sync_client=True) as client:
        revived = revive_crashed(client, settled_seconds)
        unstarted = reschedule_unstarted(client, now_utc(), unstarted_seconds)
        asleep = list(_suspended(client))
        woken = [words for run in asleep if (words := _wake(run, now_utc()))]
        _forget_old_sweeps(client, now_utc())
    found = {"waiting": len(asleep) - len(woken), "woken": woken, "revived": revived, "rescheduled": unstarted}
    told = f"{found['waiting']} wait for a person; woken: {_listed(woken)}; revived after a crash: {_listed(revived)}"
    told += f"; taken up anew, since no process of theirs came: {_listed(unstarted)}" if unstarted else ""
    name = "Woken" if woken or revived or unstarted else IDLE
    return State(type=StateType.COMPLETED, name=name, message=told, data=found)


def forget_idle(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as Prefect calls it
    """Once a sweep has ended: one that did nothing would only fill the list of runs, hundreds of times a day."""
    if state.name == IDLE and flow_run.deployment_id is not None:
        with get_client(sync_client=True) as client:
            client.delete_flow_run(flow_run.id)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(clean, names)) or "none"


def _suspended(client: SyncPrefectClient) -> Iterator[FlowRun]:
    """Runs of loops that have left their process. Read to the end before any is woken: pages would shift."""
    wanted = FlowRunFilter(
        tags=FlowRunFilterTags(all_=["helmsman"]), state=FlowRunFilterState(name=FlowRunFilterStateName(any_=["Suspended"]))
    )
    offset = 0
    while page := client.read_flow_runs(flow_run_filter=wanted, limit=PAGE, offset=offset):
        yield from page
        offset += len(page)


def _wake(run: FlowRun, now: datetime) -> str:
    """Have a run go on whose question is settled. Returns in words what was done, empty where nothing was."""
    try:
        found = _settled(run, now)
        if found is None:
            return ""
        state, gate, answer = found
        went = resume_paused(state.uid, stand_in(form_for(gate), answer.choice))
    except HelmsmanError as error:
        _log.warning("the loop of run %s cannot be looked at: %s", run.name, error)
        return ""
    return f"{state.loop} ({answer.choice} by {answer.by or answer.via})" if went else ""


def _settled(run: FlowRun, now: datetime) -> tuple[LoopState, Gate, Answer] | None:
    """The answer that a run's loop waits for. None where there is none, where somebody drives it, or where it is not here."""
    place, loop = str(run.labels.get(REPOSITORY, "")), tagged(run, "loop:")
    if not (loop and place and Path(place).is_dir()):
        return None
    repository = open_repository(Path(place))
    state, _ = read_state(repository, loop)
    folder = loop_folder(repository, loop)
    if state.gate is None or state.uid != tagged(run, "uid:") or holder(folder.lock) is not None:
        return None
    answer = answer_box.find(folder.answers, state.uid, state.gate.key) or lapsed(state.gate, now)
    return (state, state.gate, answer) if answer else None


def _forget_old_sweeps(client: SyncPrefectClient, now: datetime) -> None:
    context = FlowRunContext.get()
    deployment = context.flow_run.deployment_id if context and context.flow_run else None
    if deployment is None:
        return
    wanted = FlowRunFilter(
        deployment_id=FlowRunFilterDeploymentId(any_=[deployment]),
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.COMPLETED, StateType.CANCELLED])),
        end_time=FlowRunFilterEndTime.model_validate({"before_": now - SWEEPS_KEPT}),
    )
    for run in client.read_flow_runs(flow_run_filter=wanted, limit=PAGE):
        client.delete_flow_run(run.id)
