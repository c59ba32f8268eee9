"""Pushes and the engine: one run for each push, an event for people, and how a run ends that has nothing to do."""

import logging
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from helmsman.errors import OperatorError, WorldError
from helmsman.pushes import push_key
from helmsman.records.push import Nothing, Push

DEPLOYMENT = "on_push/on-push"
EVENT = "git.push"

_log = logging.getLogger(__name__)


def start_run(push: Push) -> str:
    """Have the deployment run for a push, and return the run's id. The same push asked for again gives the same run.

    Raises WorldError where the engine cannot be reached, OperatorError where it has no such deployment or refuses the run.
    """
    try:
        with get_client(sync_client=True) as client:
            run = _run(client, push)
            _tell(client, push, run)
    except httpx.HTTPStatusError as error:
        raise OperatorError(
            "the engine refuses to start a run for a push", found=f"{error}: {error.response.text[:500]}"
        ) from error
    except httpx.HTTPError as error:
        raise WorldError("the engine cannot be reached", found=repr(error)) from error
    return run


def _run(client: SyncPrefectClient, push: Push) -> str:
    try:
        deployment = client.read_deployment_by_name(DEPLOYMENT).id
    except ObjectNotFound as error:
        raise OperatorError(
            f"the engine has no deployment {DEPLOYMENT}", remedy="deploy it: prefect --no-prompt deploy --name on-push"
        ) from error
    run = client.create_flow_run_from_deployment(
        deployment,
        parameters={"push": push.model_dump(mode="json")},
        name=f"push {push.commit[:10]} {push.branch}",
        tags=["push"],
        idempotency_key=push_key(push),
    )
    return str(run.id)


def _tell(client: SyncPrefectClient, push: Push, run: str) -> None:
    """An event that automations and people may listen to. The run does not hang on it: an event may be lost, a run may not."""
    event = {
        "id": str(uuid5(NAMESPACE_URL, push_key(push))),
        "occurred": push.received_at.isoformat(),
        "event": EVENT,
        "resource": {"prefect.resource.id": f"helmsman.repository.{push.repository}", "prefect.resource.name": push.repository},
        "related": [{"prefect.resource.id": f"prefect.flow-run.{run}", "prefect.resource.role": "flow-run"}],
        "payload": push.model_dump(mode="json", include={"repository", "branch", "commit", "before", "source"}),
    }
    try:
        client.request("POST", "/events", json=[event])
    except (httpx.HTTPError, PrefectHTTPStatusError):
        _log.warning("the event of a push could not be sent; its run is there all the same", exc_info=True)


def nothing_to_do(nothing: Nothing) -> State[dict[str, Any]]:
    """How a run ends that starts no loop: well, and with the reason for all to see."""
    return State(type=StateType.COMPLETED, name="NothingToDo", message=nothing.reason, data=nothing.model_dump(mode="json"))
