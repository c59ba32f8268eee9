"""The engine's slot for those who merge, on a server like a team's: it comes back from a holder that died."""

import json
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from tasks.loop.run import LEASE_SECONDS, hold_slot
from tests.fakes.prefect_server import TEAM_SERVER, PrefectServer

pytestmark = [pytest.mark.feature("M4"), pytest.mark.timeout(200)]

SLOT = "helmsman-merge-project"
ON_DISK = {
    **TEAM_SERVER,
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    "PREFECT_SERVER_SERVICES_REPOSSESSOR_LOOP_SECONDS": "0.2",
}
"""Where a test can see and age its leases."""


def take(held: ExitStack) -> None:
    hold_slot(held, SLOT, time.monotonic() + 60, lambda: False)


def slots_taken() -> int:
    with get_client(sync_client=True) as client:
        return client.read_global_concurrency_limit_by_name(SLOT).active_slots


def expiries(leases: Path) -> dict[str, str]:
    return json.loads((leases / "expirations.json").read_text())


def die_holding_it() -> None:
    """Take it as the engine's client does, and never say a word again."""
    with get_client(sync_client=True) as client:
        client.increment_concurrency_slots_with_lease(names=[SLOT], slots=1, mode="concurrency", lease_duration=LEASE_SECONDS)


def age(leases: Path) -> None:
    """As if nothing had been heard of their holders for longer than a lease."""
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    for lease in expiries(leases):
        path = leases / f"{lease}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "expiration": past}))
    (leases / "expirations.json").write_text(json.dumps(dict.fromkeys(expiries(leases), past)))


@pytest.mark.slow
def test_who_died_holding_the_slot_keeps_it_from_others_only_for_as_long_as_its_lease(tmp_path: Path) -> None:
    leases = tmp_path / "prefect" / "concurrency_leases"
    with PrefectServer.running(tmp_path, ON_DISK) as server, temporary_settings({PREFECT_API_URL: server.url}):
        with ExitStack() as held:
            take(held)
            (expiry,) = expiries(leases).values()
            assert datetime.fromisoformat(expiry) - datetime.now(UTC) <= timedelta(seconds=LEASE_SECONDS)
        assert slots_taken() == 0
        die_holding_it()
        assert slots_taken() == 1
        age(leases)
        with ExitStack() as held:
            take(held)
            (lease,) = expiries(leases)
            assert (slots_taken(), json.loads((leases / f"{lease}.json").read_text())["metadata"]["slots"]) == (1, 1)
        assert slots_taken() == 0
