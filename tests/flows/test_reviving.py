"""Which crashed runs go on by themselves: bounded by what they get done in between."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from tasks.loop.sweep import revive_crashed

pytestmark = pytest.mark.feature("D3", "E3")


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


@pytest.mark.slow
def test_a_run_that_crashes_again_goes_on_if_it_finished_an_iteration_in_between(runs: Runs) -> None:
    run = runs.crashed()
    assert revived() == 1
    runs.crashed(run)
    assert revived() == 0
    runs.finish_iteration()
    assert revived() == 1
    runs.crashed(run)
    assert revived() == 0
