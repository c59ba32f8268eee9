"""Pushes and issues, and the engine: one run for each event, one of the engine's own for people, and how a short run ends."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from helmsman.errors import OperatorError, WorldError
from helmsman.records.issue_event import Heeded
from helmsman.records.push import Nothing, Push
from tasks.triggers.deliveries import Event, key_of

_log = logging.getLogger(__name__)


class _Order(NamedTuple):
    """What the engine is asked for."""

    deployment: str
    parameter: str
    name: str
    tag: str
    event: str
    """How the engine's event for people is called."""
    told: Mapping[str, Any]
    """Its payload; of an issue, nothing that anybody wrote."""


def start_run(event: Event) -> str:
    """Have the deployment run for an event, and return the run's id. The same event asked for again gives the same run.

    Raises WorldError where the engine cannot be reached, OperatorError where it has no such deployment or refuses the run.
    """
    order = _order(event)
    try:
        with get_client(sync_client=True) as client:
            run = _run(client, event, order)
            _tell(client, event, order, run)
    except httpx.HTTPStatusError as error:
        raise OperatorError(
            f"the engine refuses to start a run of {order.deployment}", found=f"{error}: {error.response.text[:500]}"
        ) from error
    except httpx.HTTPError as error:
        raise WorldError("the engine cannot be reached", found=repr(error)) from error
    return run


def _order(event: Event) -> _Order:
    if isinstance(event, Push):
        told = event.model_dump(mode="json", include={"repository", "branch", "commit", "before", "source"})
        return _Order("on_push/on-push", "push", f"push {event.commit[:10]} {event.branch}", "push", "git.push", told)
    told = event.model_dump(mode="json", include={"repository", "number", "happened", "by", "source"})
    name = f"issue {event.number} {event.happened}"
    return _Order("on_issue/on-issue", "event", name, "issue", f"issue.{event.happened}", told)


def _run(client: SyncPrefectClient, event: Event, order: _Order) -> str:
    try:
        deployment = client.read_deployment_by_name(order.deployment).id
    except ObjectNotFound as error:
        name = order.deployment.partition("/")[2]
        raise OperatorError(
            f"the engine has no deployment {order.deployment}", remedy=f"deploy it: prefect --no-prompt deploy --name {name}"
        ) from error
    run = client.create_flow_run_from_deployment(
        deployment,
        parameters={order.parameter: event.model_dump(mode="json")},
        name=order.name,
        tags=[order.tag],
        idempotency_key=key_of(event),
    )
    return str(run.id)


def _tell(client: SyncPrefectClient, event: Event, order: _Order, run: str) -> None:
    """An event that automations and people may listen to. The run does not hang on it: an event may be lost, a run may not."""
    told = {
        "id": str(uuid5(NAMESPACE_URL, key_of(event))),
        "occurred": event.received_at.isoformat(),
        "event": order.event,
        "resource": {"prefect.resource.id": f"helmsman.repository.{event.repository}", "prefect.resource.name": event.repository},
        "related": [{"prefect.resource.id": f"prefect.flow-run.{run}", "prefect.resource.role": "flow-run"}],
        "payload": dict(order.told),
    }
    try:
        client.request("POST", "/events", json=[told])
    except (httpx.HTTPError, PrefectHTTPStatusError):
        _log.warning("the event of a run could not be sent; the run is there all the same", exc_info=True)


def nothing_to_do(found: Nothing | Heeded) -> State[dict[str, Any]]:
    """How a run ends that drives no loop: well, and with the reason for all to see."""
    name, message = ("NothingToDo", found.reason) if isinstance(found, Nothing) else ("Heeded", found.what)
    return State(type=StateType.COMPLETED, name=name, message=message, data=found.model_dump(mode="json"))
