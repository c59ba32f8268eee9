"""The sweep: crashed runs that are restarted, and runs whose worker died before it started a process."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from tasks.loop.sweep import MOST_RESTARTS, RESCHEDULED, UNSTARTED_SECONDS, reschedule_unstarted, revive_crashed


class Runs:
    """Runs of a deployment, which crash when told."""

    def __init__(self, deployment: UUID, flow: UUID) -> None:
        """Of a deployment and its flow, which are there."""
        self.deployment, self.flow, self.uid = deployment, flow, uuid4().hex

    def crashed(self, run: UUID | None = None) -> UUID:
        """A run that crashed; a new one without a number."""
        from prefect.client.orchestration import get_client
        from prefect.states import Crashed, Running

        with get_client(sync_client=True) as client:
            tags = ["helmsman", f"uid:{self.uid}"]
            number = run or client.create_flow_run_from_deployment(self.deployment, tags=tags).id
            client.set_flow_run_state(number, Running(), force=True)
            client.set_flow_run_state(number, Crashed(), force=True)
            return number

    def finish_iteration(self) -> None:
        """Of the loop that the runs drive."""
        from prefect import flow, tags

        @flow(name="iteration")
        def iteration() -> None:
            pass

        @flow(name="loop")
        def loop() -> None:
            iteration()

        with tags(f"uid:{self.uid}"):
            loop()


@pytest.fixture
def runs(engine_url: str) -> Iterator[Runs]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        flow = client.create_flow_from_name("crashes")
        yield Runs(client.create_deployment(flow_id=flow, name="crashes"), flow)
        client.delete_flow(flow)


def revived() -> int:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return len(revive_crashed(client, settled_seconds=0))


@pytest.mark.feature("D3", "E3")
@pytest.mark.slow
def test_a_run_that_crashes_again_is_restarted_if_it_finished_an_iteration_in_between(runs: Runs) -> None:
    run = runs.crashed()
    assert revived() == 1
    runs.crashed(run)
    assert revived() == 0
    runs.finish_iteration()
    assert revived() == 1
    runs.crashed(run)
    assert revived() == 0


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


def run_sweep(after: timedelta) -> list[str]:
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
def test_a_run_whose_worker_died_before_starting_a_process_is_rescheduled(taken_up: Make) -> None:
    ours, others = taken_up("helmsman"), taken_up("somebody-elses")
    assert run_sweep(timedelta()) == []
    assert len(run_sweep(LATER)) == 1
    assert (states(ours)[-1], states(others)[-1]) == (RESCHEDULED, "Pending")
    assert run_sweep(LATER) == []  # it waits for a worker now


def test_a_run_that_waits_for_its_container_is_not_rescheduled(taken_up: Make) -> None:
    run = taken_up("helmsman")
    given_container(run)
    assert run_sweep(LATER) == []
    assert states(run)[-1] == "Pending"


def test_a_run_without_a_process_stays_pending_after_its_restarts_are_used_up(
    taken_up: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = taken_up("helmsman")
    for _ in range(MOST_RESTARTS):
        assert len(run_sweep(LATER)) == 1
        is_taken_up_again(run)
    assert run_sweep(LATER) == []
    assert states(run)[-1] == "Pending"
    assert f"claimed {MOST_RESTARTS + 1} times" in caplog.text
