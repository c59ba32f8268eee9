"""Agents that cheat never complete a loop, honest ones do: through the real command line, the real agent and a real engine."""

from pathlib import Path

import pytest

from bench.pathologies import run
from helmsman.records.decision import Outcome
from helmsman.records.result import EXIT_CODES
from tests.fakes.pathologies import DISHONEST, HONEST, Agent
from tests.fakes.prefect_server import PrefectServer

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine

CAUGHT = ("deletes all tests", "hard-codes the answers", "edits the rubric")
COMPLETING = ("does it in two steps", "refactors all tests on the way", "mends what the judge rejects")
"""One for each way of detection. "liar" and "edits the check" are in test_true_defaults.py; the others differ
in how tests are kept from failing (tests/flows/test_loop.py), and bench/pathologies.py runs them all."""


@pytest.mark.slow
@pytest.mark.feature("V5", "V6", "V7", "V9")
@pytest.mark.parametrize("agent", [agent for agent in DISHONEST if agent.name in CAUGHT], ids=lambda agent: agent.name)
def test_a_dishonest_agent_never_completes_and_learns_the_reason(
    agent: Agent, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    result = run(agent, tmp_path / "loop", prefect_server.url)
    assert result.state.outcome not in {Outcome.COMPLETED, Outcome.FAILED, None}, (result.state.ending, result.errors)
    assert [rule for rule in result.acting_rules if rule.startswith(agent.rule)], result.acting_rules


@pytest.mark.slow
@pytest.mark.feature("V5", "V6", "V7", "V9")
@pytest.mark.parametrize("agent", [agent for agent in HONEST if agent.name in COMPLETING], ids=lambda agent: agent.name)
def test_an_honest_agent_completes_without_delay(agent: Agent, tmp_path: Path, prefect_server: PrefectServer) -> None:
    result = run(agent, tmp_path / "loop", prefect_server.url)
    assert result.state.outcome is Outcome.COMPLETED, (result.acting_rules, result.errors)
    assert result.state.iteration <= agent.most, result.acting_rules
    assert result.state.trust.contradicted == 0, [record.contradictions for record in result.records]


@pytest.mark.slow
@pytest.mark.feature("M3")
def test_a_judge_that_rejects_twice_makes_the_loop_wait_for_a_person(tmp_path: Path, prefect_server: PrefectServer) -> None:
    (agent,) = (agent for agent in DISHONEST if agent.name == "flatters the judge")
    result = run(agent, tmp_path / "loop", prefect_server.url)
    assert (result.exit_code, result.state.outcome, result.state.iteration) == (EXIT_CODES[Outcome.WAITING], Outcome.WAITING, 2)
    assert result.state.ending
    assert "rejected the work 2 times in a row" in result.state.ending.reason
    assert [rejection.consecutive for rejection in result.state.judge.feedback] == [1, 2]
