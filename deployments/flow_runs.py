"""Runs of flows in this process."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def result_or_raise(final: Any) -> Any:
    """What a flow returned. Raises what broke it before it could write its end, or behind that."""
    if isinstance(result := final.result(raise_on_failure=False), BaseException):
        raise result
    return result


@contextmanager
def engine_here() -> Generator[Callable[[str, Any], Any]]:
    """Runs flows of ours in this process, by their names. The engine comes up while Prefect is being imported."""
    from tasks.engine.embedded import engine

    with engine() as engine_is_up:

        def run(name: str, request: Any) -> Any:
            flow = getattr(import_module(f"flows.{name}"), name)
            from tasks.engine.runs import flush

            engine_is_up()
            final = flow(request, return_state=True)
            flush()
            return final

        yield run
