"""Doctor's findings and fixes on a Prefect server."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from deployments.deploy import CRASHED_RUN, SILENT_RUN, STALE_AFTER, server_finding
from deployments.leftovers import Finding
from tasks.loop.run import SLOTS

SLOT = f"{SLOTS}of-the-dead"
OTHER = "somebody-elses"
LATER = timedelta(minutes=1)


@pytest.fixture
def deployed(engine_url: str) -> Iterator[None]:
    """A server that has the sweep, and none of the rest."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        flow = client.create_flow_from_name("sweep")
        client.create_deployment(flow_id=flow, name="sweep")
        yield
        client.delete_flow(flow)
        for name in (CRASHED_RUN, SILENT_RUN):
            for automation in client.read_automations_by_name(name):
                client.delete_automation(automation.id)


@pytest.fixture
def slots(engine_url: str) -> Iterator[None]:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate

    with get_client(sync_client=True) as client:
        for name in (SLOT, OTHER):
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=1, active_slots=1))
        yield
        for name in (SLOT, OTHER):
            client.delete_global_concurrency_limit_by_name(name)


def found(what: str, after: timedelta = timedelta()) -> Finding:
    return server_finding(what, datetime.now(UTC) + after)


def fixed(finding: Finding) -> str:
    assert finding.fix is not None
    return finding.fix()


def test_missing_automations_are_reported_with_the_command_that_creates_them(deployed: None) -> None:
    missing = found("automations")
    assert (missing.verdict, CRASHED_RUN in missing.found, missing.fix) == ("warn", True, None)
    assert "helmsman deploy" in missing.remedy


def test_a_slot_is_freed_once_no_merge_can_hold_it_any_more(slots: None) -> None:
    from prefect.client.orchestration import get_client

    assert found("slots").verdict == "ok"
    forgotten = found("slots", STALE_AFTER + LATER)
    assert (forgotten.verdict, OTHER in forgotten.found) == ("warn", False)
    assert fixed(forgotten) == f"freed {SLOT}"
    with get_client(sync_client=True) as client:
        left = {limit.name: limit.active_slots for limit in client.read_global_concurrency_limits(limit=200)}
    assert (left[SLOT], left[OTHER]) == (0, 1)
