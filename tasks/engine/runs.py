"""Talking to the engine about flow runs: naming ours, ending those that a dead driver left, hearing of a cancel.

And how ours end: as a state that says why and what comes next, without a traceback.
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
"""How often the engine is asked whether somebody cancelled; a cancel must be through within 10 s."""

FLUSH_SECONDS = 15

PAGE = 100
"""Runs that one request asks for."""
REPOSITORY = "helmsman.repository"
"""Label of a run: where its loop is, on the machine that drove it last."""
SUPERSEDED = "Superseded"
"""How a dead driver's run shows. No automation starts it again, as one that is merely `Crashed`: its loop goes on elsewhere."""

SLEEPING = "Sleeping"
CANCELLED = frozenset({StateType.CANCELLING, StateType.CANCELLED})
ABOUT_TO_START = frozenset({StateType.SCHEDULED, StateType.PENDING})
UNFINISHED = [StateType.RUNNING, StateType.PENDING, StateType.PAUSED, StateType.SCHEDULED]
"""Of runs that have driven the loop: one that is scheduled sleeps, or was to go on."""

_starts: dict[UUID, int] = {}
"""Of the deployments' runs that this process drives: how often they had been started when it began. Only a worker starts a run
elsewhere; another one's count rises with each pause that it sits out."""

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger(__name__)


def _mine() -> FlowRun | None:
    context = FlowRunContext.get()
    return context.flow_run if context else None


def run_id() -> UUID:
    """Id of the flow run that this code runs in."""
    if (run := _mine()) is None:
        raise RuntimeError("a loop's steps run inside its flow run")
    return run.id


def driven_here(kind: str = "uid:") -> str:
    """Uid, or name (`loop:`), of the loop that this run has driven before: in a process that died, or before it left one to wait.

    Empty: none.
    """
    return tagged(run, kind) if (run := _mine()) else ""


def is_under_a_worker() -> bool:
    """Whether this is a deployment's own run: then a worker can start it again, and nobody but the engine sees how it ends."""
    run = _mine()
    return run is not None and run.deployment_id is not None and run.parent_task_run_id is None


def is_retried() -> bool:
    """Whether this run had ended, and not by a crash, before somebody had it started again."""
    with get_client(sync_client=True) as client:
        states = sorted(client.read_flow_run_states(run_id()), key=lambda state: state.timestamp)
    ends = [state.type for state in states if state.is_final()]
    return bool(ends) and ends[-1] in {StateType.FAILED, StateType.CANCELLED}


def runs_where(client: SyncPrefectClient, **wanted: Any) -> list[FlowRun]:
    """Every run that these parts of a FlowRunFilter let through; all, before anybody changes one, as pages would shift then."""
    where, found = FlowRunFilter.model_validate(wanted), list[FlowRun]()
    while len(found) % PAGE == 0:
        page = client.read_flow_runs(flow_run_filter=where, limit=PAGE, offset=len(found))
        if not page:
            break
        found += page
    return found


def tagged(run: FlowRun, kind: str) -> str:
    """What a run is tagged with after `loop:` or `uid:`; empty where it is not."""
    return next((tag.removeprefix(kind) for tag in run.tags if tag.startswith(kind)), "")


@contextmanager
def without_heartbeats() -> Generator[None]:
    """Runs inside another need no heartbeat of their own, and Prefect's costs a second at the end of each.

    For the block of a running flow: its own heartbeat has begun and goes on. Entering costs 40 ms, so once is enough.
    """
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


@contextmanager
def driving_run(
    name: str, uid: str, tags: set[str], cancel: Path, *, inside: set[str] | None = None, repository: Path | None = None
) -> Generator[None]:
    """Have this run drive something under that name, with an ear for a cancel. Runs that a dead driver left unfinished end.

    `inside`: tags of the runs in it, if others. `repository`: where a loop is. What is no loop has no such label: whoever looks
    there would look for a loop's state.
    """
    hide_process()  # under a worker nobody has done it before
    survive_broken_pipe()
    mine = run_id()
    with get_client(sync_client=True) as client:
        client.update_flow_run(mine, name=name, tags=tags)
        run = client.read_flow_run(mine)
        if run.deployment_id is not None:
            _starts[mine] = run.run_count
        if repository is not None:
            client.update_flow_run_labels(mine, {REPOSITORY: str(repository)})
        for stale in runs_where(client, tags={"all_": [f"uid:{uid}"]}, state={"type": {"any_": UNFINISHED}}):
            if stale.id != mine:
                message = f"its process died; {name} goes on in flow run {mine}"
                client.set_flow_run_state(stale.id, Crashed(name=SUPERSEDED, message=message), force=True)
    with run_tags(*(inside or tags)), without_heartbeats(), _hearing_cancel(cancel):
        yield


def untagged(function: Callable[P, R]) -> Callable[P, R]:
    """The tags of a flow run end there: for a tagged task run Prefect asks its server for a slot, 10 ms a step."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with TagsContext(current_tags=set()):
            return function(*args, **kwargs)

    return call


def flush() -> None:
    """Send what Prefect has queued while its server still answers; at exit it would try for minutes."""
    EventsWorker.drain_all(timeout=FLUSH_SECONDS)
    APILogWorker.drain_all(timeout=FLUSH_SECONDS)


@contextmanager
def _hearing_cancel(flag: Path) -> Generator[None]:
    """While the block runs, touch a file when somebody cancels this run in the UI or by the API, or has it started elsewhere."""
    mine, done = run_id(), threading.Event()

    def watch() -> None:
        with get_client(sync_client=True) as client:
            while not done.wait(POLL_SECONDS):
                found = _asked(client, mine)
                if found and (found.state_type in CANCELLED or _elsewhere(found)):
                    with suppress(OSError):  # a full disk takes no file; it is asked again
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
    """Whether the engine has given this run to another process since: whatever this one says of it would be believed."""
    run = _mine()
    if run is None or run.id not in _starts:
        return False
    with get_client(sync_client=True) as client:
        found = _asked(client, run.id)
    return found is not None and _elsewhere(found)


@contextmanager
def leaving_what_others_drive() -> Generator[None]:
    """However the block ends: a run that the engine has started anew is not ours to end, and this process ends without a word."""
    paused = False
    try:
        yield
    except Pause:  # it was suspended, and may have been woken by now
        paused = True
        raise
    finally:
        if not paused and is_started_elsewhere():
            get_run_logger().error(
                "this run is left to the machine that drives it now: it was started again, while nobody heard of us"
            )
            raise Abort("this run was started again elsewhere")


def _asked(client: SyncPrefectClient, run: UUID) -> FlowRun | None:
    """None of an engine that cannot be asked, which has not cancelled: the loop goes on without it."""
    try:
        found = runs_where(client, id={"any_": [run]})
    except (httpx.HTTPError, ValueError):  # the second: what stands before it has answered, with a page for people
        _log.debug("the engine did not answer; asking again", exc_info=True)
        return None
    return found[0] if found else None


def _elsewhere(run: FlowRun) -> bool:
    known = _starts.get(run.id)
    return known is not None and (run.run_count > known or run.state_type in ABOUT_TO_START)


# --- how a run ends ------------------------------------------------------------------------------------------------------


class EndState(State[dict[str, Any]]):
    """The end of a run that decided to end so.

    Prefect raises at the end of a run whose state is failed or cancelled, and its log closes with a screenful of traceback. That
    is right for a fault; a limit that is reached or a person's stop is none.
    """

    def result(self, raise_on_failure: bool = True, retry_result_failure: bool = True, **_: Any) -> Any:  # noqa: ARG002 - as Prefect calls it
        """What the run came to; nothing is raised."""
        return cast("Any", super()).result(raise_on_failure=False, _sync=True)


def sleep_until(moment: datetime, reason: str) -> NoReturn:
    """Leave the process, and have a worker start the run again at that moment. Raises Pause, which ends it without a word."""
    state: State[Any] = Scheduled(name=SLEEPING, scheduled_time=moment, message=reason)
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run_id(), state, force=True)
    raise Pause(state=state)


def ending_with_reason(flow: Callable[P, State[dict[str, Any]]]) -> Callable[P, State[dict[str, Any]]]:
    """Under a worker, end a run with the sentence of the error that ends it. A fault of ours keeps its traceback.

    Whoever drives a flow in its own process is given the error. No error says a secret.
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
