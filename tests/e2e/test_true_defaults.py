"""Agents that get nowhere, under the settings that ship: no key is changed, so that what is measured is what a user sees."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from deployments.demo_model import Script
from helmsman.records.decision import Outcome
from helmsman.records.result import EXIT_CODES
from tests.fakes import drifting_agents, pathologies
from tests.fakes.command_line import read_object, scripted_command_line
from tests.fakes.prefect_server import PrefectServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.feature("S7", "S8")]

MAX_SECONDS = 300
AGENTS = {agent.name: agent for agent in pathologies.AGENTS}
DRIFTING_AGENTS = {agent.name: agent for agent in drifting_agents.AGENTS_OVER_TIME}
FAILING_TEST = "test_a_discount_is_subtracted"


class Case(NamedTuple):
    prepare: Callable[[Path], object]
    script: Script
    against: str
    """What the reason of the stop has to name."""
    most_calls: int


def _dishonest_case(name: str, against: str, most_calls: int = 6) -> Case:
    agent = AGENTS[name]
    return Case(partial(pathologies.repository, agent=agent), pathologies.script(agent), against, most_calls)


def _drifting_case(name: str, against: str, most_calls: int = 6) -> Case:
    agent = DRIFTING_AGENTS[name]
    return Case(partial(drifting_agents.repository, agent=agent), drifting_agents.script(agent), against, most_calls)


CASES = {
    "liar": _dishonest_case("liar", FAILING_TEST),
    "cheat": _dishonest_case("edits the check", "check.sh"),
    "stuck": _drifting_case("does nothing", FAILING_TEST),
    "drift": _drifting_case("works on something else", FAILING_TEST, 12),  # fewer would stop honest work: bench/simulate.py
}


@pytest.mark.parametrize("name", CASES)
def test_an_agent_without_progress_is_stopped_soon_with_the_failing_evidence(
    name: str, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    case = CASES[name]
    case.prepare(tmp_path / "repository")
    begun = time.monotonic()
    with scripted_command_line(tmp_path, prefect_server.url, case.script) as helmsman:
        ended = helmsman.run_loop(drifting_agents.GOAL, "--check", drifting_agents.CHECK, "--json")
        seconds = time.monotonic() - begun
    assert ended.exit_code in {EXIT_CODES[Outcome.WAITING], EXIT_CODES[Outcome.STOPPED]}, ended.errors
    result = read_object(ended.output)
    assert (result["agent_calls"] <= case.most_calls, seconds < MAX_SECONDS) == (True, True), (result, seconds)
    assert case.against in result["reason"]
    assert "circuit breaker" not in result["reason"]
