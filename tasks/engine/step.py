"""Steps: Prefect tasks with a name, a cache key by value, a JSON result, and retries of transient errors.

A step's result is persisted under (loop, iteration, attempt, step). After a crash the same call finds it there, and only the
interrupted step runs again. The storage is PREFECT_DEFAULT_RESULT_STORAGE_BLOCK, else the server's default, else a folder of
this machine, which other machines cannot read.
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
"""Relative jitter of delays, so that many loops do not retry at once."""
PROBE = "helmsman-probe"
"""Key of the object written and read at the start of each driver of a loop with a remote; always the same one."""
P = ParamSpec("P")
R = TypeVar("R")
Key = Callable[[TaskRunContext, dict[str, Any]], str | None]
"""Computes a result's key from task run and arguments; None: not cached."""


class Step(Task[P, R]):
    """A task whose arguments Prefect does not search for futures, which took 8 ms a step for a state with its history."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _call_opaque(super().__call__, *args, **kwargs)


def _call_opaque(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return call(*(opaque(argument) for argument in args), **kwargs)


def step(key: Key) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Decorator that makes a step of a function whose second parameter is `state`."""

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        name = function.__name__

        @wraps(function)
        def reported(*args: P.args, **kwargs: P.kwargs) -> R:
            state = cast("LoopState", args[1])
            started_at = time.monotonic()
            publish(StepStarted(iteration=state.due, attempt=state.attempt, step=name))
            with redacting_errors(), raising_transient_errors():
                result = without_secrets(function(*args, **kwargs))
            seconds = time.monotonic() - started_at
            publish(StepFinished(iteration=state.due, attempt=state.attempt, step=name, seconds=seconds))
            return result

        return Step(
            reported,
            name=name,
            task_run_name=f"#{{state.due}} {name}",
            persist_result=True,
            result_serializer="json",
            cache_policy=CachePolicy.from_cache_key_fn(lambda run, inputs: (base := key(run, inputs)) and versioned_key(base)),
        )

    return decorate


def with_retries(what: Task[P, R], retry: RetryConfig) -> Callable[P, R]:
    """The step with retries and growing delays after transient errors."""
    retried = what.with_options(
        retries=retry.attempts,
        retry_delay_seconds=delays_of(retry) or 0,
        retry_jitter_factor=JITTER,
        retry_condition_fn=_is_retryable,
    )
    return partial(_call_opaque, retried)


def refreshing_if(unsure: bool, what: Task[P, R]) -> Callable[P, R]:
    """The step; if `unsure`, run it again because its last result is inconclusive (a timeout, a command that did not start)."""
    return partial(_call_opaque, what.with_options(refresh_cache=True)) if unsure else what


def _is_retryable(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    try:
        state.result()
    except TransientError as error:
        return not isinstance(error, CallInterrupted)
    except Exception:  # noqa: BLE001 - any other exception is not transient
        return False
    return False


# --- storage of step results ---------------------------------------------------------------------------------------------


def require_results(loop: str) -> bool:
    """Whether results are in storage shared with other machines. Raises TransientError if that is not usable."""
    store = _result_store()
    has_block = get_current_settings().results.default_storage_block is not None
    if isinstance(store.result_storage, LocalFileSystem) and not has_block:  # the engine's fallback; a block may be a shared disk
        return False
    with _wrapping_storage_errors(loop):
        store.write(uuid4().hex, key=PROBE)
        store.read(PROBE)
    return True


def step_key(state: LoopState, step: str) -> str:
    """Key of a step's result."""
    return f"helmsman-{state.uid}-{state.due:05d}-{state.attempt}-{step}"


def is_kept(state: LoopState, step: str) -> bool:
    """Whether the engine has the result of this attempt's step. Raises TransientError like `require_results`."""
    with _wrapping_storage_errors(state.loop):
        return _result_store().exists(versioned_key(step_key(state, step)))


_version = cache(version)


def versioned_key(key: str) -> str:
    """Key in the storage, with the version: a result names its classes, which another version may have moved or removed."""
    return f"{key}-{_version('helmsman')}"


def _result_store() -> ResultStore:
    """A new store on the flow's storage: the flow's own store does not see what tasks have written."""
    return ResultStore(result_storage=get_result_store().result_storage)


@contextmanager
def _wrapping_storage_errors(loop: str) -> Generator[None]:
    try:
        yield
    except Exception as error:  # each kind of storage has its own errors
        block = get_current_settings().results.default_storage_block
        raise TransientError(
            "the storage for the results of steps cannot be used, so a machine that takes over would repeat them",
            expected=f"to write and read {PROBE} in {block or 'the default result storage of the Prefect server'}",
            found=f"{type(error).__name__}: {error}"[:500],
            remedy="check the storage and the block's credentials (docs/operations.md describes both); "
            f"then continue with: helmsman resume {loop}",
        ) from error
