"""Runs that a worker took up and died with, before a process of theirs was there."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tasks.loop.sweep import MOST_RESTARTS, RESCHEDULED, UNSTARTED_SECONDS, reschedule_unstarted

LATER = timedelta(seconds=UNSTARTED_SECONDS + 60)
Make = Callable[..., UUID]


@pytest.fixture
def taken_up(engine_url: str) -> Iterator[Make]:
    """A run of a deployment that a worker has taken up: it is pending."""
    from prefect.client.orchestration import get_client
    from prefect.states import Pending

    with get_client(sync_client=True) as client:
        flow = client.create_flow_from_name("taken-up")
        deployment = client.create_deployment(flow_id=flow, name="taken-up")

        def make(*tags: str) -> UUID:
            run = client.create_flow_run_from_deployment(deployment, tags=tags)
            assert client.set_flow_run_state(run.id, Pending()).status.value == "ACCEPT"
            return run.id

        yield make
        client.delete_flow(flow)


def swept(after: timedelta) -> list[str]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return reschedule_unstarted(client, datetime.now(UTC) + after)


def states(run: UUID) -> list[str]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return [state.name or "" for state in sorted(client.read_flow_run_states(run), key=lambda state: state.timestamp)]


def is_taken_up_again(run: UUID) -> None:
    from prefect.client.orchestration import get_client
    from prefect.states import Pending

    with get_client(sync_client=True) as client:
        assert client.set_flow_run_state(run, Pending()).status.value == "ACCEPT"


def given_container(run: UUID) -> None:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        client.update_flow_run(run, infrastructure_pid="jobs:helmsman-x7")


@pytest.mark.feature("E3")
def test_a_run_whose_worker_died_before_a_process_was_there_is_taken_up_anew_after_a_while(taken_up: Make) -> None:
    ours, others = taken_up("helmsman"), taken_up("somebody-elses")
    assert swept(timedelta()) == []
    assert len(swept(LATER)) == 1
    assert (states(ours)[-1], states(others)[-1]) == (RESCHEDULED, "Pending")
    assert swept(LATER) == []  # it waits for a worker now


def test_a_run_that_waits_for_its_container_is_left_to_wait(taken_up: Make) -> None:
    run = taken_up("helmsman")
    given_container(run)
    assert swept(LATER) == []
    assert states(run)[-1] == "Pending"


def test_a_run_that_never_gets_a_process_is_left_to_a_person_after_some_times(
    taken_up: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = taken_up("helmsman")
    for _ in range(MOST_RESTARTS):
        assert len(swept(LATER)) == 1
        is_taken_up_again(run)
    assert swept(LATER) == []
    assert states(run)[-1] == "Pending"
    assert f"claimed {MOST_RESTARTS + 1} times" in caplog.text
