"""What the engine itself does for runs under a worker: declared here, created by `helmsman deploy`, known by their names.

Decision 012 says why they are as they are, and how often a run goes on: the sweep decides.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events import Automation
from prefect.events.schemas.automations import AutomationCore, Posture

from tasks.loops.reviving import SETTLED_SECONDS

SILENCE_SECONDS = 90.0
"""Three heartbeats of a run under a worker: prefect.yaml has them sent every 30 s, the shortest that Prefect knows."""

MARGIN_SECONDS = 2.0
"""By which a sweep comes after a crash is settled, not just before."""

SILENT_RUN = "helmsman: a run that is silent has crashed"
CANCELLED_RUN = "helmsman: a run that was cancelled says how to go on"
LINK = "{{ ': ' ~ (flow_run|ui_url) if flow_run|ui_url else '.' }}"
"""The server knows its own address only where PREFECT_UI_URL is set."""
ASKS_A_PERSON = "helmsman: a loop asks a person"
CRASHED_RUN = "helmsman: after a crash the sweep looks whether the run may go on"

OURS_UNDER_A_WORKER = [
    {"prefect.resource.id": "prefect.tag.helmsman"},
    {"prefect.resource.role": "deployment"},
]
"""Whatever else runs on the same server is left alone; so is a run that no worker could start again."""


def automations(
    sweep: UUID,
    silence_seconds: float = SILENCE_SECONDS,
    settled_seconds: float = SETTLED_SECONDS,
    notify: UUID | None = None,
) -> tuple[AutomationCore, ...]:
    """All that belong to Helmsman; `sweep` is the deployment of that name, `notify` a notification block of the server."""
    return (
        silent_run_crashes(silence_seconds),
        crashed_run_is_looked_at(sweep, settled_seconds),
        cancelled_run_says_how_to_go_on(),
        *([asks_a_person(notify)] if notify else ()),
    )


def silent_run_crashes(silence_seconds: float) -> AutomationCore:
    """Nobody reports a run whose worker died with it. Its heartbeats end or never begin, and nothing else happens to it."""
    return _automation(
        SILENT_RUN,
        "Worker and process died, or their machine: the run would show as running for ever.",
        {
            "posture": Posture.Proactive,
            "after": ["prefect.flow-run.heartbeat", "prefect.flow-run.Running"],
            "expect": ["prefect.flow-run.*"],  # whatever else is heard of a run will do: that it was suspended, say
            "within": silence_seconds,
        },
        {
            "type": "change-flow-run-state",
            "state": StateType.CRASHED,
            "message": f"Nothing was heard of its process for {silence_seconds:g} s.",
        },
    )


def crashed_run_is_looked_at(sweep: UUID, settled_seconds: float) -> AutomationCore:
    """The sweep comes by itself every two minutes; this has it come as soon as the crash is settled."""
    return _automation(
        CRASHED_RUN,
        "A run that crashed goes on from the loop's state in git, unless it crashed before without a finished iteration since.",
        {"posture": Posture.Reactive, "expect": ["prefect.flow-run.Crashed"]},
        {
            "type": "run-deployment",
            "source": "selected",
            "deployment_id": str(sweep),
            "parameters": {"settled_seconds": settled_seconds},
            "schedule_after": settled_seconds + MARGIN_SECONDS,
        },
    )


def cancelled_run_says_how_to_go_on() -> AutomationCore:
    """A worker writes "Flow run was cancelled successfully." over what the run itself said, after its process has ended.

    The name is another one than the event that is waited for, or this would answer itself for ever.
    """
    return _automation(
        CANCELLED_RUN,
        "Work and state of a cancelled loop are kept; the run's page is where a person looks for the way on.",
        {"posture": Posture.Reactive, "expect": ["prefect.flow-run.Cancelled"]},
        {
            "type": "change-flow-run-state",
            "name": "Stopped by a person",
            "state": StateType.CANCELLED,
            "message": "Cancelled; its work is kept. Retry this run to go on with it, or start a new one that names the loop.",
            "force": True,
        },
    )


def asks_a_person(block: UUID) -> AutomationCore:
    """Send each question of a loop under a worker to a notification block: chat, mail or a webhook."""
    return _automation(
        ASKS_A_PERSON,
        "A loop waits for an answer; it is given by Resume in the menu of the run's page.",
        {"posture": Posture.Reactive, "expect": ["prefect.flow-run.Suspended"]},
        {
            "type": "send-notification",
            "block_document_id": str(block),
            "subject": "Helmsman: {{ flow_run.name }} asks a person",
            "body": "{{ flow_run.state.message }}\nAnswer by Resume in the menu of the run's page" + LINK,
        },
    )


def declare(client: SyncPrefectClient, wanted: Iterable[AutomationCore]) -> None:
    """Have exactly these under their names. One that is as it should be is not touched: a changed one begins its waits anew."""
    for automation in wanted:
        found = client.read_automations_by_name(automation.name)
        for surplus in found[1:]:
            client.delete_automation(surplus.id)
        if not found:
            client.create_automation(automation)
        elif _meaning(found[0]) != _meaning(automation):
            client.update_automation(found[0].id, automation.model_copy(update={"enabled": found[0].enabled}))


def _automation(name: str, description: str, when: Mapping[str, Any], then: Mapping[str, Any]) -> AutomationCore:
    """One trigger, counted for each run by itself, and one thing that is done."""
    runs = {"match": {"prefect.resource.id": "prefect.flow-run.*"}, "for_each": ["prefect.resource.id"], "threshold": 1}
    trigger = {"type": "event", **runs, "match_related": OURS_UNDER_A_WORKER, **when}
    return AutomationCore.model_validate({"name": name, "description": description, "trigger": trigger, "actions": [then]})


def _meaning(automation: AutomationCore | Automation) -> dict[str, Any]:
    """What it does; whether it is switched on is the operator's choice."""
    return automation.model_dump(include={"description", "trigger", "actions"})
