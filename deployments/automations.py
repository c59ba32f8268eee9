"""What the engine itself does for runs under a worker: declared here, created by `helmsman deploy`, known by their names.

Decision 012 says why they are as they are, and what "once" rests on: the sweep decides.
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
CRASHED_RUN = "helmsman: after a crash the sweep looks whether the run may go on"

OURS_UNDER_A_WORKER = [
    {"prefect.resource.id": "prefect.tag.helmsman"},
    {"prefect.resource.role": "deployment"},
]
"""Whatever else runs on the same server is left alone; so is a run that no worker could start again."""


def automations(
    sweep: UUID, silence_seconds: float = SILENCE_SECONDS, settled_seconds: float = SETTLED_SECONDS
) -> tuple[AutomationCore, ...]:
    """All that belong to Helmsman; `sweep` is the deployment of that name."""
    return silent_run_crashes(silence_seconds), crashed_run_is_looked_at(sweep, settled_seconds)


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
        "A run's first crash is followed by another attempt, from the loop's state in git. A second one is not.",
        {"posture": Posture.Reactive, "expect": ["prefect.flow-run.Crashed"]},
        {
            "type": "run-deployment",
            "source": "selected",
            "deployment_id": str(sweep),
            "parameters": {"settled_seconds": settled_seconds},
            "schedule_after": settled_seconds + MARGIN_SECONDS,
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
