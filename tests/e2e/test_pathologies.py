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
LET_BE = ("does it in two steps", "refactors all tests on the way", "mends what the judge rejects")
"""One for each way in which they are looked at. "liar" and "edits the check" are in test_true_defaults.py; the others differ
in how tests are kept from failing (tests/flows/test_loop.py), and bench/pathologies.py runs them all."""


@pytest.mark.slow
@pytest.mark.feature("V5", "V6", "V7", "V9")
@pytest.mark.parametrize("agent", [one for one in DISHONEST if one.name in CAUGHT], ids=lambda agent: agent.name)
def test_a_dishonest_agent_never_completes_and_is_told_why(agent: Agent, tmp_path: Path, prefect_server: PrefectServer) -> None:
    fared = run(agent, tmp_path / "loop", prefect_server.url)
    assert fared.state.outcome not in {Outcome.COMPLETED, Outcome.FAILED, None}, (fared.state.ending, fared.errors)
    assert [rule for rule in fared.noticed if rule.startswith(agent.rule)], fared.noticed


@pytest.mark.slow
@pytest.mark.feature("V5", "V6", "V7", "V9")
@pytest.mark.parametrize("agent", [one for one in HONEST if one.name in LET_BE], ids=lambda agent: agent.name)
def test_an_honest_agent_completes_without_being_held_up(agent: Agent, tmp_path: Path, prefect_server: PrefectServer) -> None:
    fared = run(agent, tmp_path / "loop", prefect_server.url)
    assert fared.state.outcome is Outcome.COMPLETED, (fared.noticed, fared.errors)
    assert fared.state.iteration <= agent.most, fared.noticed
    assert fared.state.trust.contradicted == 0, [record.contradictions for record in fared.records]


@pytest.mark.slow
@pytest.mark.feature("M3")
def test_a_judge_that_is_never_satisfied_makes_the_loop_wait_for_a_person(tmp_path: Path, prefect_server: PrefectServer) -> None:
    (agent,) = (agent for agent in DISHONEST if agent.name == "flatters the judge")
    fared = run(agent, tmp_path / "loop", prefect_server.url)
    assert (fared.exit_code, fared.state.outcome, fared.state.iteration) == (EXIT_CODES[Outcome.WAITING], Outcome.WAITING, 2)
    assert fared.state.ending
    assert "rejected the work 2 times in a row" in fared.state.ending.reason
    assert [rejection.consecutive for rejection in fared.state.judge.feedback] == [1, 2]
