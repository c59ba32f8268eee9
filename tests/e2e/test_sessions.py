"""Sessions of the real command line over several iterations: what its model is sent, and what the loop is charged."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Request, Script, Turn, bash, by_call, call, say
from helmsman.records.agent import AgentCall
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_records, show_state
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("E2")]  # the first test of a worker also starts the engine

TOKENS = 120
"""Of a message of the scripted model that does not say otherwise."""


@dataclass(frozen=True)
class Driven:
    """A loop at its end."""

    state: LoopState
    records: tuple[IterationRecord, ...]
    requests: list[Request]
    calls: Path
    """Folder of the folders of its calls."""

    @property
    def agents(self) -> list[AgentCall]:
        return [record.execution.call for record in self.records]

    @property
    def resumed(self) -> list[bool]:
        return [agent.resumed for agent in self.agents]

    def said_to(self, number: int) -> str:
        """All messages of a request."""
        return json.dumps(self.requests[number].body["messages"])

    def result(self, iteration: int) -> dict[str, Any]:
        """The command line's own words at the end of a call."""
        with gzip.open(self.calls / f"{iteration:05d}-1" / "transcript.jsonl.gz") as lines:
            return [event for event in map(json.loads, lines) if event["type"] == "result"][-1]


Drive = Callable[..., Driven]


@pytest.fixture
def drive(tmp_path: Path, prefect_server: PrefectServer) -> Drive:
    """Drive a loop to its limit of three iterations. Its checks pass, and run at its end only."""

    def run(script: Script, *settings: str) -> Driven:
        make_repository(tmp_path / "repository", {})
        with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
            named = [part for setting in ("steering.stop_seconds=0", *settings) for part in ("--set", setting)]
            told = helmsman.run_loop("g", "--check", "true", "--max-iterations", "3", "--json", *named)
            assert told.exit_code == 3, told.errors
            repository = open_repository(helmsman.repository)
            records = tuple(read_records(repository, "loop"))[::-1]
            calls = loop_folder(repository, "loop").root / "calls"
            return Driven(show_state(repository, "loop").state, records, helmsman.model.requests, calls)

    return run


def works(number: int) -> list[Turn]:
    """The turns of an iteration that changes the tree."""
    return [call(bash(f"echo {number} > f{number}")), say(f"Step {number} is done.")]


THREE = [*works(1), *works(2), *works(3)]


@pytest.mark.slow
@pytest.mark.feature("E6")
def test_a_resumed_session_is_one_conversation_over_all_iterations_and_is_charged_once(drive: Drive) -> None:
    driven = drive(by_call([THREE]), "claude.session=resume")
    assert driven.resumed == [False, True, True]
    assert len({agent.session_id for agent in driven.agents}) == 1
    assert [request.turn for request in driven.requests] == list(range(6))
    assert "Step 1 is done." in driven.said_to(2)
    assert "Step 2 is done." in driven.said_to(4)
    assert driven.state.session
    assert (driven.state.session.id, driven.state.session.calls) == (driven.agents[0].session_id, 3)
    in_all = driven.result(3)
    assert in_all["total_cost_usd"] > 2.9 * driven.agents[0].usage.cost_usd  # the account goes on over all calls
    assert driven.state.spending.cost_usd == pytest.approx(in_all["total_cost_usd"])
    assert driven.state.spending.tokens == len(driven.requests) * TOKENS
    assert [agent.usage.tokens for agent in driven.agents] == [2 * TOKENS] * 3
    assert {round(agent.usage.cost_usd, 9) for agent in driven.agents} == {round(in_all["total_cost_usd"] / 3, 9)}
