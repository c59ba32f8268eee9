"""Manage flow runs in the engine: name ours, end the runs of dead drivers, watch for a cancel.

And end ours in a state whose message gives the reason and the next step, without a traceback.
"""

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar, cast
from uuid import UUID

import httpx
from prefect import tags as run_tags
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext, TagsContext
from prefect.events.worker import EventsWorker
from prefect.exceptions import Abort, Pause
from prefect.logging import get_run_logger
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.states import Crashed, Scheduled

from helmsman.errors import Cancelled, HelmsmanError
from tasks.system.environment import hide_process, survive_broken_pipe
from tasks.system.secrets import redacting_errors

POLL_SECONDS = 2.0
"""Interval of polling the engine for a cancel, which must take effect within 10 s."""

FLUSH_SECONDS = 15

PAGE = 100
"""Runs per request."""
REPOSITORY = "helmsman.repository"
"""Label of a run: path of its loop's repository on the machine that drove it last."""
SUPERSEDED = "Superseded"
"""State of a dead driver's run. Unlike `Crashed`, no automation restarts it, since its loop continues in another run."""

SLEEPING = "Sleeping"
CANCELLED = frozenset({StateType.CANCELLING, StateType.CANCELLED})
ABOUT_TO_START = frozenset({StateType.SCHEDULED, StateType.PENDING})
UNFINISHED = [StateType.RUNNING, StateType.PENDING, StateType.PAUSED, StateType.SCHEDULED]
"""States of the loop's runs to supersede: a scheduled one is sleeping or due to continue."""

_starts: dict[UUID, int] = {}
"""Run counts at the start, of the deployments' runs that this process drives. Only a worker starts a run elsewhere; the count of
other runs rises with each pause."""

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger(__name__)


def _current_run() -> FlowRun | None:
    context = FlowRunContext.get()
    return context.flow_run if context else None


def run_id() -> UUID:
    """Id of the current flow run."""
    if (run := _current_run()) is None:
        raise RuntimeError("a loop's steps run inside its flow run")
    return run.id


def driven_loop(kind: str = "uid:") -> str:
    """Uid, or name (`loop:`), of the loop that this run drove in an earlier process, which died or left to wait.

    Empty: none.
    """
    return tagged(run, kind) if (run := _current_run()) else ""


def is_under_a_worker() -> bool:
    """Whether this is a deployment's run, which a worker can restart and whose end only the engine sees."""
    run = _current_run()
    return run is not None and run.deployment_id is not None and run.parent_task_run_id is None


def is_retried() -> bool:
    """Whether this run failed or was cancelled, rather than crashed, before it was started again."""
    with get_client(sync_client=True) as client:
        states = sorted(client.read_flow_run_states(run_id()), key=lambda state: state.timestamp)
    final = [state.type for state in states if state.is_final()]
    return bool(final) and final[-1] in {StateType.FAILED, StateType.CANCELLED}


def runs_where(client: SyncPrefectClient, **fields: Any) -> list[FlowRun]:
    """All runs that match these fields of a FlowRunFilter, read before any of them changes, since pages would shift."""
    run_filter, runs = FlowRunFilter.model_validate(fields), list[FlowRun]()
    while len(runs) % PAGE == 0:
        page = client.read_flow_runs(flow_run_filter=run_filter, limit=PAGE, offset=len(runs))
        if not page:
            break
        runs += page
    return runs


def tagged(run: FlowRun, kind: str) -> str:
    """Value of the run's tag that starts with `loop:` or `uid:`; empty if there is none."""
    return next((tag.removeprefix(kind) for tag in run.tags if tag.startswith(kind)), "")


@contextmanager
def without_heartbeats() -> Generator[None]:
    """Disable heartbeats of runs that nobody watches, nested or in an embedded engine: each run costs up to a second at its end.

    A flow that is running keeps its own. Entering costs 40 ms, so use it once.
    """
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


@contextmanager
def driving_run(
    name: str, uid: str, tags: set[str], cancel: Path, *, inside: set[str] | None = None, repository: Path | None = None
) -> Generator[None]:
    """Name this run, watch for a cancel while the block runs, and supersede unfinished runs of dead drivers.

    `inside`: tags of nested runs, if different. `repository`: path of a loop's repository, stored as a label; None for anything
    else, since readers of the label expect a loop's state there.
    """
    hide_process()  # a worker has not done it
    survive_broken_pipe()
    own_id = run_id()
    with get_client(sync_client=True) as client:
        client.update_flow_run(own_id, name=name, tags=tags)
        run = client.read_flow_run(own_id)
        if run.deployment_id is not None:
            _starts[own_id] = run.run_count
        if repository is not None:
            client.update_flow_run_labels(own_id, {REPOSITORY: str(repository)})
        for unfinished in runs_where(client, tags={"all_": [f"uid:{uid}"]}, state={"type": {"any_": UNFINISHED}}):
            if unfinished.id != own_id:
                message = f"no process drives this run any more; {name} continues in flow run {own_id}"
                client.set_flow_run_state(unfinished.id, Crashed(name=SUPERSEDED, message=message), force=True)
    with run_tags(*(inside or tags)), without_heartbeats(), _watching_cancel(cancel):
        yield


def untagged(function: Callable[P, R]) -> Callable[P, R]:
    """Run the function without tags: for a tagged task run Prefect asks its server for a slot, 10 ms a step."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with TagsContext(current_tags=set()):
            return function(*args, **kwargs)

    return call


def flush() -> None:
    """Send Prefect's queued events and logs while its server still answers; at exit it would retry for minutes."""
    EventsWorker.drain_all(timeout=FLUSH_SECONDS)
    APILogWorker.drain_all(timeout=FLUSH_SECONDS)


@contextmanager
def _watching_cancel(flag: Path) -> Generator[None]:
    """While the block runs, touch the file if this run is cancelled in the UI or by the API, or is started elsewhere."""
    own_id, done = run_id(), threading.Event()

    def watch() -> None:
        with get_client(sync_client=True) as client:
            while not done.wait(POLL_SECONDS):
                run = _read_run(client, own_id)
                if run and (run.state_type in CANCELLED or _was_restarted(run)):
                    with suppress(OSError):  # a full disk takes no file; try again
                        flag.touch()
                        return

    thread = threading.Thread(target=watch, name="cancel-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=POLL_SECONDS + 5)


def is_started_elsewhere() -> bool:
    """Whether the engine has started this run in another process since, so that this one must not change its state."""
    run = _current_run()
    if run is None or run.id not in _starts:
        return False
    with get_client(sync_client=True) as client:
        current = _read_run(client, run.id)
    return current is not None and _was_restarted(current)


@contextmanager
def leaving_restarted_run() -> Generator[None]:
    """If the engine has started this run elsewhere, raise Abort at the end of the block and leave the run's state alone."""
    paused = False
    try:
        yield
    except Pause:  # the run is suspended, and may have been resumed by now
        paused = True
        raise
    finally:
        if not paused and is_started_elsewhere():
            get_run_logger().error(
                "this run was started again on another machine, after this one sent no heartbeat; that machine drives it now"
            )
            raise Abort("this run was started again elsewhere")


def _read_run(client: SyncPrefectClient, run: UUID) -> FlowRun | None:
    """Read the flow run; None if the engine does not answer, so that the loop continues without it."""
    try:
        runs = runs_where(client, id={"any_": [run]})
    except (httpx.HTTPError, ValueError):  # ValueError: a proxy answered with an HTML page
        _log.debug("the engine did not answer; asking again", exc_info=True)
        return None
    return runs[0] if runs else None


def _was_restarted(run: FlowRun) -> bool:
    count = _starts.get(run.id)
    return count is not None and (run.run_count > count or run.state_type in ABOUT_TO_START)


# --- how a run ends ------------------------------------------------------------------------------------------------------


class EndState(State[dict[str, Any]]):
    """A final state that a run chose itself.

    Prefect raises at the end of a run whose state is failed or cancelled, and logs a traceback. That is right for a fault, but
    not for a reached limit or a person's stop.
    """

    def result(self, raise_on_failure: bool = True, retry_result_failure: bool = True, **_: Any) -> Any:  # noqa: ARG002 - as Prefect calls it
        """Result of the run; never raises."""
        return cast("Any", super()).result(raise_on_failure=False, _sync=True)


def sleep_until(moment: datetime, reason: str) -> NoReturn:
    """Schedule the run to be restarted by a worker at that time. Raises Pause, which ends the process without a message."""
    state: State[Any] = Scheduled(name=SLEEPING, scheduled_time=moment, message=reason)
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run_id(), state, force=True)
    raise Pause(state=state)


def ending_with_reason(flow: Callable[P, State[dict[str, Any]]]) -> Callable[P, State[dict[str, Any]]]:
    """Under a worker, end a run with the error's message as its state. Unexpected exceptions keep their traceback.

    Outside of a worker, raise the error. Errors are redacted.
    """

    @wraps(flow)
    def call(*args: P.args, **kwargs: P.kwargs) -> State[dict[str, Any]]:
        try:
            with redacting_errors():
                return flow(*args, **kwargs)
        except HelmsmanError as error:
            if not is_under_a_worker():
                raise
            kind, name = (StateType.CANCELLED, "Cancelled") if isinstance(error, Cancelled) else (StateType.FAILED, "Failed")
            return EndState(type=kind, name=name, message="; ".join(map(str.strip, str(error).splitlines())))

    return call
