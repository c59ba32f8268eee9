"""Paused flow runs: show a form in the Prefect UI, wait for it, and read answers to earlier pauses of the same question.

Never use a plain pause: a run restarted while paused would pass its gate unanswered, and each key works once per run.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from signal import SIGINT, pthread_kill
from typing import Any, Literal, NoReturn, cast
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
from pydantic import BaseModel, Field, ValidationError, create_model

from helmsman.errors import Cancelled, TransientError
from helmsman.records.gates import Gate
from tasks.engine.runs import is_under_a_worker, run_id, runs_where

POLL_SECONDS = 2
LONGEST_PAUSE = 3 * 365 * 24 * 3600
"""Seconds. The engine fails a run whose pause times out; the gate decides what a timeout means."""
RUNS_LOOKED_AT = 20
ENGINE_ERRORS = (httpx.HTTPError, PrefectHTTPStatusError)

CANCELLED = "cancelled"
AWAKE = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING]
STAND_IN = "(answered in another way)"
"""Author of a form that only ends the wait; the real answer is stored elsewhere."""
QUESTION, UNCHANGED = "question", "Leave it as it is. If it is refused, another question is open by now: open this form again."
"""Field of every form with the key of its question, and its help."""

Wake = Callable[[], str]
"""Polled every few seconds while a question is open: empty keeps waiting, CANCELLED ends the loop, a decision ends the wait."""

_log = logging.getLogger(__name__)


def earlier_inputs(uid: str, gate: str) -> list[Mapping[str, Any]]:
    """Submitted forms of a gate in all runs of the loop, newest first; empty if the engine is down."""
    run_filter = FlowRunFilter.model_validate({"tags": {"all_": [f"uid:{uid}"]}, "parent_task_run_id": {"is_null_": True}})
    try:
        with get_client(sync_client=True) as client:
            newest = FlowRunSort.EXPECTED_START_TIME_DESC
            runs = client.read_flow_runs(flow_run_filter=run_filter, sort=newest, limit=RUNS_LOOKED_AT)
            return [values for run in runs for values in _inputs_of(client, run.id, f"{gate}-p")]
    except ENGINE_ERRORS:
        _log.warning("earlier answers cannot be read from the engine", exc_info=True)
        return []


def pause(gate: Gate, form: type[BaseModel], description: str, wake: Wake) -> Mapping[str, Any] | None:
    """Show a form on this run and wait. Returns the unvalidated input, or None if something else ended the wait.

    Under a worker the run is suspended instead, and restarted by the engine: raises Pause.
    """
    if is_under_a_worker():
        _suspend(gate, form, description)
    run = run_id()
    key = _next_key(run, gate.key)
    with _polling(run, form, wake) as cancelled:
        own_form = _form_of(form, gate.key, description)
        try:
            pause_flow_run(wait_for_input=own_form, timeout=LONGEST_PAUSE, poll_interval=POLL_SECONDS, key=key)
        except ENGINE_ERRORS:
            _wait_for_engine(run)
        except ValidationError:
            _log.info("the form was filled in with an invalid value")
        except KeyboardInterrupt as interrupt:
            raise Cancelled(CANCELLED if cancelled.is_set() else "interrupted by a signal") from interrupt
    with get_client(sync_client=True) as client:
        return next(_inputs_of(client, run, key), None)  # a form that came first counts, whatever came later


@contextmanager
def _polling(run: UUID, form: type[BaseModel], wake: Wake) -> Generator[threading.Event]:
    """Poll `wake` in a thread while the main thread waits for the engine. Yields an event that is set on a cancel."""
    done, cancelled, main = threading.Event(), threading.Event(), threading.main_thread().ident or 0

    def watch() -> None:
        while not done.wait(POLL_SECONDS):
            decision = wake()
            if decision == CANCELLED:
                cancelled.set()
                pthread_kill(main, SIGINT)
                return
            if decision:
                with suppress(*ENGINE_ERRORS), get_client(sync_client=True) as client:
                    _submit(client, run, placeholder_input(form, decision))

    thread = threading.Thread(target=watch, name="gate-watch", daemon=True)
    thread.start()
    try:
        yield cancelled
    finally:
        done.set()
        thread.join(timeout=POLL_SECONDS + 5)


def _wait_for_engine(run: UUID) -> None:
    """After the engine failed during the wait, poll until it is back and the run is no longer paused."""
    while True:
        time.sleep(POLL_SECONDS)
        with suppress(*ENGINE_ERRORS), get_client(sync_client=True) as client:
            state = client.read_flow_run(run).state
            if state is None or not state.is_paused():
                return


def _suspend(gate: Gate, form: type[BaseModel], description: str) -> NoReturn:
    """Suspend the run until the form is submitted; the engine restarts it then. Raises Pause.

    Like `suspend_flow_run`, but its state has a message: the question, which the list of runs shows.
    """
    run = run_id()
    get_run_logger().warning("this loop waits for a person: %s To answer, choose Resume in the menu of this run.", gate.question)
    state = Suspended(timeout_seconds=LONGEST_PAUSE, pause_key=_next_key(run, gate.key), message=gate.question)
    keyset = keyset_from_paused_state(state)
    state.state_details.run_input_keyset = {**keyset}
    with get_client(sync_client=True) as client:
        suspended = propose_state_sync(client, state, flow_run_id=run)
    if not suspended.is_paused():
        raise TransientError("the engine does not suspend this run", found=str(suspended), remedy="start it again")
    _form_of(form, gate.key, description).save(keyset)
    raise Pause(state=suspended)


def warn_rejected(problem: str) -> None:
    """Log in the run why an answer was rejected."""
    get_run_logger().warning("your answer was rejected: %s", problem)


def resume_paused(uid: str, filled_in: Mapping[str, Any], answered: datetime | None = None) -> bool:
    """Submit the form of a loop's paused run from outside. Returns whether a run continues. Raises TransientError.

    `answered`: time of the answer, for which another process may have resumed the run already.
    """
    of_loop = {"all_": [f"uid:{uid}"]}
    try:
        with get_client(sync_client=True) as client:
            paused = runs_where(client, tags=of_loop, state={"type": {"any_": [StateType.PAUSED]}})
            if any(_submit(client, run.id, filled_in) for run in paused):
                return True
            awake = runs_where(client, tags=of_loop, state={"type": {"any_": AWAKE}}) if answered else []
    except ENGINE_ERRORS as error:
        raise TransientError(
            "the Prefect server does not answer", found=str(error), remedy="start it, then answer again"
        ) from error
    return any(answered is not None and run.state is not None and run.state.timestamp >= answered for run in awake)


def placeholder_input(form: type[BaseModel], decision: str) -> dict[str, str]:
    """Form input with only a decision, if the form has one, for an answer that came from elsewhere."""
    return {"by": STAND_IN} | ({"decision": decision} if "decision" in form.model_fields else {})


def _submit(client: SyncPrefectClient, run: UUID, filled_in: Mapping[str, Any]) -> bool:
    return client.resume_flow_run(run, run_input=dict(filled_in)).status is SetStateStatus.ACCEPT


def _inputs_of(client: SyncPrefectClient, run: UUID, key: str) -> Iterator[Mapping[str, Any]]:
    """Submitted input of the run's pauses whose keys start with `key`, newest first."""
    for state in reversed(_pauses_of(client, run)):
        keyset = state.state_details.run_input_keyset
        if (state.state_details.pause_key or "").startswith(key) and keyset:
            inputs = client.filter_flow_run_input(run, key_prefix=keyset["response"], limit=1, exclude_keys=set())
            filled_in = (stored.decoded_value for stored in inputs if stored.key == keyset["response"])
            for values in filled_in:
                values.pop(QUESTION, None)  # the engine has compared it
                if values.get("by") != STAND_IN:
                    yield values


def _pauses_of(client: SyncPrefectClient, run: UUID) -> list[State[Any]]:
    states = client.read_flow_run_states(run)
    return sorted((state for state in states if state.is_paused()), key=lambda state: state.timestamp)


def _next_key(run: UUID, gate: str) -> str:
    """Next unused pause key: each works once per run, even after its process died."""
    with get_client(sync_client=True) as client:
        return f"{gate}-p{len(_pauses_of(client, run)) + 1}"


def _form_of(form: type[BaseModel], gate: str, description: str) -> Any:
    """The form of one question. An open page keeps its fields when the next question is asked, so the engine compares the key."""
    only: Any = Literal[gate]  # pyright: ignore[reportInvalidTypeForm] - from the gate
    field = only, Field(default=gate, title="Question", description=UNCHANGED)
    create = cast("Callable[..., type[BaseModel]]", create_model)
    asked = create(form.__name__, __base__=form, **{QUESTION: field})
    return RunInput.subclass_from_base_model_type(asked).with_initial_data(description=description)
