"""A function as a step: a Prefect task with a name, a key by value, a JSON result, and retries of transient errors.

A step's result is persisted under (loop, iteration, attempt, step). After a crash the same call finds it there, and only the
step that was in flight is done again. Which storage it is in says the engine: PREFECT_DEFAULT_RESULT_STORAGE_BLOCK, else the
server's default, else a folder of this machine, which no other machine sees.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial, wraps
from importlib.metadata import version
from typing import Any, ParamSpec, TypeVar, cast
from uuid import uuid4

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.filesystems import LocalFileSystem
from prefect.results import ResultStore, get_result_store
from prefect.settings import get_current_settings
from prefect.utilities.annotations import opaque

from helmsman.config import RetryConfig
from helmsman.errors import CallInterrupted, TransientError
from helmsman.records.events import StepFinished, StepStarted
from helmsman.records.state import LoopState
from tasks.system.faults import delays_of, raising_transient_errors
from tasks.system.journal import publish
from tasks.system.secrets import redacting_errors, without_secrets

JITTER = 0.3
"""Share by which delays vary, so that many loops do not return at once."""
PROBE = "helmsman-probe"
"""What is written and read at the start of every driver of a loop that travels; one object, always the same."""
P = ParamSpec("P")
R = TypeVar("R")
Key = Callable[[TaskRunContext, dict[str, Any]], str | None]
"""Of a result, by what runs and its arguments; None: it holds for no other run."""


class Step(Task[P, R]):
    """A task whose arguments the engine does not search for futures: that took 8 ms a step of a state with its history."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _opaquely(super().__call__, *args, **kwargs)


def _opaquely(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return call(*(opaque(argument) for argument in args), **kwargs)


def step(key: Key) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Make a step of a function whose second parameter is `state`."""

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        name = function.__name__

        @wraps(function)
        def reported(*args: P.args, **kwargs: P.kwargs) -> R:
            state = cast("LoopState", args[1])
            begun = time.monotonic()
            publish(StepStarted(iteration=state.due, attempt=state.attempt, step=name))
            with redacting_errors(), raising_transient_errors():
                result = without_secrets(function(*args, **kwargs))
            seconds = time.monotonic() - begun
            publish(StepFinished(iteration=state.due, attempt=state.attempt, step=name, seconds=seconds))
            return result

        return Step(
            reported,
            name=name,
            task_run_name=f"#{{state.due}} {name}",
            persist_result=True,
            result_serializer="json",
            cache_policy=CachePolicy.from_cache_key_fn(lambda run, inputs: (found := key(run, inputs)) and stored_as(found)),
        )

    return decorate


def with_retries(what: Task[P, R], retry: RetryConfig) -> Callable[P, R]:
    """The same step, retried with growing delays after transient errors."""
    retried = what.with_options(
        retries=retry.attempts,
        retry_delay_seconds=delays_of(retry) or 0,
        retry_jitter_factor=JITTER,
        retry_condition_fn=_is_world_error,
    )
    return partial(_opaquely, retried)


def again_if(unsure: bool, what: Task[P, R]) -> Callable[P, R]:
    """The same step; asked anew where its last result told nothing for sure (a timeout, a command that did not start)."""
    return partial(_opaquely, what.with_options(refresh_cache=True)) if unsure else what


def _is_world_error(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    try:
        state.result()
    except TransientError as error:
        return not isinstance(error, CallInterrupted)
    except Exception:  # noqa: BLE001 - whatever else it is, it is not transient
        return False
    return False


# --- where the engine keeps what steps returned --------------------------------------------------------------------------


def require_results(loop: str) -> bool:
    """Whether results lie in storage that other machines share. Raises TransientError where that cannot be used."""
    store = _store()
    chosen = get_current_settings().results.default_storage_block is not None
    if isinstance(store.result_storage, LocalFileSystem) and not chosen:  # the engine's last resort; a block may be a shared disk
        return False
    with _blaming_storage(loop):
        store.write(uuid4().hex, key=PROBE)
        store.read(PROBE)
    return True


def step_key(state: LoopState, step: str) -> str:
    """Under what the result of a step is kept."""
    return f"helmsman-{state.uid}-{state.due:05d}-{state.attempt}-{step}"


def is_kept(state: LoopState, step: str) -> bool:
    """Whether the result of this attempt's step is known to the engine. Raises TransientError as `require_results` does."""
    with _blaming_storage(state.loop):
        return _store().exists(stored_as(step_key(state, step)))


_version = cache(version)


def stored_as(key: str) -> str:
    """The key as the storage has it. A result names its classes, and those of another version may be elsewhere or gone."""
    return f"{key}-{_version('helmsman')}"


def _store() -> ResultStore:
    """The flow's storage, looked into: the flow's own store knows nothing of what tasks have put there."""
    return ResultStore(result_storage=get_result_store().result_storage)


@contextmanager
def _blaming_storage(loop: str) -> Generator[None]:
    try:
        yield
    except Exception as error:  # every kind of storage has errors of its own
        block = get_current_settings().results.default_storage_block
        raise TransientError(
            "the storage for the results of steps cannot be used, so a machine that takes over would repeat them",
            expected=f"to write and read {PROBE} in {block or 'the default result storage of the Prefect server'}",
            found=f"{type(error).__name__}: {error}"[:500],
            remedy="look at the storage and at the block's credentials (docs/operations.md tells how both are made); "
            f"then continue with: helmsman resume {loop}",
        ) from error
