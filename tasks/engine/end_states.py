"""How a flow run ends in the engine: as a state that says why and what comes next, without a traceback."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, NoReturn, ParamSpec, cast

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import Pause
from prefect.states import Scheduled

from helmsman.errors import Cancelled, HelmsmanError
from tasks.engine.runs import is_under_a_worker, run_id
from tasks.system.secrets import redacting_errors

P = ParamSpec("P")


class EndState(State[dict[str, Any]]):
    """The end of a run that decided to end so.

    Prefect raises at the end of a run whose state is failed or cancelled, and its log closes with a screenful of traceback. That
    is right for a fault; a limit that is reached or a person's stop is none.
    """

    def result(self, raise_on_failure: bool = True, retry_result_failure: bool = True, **_: Any) -> Any:  # noqa: ARG002 - as Prefect calls it
        """What the run came to; nothing is raised."""
        return cast("Any", super()).result(raise_on_failure=False, _sync=True)


SLEEPING = "Sleeping"


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
