"""The sweep: crashed runs that are restarted, and runs whose worker died before it started a process."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from prefect import flow, tags
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.states import Crashed, Pending, Running

from tasks.loop.sweep import MOST_RESTARTS, RESCHEDULED, UNSTARTED_SECONDS, reschedule_unstarted, revive_crashed

LATER = timedelta(seconds=UNSTARTED_SECONDS + 60)


@pytest.fixture
def client(engine_url: str) -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as opened:
        yield opened


@pytest.fixture
def deployment(client: SyncPrefectClient) -> Iterator[UUID]:
    swept = client.create_flow_from_name("swept")
    yield client.create_deployment(flow_id=swept, name="swept")
    client.delete_flow(swept)


@flow(name="iteration")
def iteration() -> None:
    """Nothing."""


@flow(name="loop")
def loop() -> None:
    """One that finishes an iteration."""
    iteration()


@pytest.mark.feature("D3", "E3")
@pytest.mark.slow
def test_a_run_that_crashes_again_is_restarted_if_it_finished_an_iteration_in_between(
    client: SyncPrefectClient, deployment: UUID
) -> None:
    uid = f"uid:{uuid4().hex}"
    run = client.create_flow_run_from_deployment(deployment, tags=["helmsman", uid]).id

    def revived_after_a_crash() -> int:
        client.set_flow_run_state(run, Running(), force=True)
        client.set_flow_run_state(run, Crashed(), force=True)
        return len(revive_crashed(client, settled_seconds=0))

    assert revived_after_a_crash() == 1
    assert revived_after_a_crash() == 0
    with tags(uid):
        loop()
    assert len(revive_crashed(client, settled_seconds=0)) == 1
    assert revived_after_a_crash() == 0


def taken_up(client: SyncPrefectClient, run: UUID) -> None:
    """A worker takes it up: it is pending."""
    assert client.set_flow_run_state(run, Pending()).status.value == "ACCEPT"


def pending(client: SyncPrefectClient, deployment: UUID, *named: str) -> UUID:
    run = client.create_flow_run_from_deployment(deployment, tags=named).id
    taken_up(client, run)
    return run


def run_sweep(client: SyncPrefectClient, after: timedelta = LATER) -> list[str]:
    return reschedule_unstarted(client, datetime.now(UTC) + after)


def state_of(client: SyncPrefectClient, run: UUID) -> str:
    state = client.read_flow_run(run).state
    return (state.name if state else "") or ""


@pytest.mark.feature("E3")
def test_a_run_whose_worker_died_before_starting_a_process_is_rescheduled(client: SyncPrefectClient, deployment: UUID) -> None:
    ours, others = pending(client, deployment, "helmsman"), pending(client, deployment, "somebody-elses")
    assert run_sweep(client, timedelta()) == []
    assert len(run_sweep(client)) == 1
    assert (state_of(client, ours), state_of(client, others)) == (RESCHEDULED, "Pending")
    assert run_sweep(client) == []  # it waits for a worker now


def test_a_run_that_waits_for_its_container_is_not_rescheduled(client: SyncPrefectClient, deployment: UUID) -> None:
    run = pending(client, deployment, "helmsman")
    client.update_flow_run(run, infrastructure_pid="jobs:helmsman-x7")
    assert run_sweep(client) == []
    assert state_of(client, run) == "Pending"


def test_a_run_without_a_process_stays_pending_after_its_restarts_are_used_up(
    client: SyncPrefectClient, deployment: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    run = pending(client, deployment, "helmsman")
    for _ in range(MOST_RESTARTS):
        assert len(run_sweep(client)) == 1
        taken_up(client, run)
    assert run_sweep(client) == []
    assert state_of(client, run) == "Pending"
    assert f"claimed {MOST_RESTARTS + 1} times" in caplog.text
