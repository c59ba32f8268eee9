"""Paused flow runs: a form in the Prefect UI, the wait for it, and what was answered to earlier pauses of the same question.

Never a raw pause: a run that is driven anew while it is paused would pass its gate unanswered, and a key can be used once a run.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from signal import SIGINT, pthread_kill
from typing import Any, NoReturn
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import State, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import Pause, PrefectHTTPStatusError
from prefect.flow_runs import pause_flow_run
from prefect.input import RunInput
from prefect.input.run_input import keyset_from_paused_state
from prefect.logging import get_run_logger
from prefect.states import Suspended
from prefect.utilities.engine import propose_state_sync
from pydantic import BaseModel, ValidationError

from helmsman.errors import Cancelled, TransientError
from helmsman.records.gates import Gate
from tasks.engine.runs import run_id, runs_where

POLL_SECONDS = 2
LONGEST_PAUSE = 3 * 365 * 24 * 3600
"""Seconds. The engine would fail a run whose pause has lapsed; what silence comes to is for the gate to say."""
RUNS_LOOKED_AT = 20
ENGINE_AWAY = (httpx.HTTPError, PrefectHTTPStatusError)

CANCELLED = "cancelled"
AWAKE = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING]
STAND_IN = "(answered in another way)"
"""Who fills in a form only to end its wait; what counts lies elsewhere."""

Wake = Callable[[], str]
"""Asked every few seconds while a question is open: empty waits on, CANCELLED ends the loop, a decision ends the wait."""

_log = logging.getLogger(__name__)


def earlier_inputs(uid: str, gate: str) -> list[Mapping[str, Any]]:
    """What was filled in for a gate, in whichever run of the loop, newest first; nothing from an engine that is away."""
    wanted = FlowRunFilter.model_validate({"tags": {"all_": [f"uid:{uid}"]}, "parent_task_run_id": {"is_null_": True}})
    try:
        with get_client(sync_client=True) as client:
            newest = FlowRunSort.EXPECTED_START_TIME_DESC
            runs = client.read_flow_runs(flow_run_filter=wanted, sort=newest, limit=RUNS_LOOKED_AT)
            return [given for run in runs for given in _inputs(client, run.id, f"{gate}-p")]
    except ENGINE_AWAY:
        _log.warning("the engine could not be asked for earlier answers", exc_info=True)
        return []


def pause(gate: str, form: type[BaseModel], description: str, wake: Wake) -> Mapping[str, Any] | None:
    """Show a form on this run and wait. Returns what was filled in, unchecked, or None when something else ended the wait."""
    run = run_id()
    key = _free_key(run, gate)
    with _waking(run, form, wake) as cancelled:
        try:
            pause_flow_run(wait_for_input=_shown(form, description), timeout=LONGEST_PAUSE, poll_interval=POLL_SECONDS, key=key)
        except ENGINE_AWAY:
            _wait_for_engine(run)
        except ValidationError:
            _log.info("the form was filled in with an invalid value")
        except KeyboardInterrupt as interrupt:
            raise Cancelled(CANCELLED if cancelled.is_set() else "interrupted by a signal") from interrupt
    with get_client(sync_client=True) as client:
        return next(_inputs(client, run, key), None)  # a form that came first counts, whatever came another way meanwhile


@contextmanager
def _waking(run: UUID, form: type[BaseModel], wake: Wake) -> Generator[threading.Event]:
    """Look after what the engine does not know of, while the main thread waits for the engine. What is yielded: cancelled."""
    done, cancelled, main = threading.Event(), threading.Event(), threading.main_thread().ident or 0

    def watch() -> None:
        while not done.wait(POLL_SECONDS):
            decision = wake()
            if decision == CANCELLED:
                cancelled.set()
                pthread_kill(main, SIGINT)
                return
            if decision:
                with suppress(*ENGINE_AWAY), get_client(sync_client=True) as client:
                    _resume(client, run, stand_in(form, decision))

    thread = threading.Thread(target=watch, name="gate-watch", daemon=True)
    thread.start()
    try:
        yield cancelled
    finally:
        done.set()
        thread.join(timeout=POLL_SECONDS + 5)


def _wait_for_engine(run: UUID) -> None:
    """The engine went away in the midst of the wait: look again until it is back and the run goes on."""
    while True:
        time.sleep(POLL_SECONDS)
        with suppress(*ENGINE_AWAY), get_client(sync_client=True) as client:
            state = client.read_flow_run(run).state
            if state is None or not state.is_paused():
                return


def suspend(gate: Gate, form: type[BaseModel], description: str) -> NoReturn:
    """Leave the process until the form is filled in; the engine starts the run again then. Raises Pause.

    As `suspend_flow_run` does, whose state cannot have a message: here it is the question, which the list of runs shows.
    """
    run = run_id()
    get_run_logger().warning("this loop waits for a person: %s Answer it by Resume in the menu of this run.", gate.question)
    state = Suspended(timeout_seconds=LONGEST_PAUSE, pause_key=_free_key(run, gate.key), message=gate.question)
    keyset = keyset_from_paused_state(state)
    state.state_details.run_input_keyset = {**keyset}
    with get_client(sync_client=True) as client:
        suspended = propose_state_sync(client, state, flow_run_id=run)
    if not suspended.is_paused():
        raise TransientError("the engine does not suspend this run", found=str(suspended), remedy="start it again")
    _shown(form, description).save(keyset)
    raise Pause(state=suspended)


def warn_not_taken(problem: str) -> None:
    """Say in the run's log why an answer was not taken."""
    get_run_logger().warning("your answer was rejected: %s", problem)


def resume_paused(uid: str, filled_in: Mapping[str, Any], answered: datetime | None = None) -> bool:
    """Fill in the form of a loop's paused run from outside. Returns whether a run goes on. Raises TransientError.

    `answered`: since when there is an answer, which somebody else may have woken the run for by now.
    """
    mine = {"all_": [f"uid:{uid}"]}
    try:
        with get_client(sync_client=True) as client:
            paused = runs_where(client, tags=mine, state={"type": {"any_": [StateType.PAUSED]}})
            if any(_resume(client, run.id, filled_in) for run in paused):
                return True
            awake = runs_where(client, tags=mine, state={"type": {"any_": AWAKE}}) if answered else []
    except ENGINE_AWAY as error:
        raise TransientError(
            "the Prefect server does not answer", found=str(error), remedy="start it, then answer again"
        ) from error
    return any(answered is not None and run.state is not None and run.state.timestamp >= answered for run in awake)


def stand_in(form: type[BaseModel], decision: str) -> dict[str, str]:
    """A form filled in with nothing but a decision, where it has one, for an answer that came in another way."""
    return {"by": STAND_IN} | ({"decision": decision} if "decision" in form.model_fields else {})


def _resume(client: SyncPrefectClient, run: UUID, filled_in: Mapping[str, Any]) -> bool:
    return client.resume_flow_run(run, run_input=dict(filled_in)).status is SetStateStatus.ACCEPT


def _inputs(client: SyncPrefectClient, run: UUID, key: str) -> Iterator[Mapping[str, Any]]:
    """What was filled in for pauses of a run whose keys begin so, newest first."""
    for state in reversed(_pauses(client, run)):
        keyset = state.state_details.run_input_keyset
        if (state.state_details.pause_key or "").startswith(key) and keyset:
            found = client.filter_flow_run_input(run, key_prefix=keyset["response"], limit=1, exclude_keys=set())
            filled_in = (one.decoded_value for one in found if one.key == keyset["response"])
            yield from (given for given in filled_in if given.get("by") != STAND_IN)


def _pauses(client: SyncPrefectClient, run: UUID) -> list[State[Any]]:
    states = client.read_flow_run_states(run)
    return sorted((state for state in states if state.is_paused()), key=lambda state: state.timestamp)


def _free_key(run: UUID, gate: str) -> str:
    """A key counts once a run, also after its process died."""
    with get_client(sync_client=True) as client:
        return f"{gate}-p{len(_pauses(client, run)) + 1}"


def _shown(form: type[BaseModel], description: str) -> Any:
    return RunInput.subclass_from_base_model_type(form).with_initial_data(description=description)
