"""Engine runs for pushes and issues: one run and one engine event per push or issue, and the state of a short run."""

import logging
from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError

from helmsman.errors import OperatorError, TransientError
from helmsman.records.triggers import Handled, Ignored, Push
from tasks.triggers.deliveries import Event, key_of

_log = logging.getLogger(__name__)


def start_run(event: Event) -> str:
    """Start a run of the deployment for an event, and return its id. Idempotent for the same event.

    Raises TransientError where the engine cannot be reached, OperatorError where it has no such deployment or refuses the run.
    """
    if isinstance(event, Push):
        deployment, parameter, kind, tag = "on_push/on-push", "push", "git.push", "push"
        name, fields = f"push {event.commit[:10]} {event.branch}", {"repository", "branch", "commit", "before", "source"}
    else:  # without any text that a person wrote in the issue
        deployment, parameter, kind, tag = "on_issue/on-issue", "event", f"issue.{event.happened}", "issue"
        name, fields = f"issue {event.number} {event.happened}", {"repository", "number", "happened", "by", "source"}
    try:
        with get_client(sync_client=True) as client:
            run = client.create_flow_run_from_deployment(
                client.read_deployment_by_name(deployment).id,
                parameters={parameter: event.model_dump(mode="json")},
                name=name,
                tags=[tag],
                idempotency_key=key_of(event),
            )
            _emit_event(client, event, kind, str(run.id), event.model_dump(mode="json", include=fields))
            return str(run.id)
    except ObjectNotFound as error:
        name_part = deployment.partition("/")[2]
        raise OperatorError(
            f"the engine has no deployment {deployment}", remedy=f"deploy it: prefect --no-prompt deploy --name {name_part}"
        ) from error
    except httpx.HTTPStatusError as error:
        raise OperatorError(
            f"the engine refuses to start a run of {deployment}", found=f"{error}: {error.response.text[:500]}"
        ) from error
    except httpx.HTTPError as error:
        raise TransientError("the engine cannot be reached", found=repr(error)) from error


def _emit_event(client: SyncPrefectClient, event: Event, kind: str, run: str, payload: Mapping[str, Any]) -> None:
    """Emit an engine event for automations and people. The run does not depend on it: an event may be lost, a run must not."""
    body = {
        "id": str(uuid5(NAMESPACE_URL, key_of(event))),
        "occurred": event.received_at.isoformat(),
        "event": kind,
        "resource": {"prefect.resource.id": f"helmsman.repository.{event.repository}", "prefect.resource.name": event.repository},
        "related": [{"prefect.resource.id": f"prefect.flow-run.{run}", "prefect.resource.role": "flow-run"}],
        "payload": payload,
    }
    try:
        client.request("POST", "/events", json=[body])
    except (httpx.HTTPError, PrefectHTTPStatusError):
        _log.warning("the engine event of a run could not be sent; the run itself exists", exc_info=True)


def completed_without_loop(result: Ignored | Handled) -> State[dict[str, Any]]:
    """The final state of a run that runs no loop: completed, with the reason as its message."""
    name, message = ("NothingToDo", result.reason) if isinstance(result, Ignored) else ("Heeded", result.what)
    return State(type=StateType.COMPLETED, name=name, message=message, data=result.model_dump(mode="json"))
