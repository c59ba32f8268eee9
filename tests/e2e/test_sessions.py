"""Sessions of the real command line over several iterations: what its model is sent, and what the loop is charged."""

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Request, Script, Turn, bash, by_call, call, say
from helmsman.records.evidence import AgentCall, AgentOutcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tasks.places import loop_folder
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_records, show_state
from tests.fakes.command_line import driving, make_repository
from tests.fakes.prefect_server import PrefectServer

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

    def run(script: Script, *settings: str, check: str = "true", subscribed: bool = False) -> Driven:
        make_repository(tmp_path / "repository")
        with driving(tmp_path, prefect_server.url, script) as made:
            helmsman = replace(made, variables=with_subscription(made.variables)) if subscribed else made
            named = [part for setting in ("steering.stop_seconds=0", *settings) for part in ("--set", setting)]
            told = helmsman.run_loop("g", "--check", check, "--max-iterations", "3", "--json", *named)
            assert told.exit_code == 3, told.errors
            repository = open_repository(helmsman.repository)
            records = tuple(read_records(repository, "loop"))[::-1]
            calls = loop_folder(repository, "loop").root / "calls"
            return Driven(show_state(repository, "loop").state, records, helmsman.model.requests, calls)

    return run


def with_subscription(variables: Any) -> dict[str, str]:
    """Only those who pay for a time, not for tokens, have a window that is used up."""
    own = {name: value for name, value in variables.items() if name != "ANTHROPIC_API_KEY"}
    return {**own, "CLAUDE_CODE_OAUTH_TOKEN": "dummy"}


def works(number: int) -> list[Turn]:
    """The turns of an iteration that changes the tree."""
    return [call(bash(f"echo {number} > f{number}")), say(f"Step {number} is done.")]


THREE = [*works(1), *works(2), *works(3)]


@pytest.mark.slow
def test_without_a_word_every_iteration_begins_with_an_empty_context(drive: Drive) -> None:
    driven = drive(by_call([works(1), works(2), works(3)]))
    assert driven.resumed == [False] * 3
    assert len({agent.session_id for agent in driven.agents}) == 3
    assert "Step 1 is done." not in driven.said_to(2)
    assert driven.state.session is None


@pytest.mark.slow
def test_a_resumed_session_is_one_conversation_over_all_iterations(drive: Drive) -> None:
    driven = drive(by_call([THREE]), "claude.session=resume")
    assert driven.resumed == [False, True, True]
    assert len({agent.session_id for agent in driven.agents}) == 1
    assert [request.turn for request in driven.requests] == list(range(6))
    assert "Step 1 is done." in driven.said_to(2)
    assert "Step 2 is done." in driven.said_to(4)
    assert driven.state.session
    assert (driven.state.session.id, driven.state.session.calls) == (driven.agents[0].session_id, 3)


@pytest.mark.slow
@pytest.mark.feature("E2", "E6")
def test_a_resumed_session_is_charged_once(drive: Drive) -> None:
    driven = drive(by_call([THREE]), "claude.session=resume")
    in_all = driven.result(3)
    assert in_all["total_cost_usd"] > 2.9 * driven.agents[0].usage.cost_usd  # the account goes on over all calls
    assert driven.state.spending.cost_usd == pytest.approx(in_all["total_cost_usd"])
    assert driven.state.spending.tokens == len(driven.requests) * TOKENS
    assert [agent.usage.tokens for agent in driven.agents] == [2 * TOKENS] * 3
    assert {round(agent.usage.cost_usd, 9) for agent in driven.agents} == {round(in_all["total_cost_usd"] / 3, 9)}


@pytest.mark.slow
def test_a_session_that_is_not_known_any_more_is_replaced_within_the_same_iteration(drive: Drive, tmp_path: Path) -> None:
    forget = f"rm -rf {tmp_path}/home/.claude/projects"  # a check has a home of its own
    driven = drive(by_call([works(1), works(2), works(3)]), "claude.session=resume", check=forget)
    assert [(record.iteration, record.attempt) for record in driven.records] == [(1, 1), (2, 1), (3, 1)]
    assert [agent.outcome for agent in driven.agents] == [AgentOutcome.FINISHED] * 3
    assert driven.resumed == [False] * 3
    assert (driven.state.spending.agent_calls, driven.state.failed_calls) == (3, 0)
    asked = (driven.calls / "00002-1" / "transcript.failed.jsonl").read_text()
    assert f"No conversation found with session ID: {driven.agents[0].session_id}" in asked


@pytest.mark.slow
@pytest.mark.feature("E2", "S9")
def test_a_full_context_is_left(drive: Drive) -> None:
    full = Turn(text="Step 1 is done.", usage={"input_tokens": 900})
    driven = drive(by_call([[full], [*works(2), *works(3)]]), "claude.session=resume", "context.window=1000")
    assert driven.resumed == [False, False, True]
    assert "Step 1 is done." not in driven.said_to(1)


@pytest.mark.slow
def test_hybrid_goes_on_where_the_last_iteration_changed_something_and_begins_anew_where_not(drive: Drive) -> None:
    first = [*works(1), say("I see nothing to do.")]
    driven = drive(by_call([first, works(3)]), "claude.session=hybrid")
    assert driven.resumed == [False, True, False]
    assert driven.records[1].execution.change.files_changed == 0
    assert "I see nothing to do." not in driven.said_to(3)


@pytest.mark.slow
@pytest.mark.feature("E2", "E7")
def test_a_session_that_a_usage_limit_cut_off_goes_on_after_the_reset(drive: Drive) -> None:
    begun = call(bash("echo half > f2"))
    usual = by_call([[*works(1), begun, say("is never said"), *works(2), *works(3)]])

    def script(request: Request) -> Turn:
        return limited(seconds=3) if request.turn == 3 else usual(request)

    driven = drive(script, "claude.session=hybrid", "usage_limit.margin_seconds=0", subscribed=True)
    assert driven.agents[1].outcome is AgentOutcome.USAGE_LIMIT
    assert [(record.iteration, record.attempt) for record in driven.records] == [(1, 1), (2, 1), (2, 2), (3, 1)]
    assert driven.resumed == [False, True, True, True]
    assert "echo half > f2" in driven.said_to(4)
    assert driven.state.spending.cost_usd == pytest.approx(driven.result(3)["total_cost_usd"])


def limited(seconds: int) -> Turn:
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(int(time.time()) + seconds),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    return Turn(status=429, error_message="limit", headers=headers)
