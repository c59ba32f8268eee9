"""A function as a step: a Prefect task with a name, a key by value, a JSON result, and retries of transient errors.

A step's result is persisted under (loop, iteration, attempt, step). After a crash the same call finds it there, and only the
step that was in flight is done again.
"""

import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.utilities.annotations import opaque

from helmsman.config import RetryConfig
from helmsman.errors import CallInterrupted, TransientError
from helmsman.records.events import StepFinished, StepStarted
from helmsman.records.state import LoopState
from tasks.engine.results import stored_as
from tasks.system.faults import delays_of, raising_transient_errors
from tasks.system.journal import publish
from tasks.system.secrets import redacting_errors, without_secrets

JITTER = 0.3
"""Share by which delays vary, so that many loops do not return at once."""
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
