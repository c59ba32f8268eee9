"""Control between iterations, seen from outside: real command line, real agent, real engine; only the model is scripted."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.pathologies import DriftingRun, run_drifting
from deployments.demo_model import Request, Turn, bash, call, say
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Outcome
from helmsman.records.result import EXIT_CODES
from tests.fakes import drifting_agents
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.drifting_agents import DRIFTING, HONEST, DriftingAgent, Session
from tests.fakes.pathologies import HALF, keep, put
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import sh

pytestmark = pytest.mark.timeout(300)  # the first test of a worker also starts the engine
WITHOUT_HOOKS = ("--set", "steering.hooks=false")
BY_NAME = {agent.name: agent for agent in drifting_agents.AGENTS_OVER_TIME}
TESTED_ELSEWHERE = {
    "tries in vain",
    "does nothing",
    "makes it worse",
    "commits a key",
    "destroys what is not its own",
    "is ordered two things at once",
    "works on something else",
    "refactors over red tests",
    "looks around first",
}
"""Agents of other tests: those below, test_true_defaults.py, tests/flows/test_contradictions.py and
tests/security/test_5_secrets.py. bench/pathologies.py runs them all."""


def run_named(name: str, tmp_path: Path, server: PrefectServer, *settings: str) -> DriftingRun:
    return run_drifting(BY_NAME[name], tmp_path / "loop", server.url, *settings)


def assert_stopped_in_time(run: DriftingRun, agent: DriftingAgent) -> None:
    assert not run.error, run.errors
    assert [rule for rule in run.acting_rules if rule.startswith(agent.rules)], run.acting_rules
    assert run.state.outcome in {Outcome.WAITING, Outcome.EJECTED}
    assert run.state.outcome
    assert run.exit_code == EXIT_CODES[run.state.outcome]


@pytest.mark.slow
@pytest.mark.feature("S4", "S5", "S8", "S11", "S13")
@pytest.mark.parametrize(
    "agent", [agent for agent in DRIFTING if agent.name not in TESTED_ELSEWHERE], ids=lambda agent: agent.name
)
def test_a_drifting_agent_is_stopped_long_before_the_limit_of_iterations(
    agent: DriftingAgent, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    assert_stopped_in_time(run_drifting(agent, tmp_path / "loop", prefect_server.url), agent)


@pytest.mark.slow
@pytest.mark.feature("S5", "S8")
@pytest.mark.parametrize("agent", [agent for agent in HONEST if agent.name not in TESTED_ELSEWHERE], ids=lambda agent: agent.name)
def test_an_honest_agent_that_seems_to_drift_completes(
    agent: DriftingAgent, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    run = run_drifting(agent, tmp_path / "loop", prefect_server.url)
    assert not run.error, run.errors
    assert run.state.outcome is Outcome.COMPLETED
    if agent.name != "breaks through once it goes another way":
        assert run.acting_rules == ()
        assert {record.oversight.ladder.rung for record in run.records} == {EscalationLevel.PATCH}


@pytest.mark.slow
@pytest.mark.feature("S4", "S5", "S8", "S14", "M9", "O6", "O8", "S2", "S18", "H4")
def test_each_escalation_level_changes_the_next_prompt_and_explain_prints_the_decision(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    agent = BY_NAME["tries in vain"]
    drifting_agents.repository(tmp_path / "repository", agent)
    models: dict[int, str] = {}
    prompts: dict[int, str] = {}

    def script(request: Request) -> Turn:
        models.setdefault(request.call, str(request.body["model"]))
        prompts.setdefault(request.call, request.prompt)
        return drifting_agents.script(agent)(request)

    with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
        setting = "ladder.redesign_model=claude-haiku-4-5"
        result = helmsman.run_loop(drifting_agents.GOAL, "--check", drifting_agents.CHECK, *WITHOUT_HOOKS, "--set", setting)
        records = helmsman.run_json("log", "loop")
        assert_explain(helmsman)
    assert result.exit_code == EXIT_CODES[Outcome.WAITING]
    assert len(records) <= agent.most
    levels = [record["moment"]["rung"] for record in records]  # on which each iteration was made
    first = {level: prompts[levels.index(level)] for level in sorted(set(levels))}
    assert sorted(first) == [EscalationLevel.PATCH, EscalationLevel.REFACTOR, EscalationLevel.REDESIGN]
    assert "Choose an approach that is neither in the commits nor in your notes." in first[EscalationLevel.REFACTOR]
    assert "note which assumption failed" in first[EscalationLevel.REDESIGN]
    models_by_level = {level: models[levels.index(level)] for level in first}
    assert "haiku" in models_by_level[EscalationLevel.REDESIGN]
    assert "haiku" not in models_by_level[EscalationLevel.PATCH] + models_by_level[EscalationLevel.REFACTOR]


def assert_explain(helmsman: ScriptedCommandLine) -> None:
    """`explain` prints the path of a decision with its numbers, and what would have changed it."""
    last = helmsman.run("explain", "loop", "--repo", helmsman.repository)
    second = helmsman.run("explain", "loop", "2", "--repo", helmsman.repository)
    missing = helmsman.run("explain", "loop", "99", "--repo", helmsman.repository)
    assert last.exit_code == 0
    for text in ("Has the escalation ladder reached a person?", "different with: ", "completion", "E-III human", "by 0."):
        assert text in last.output
    assert second.output.startswith("#2  continue (continue)")
    assert helmsman.run_json("explain", "loop")["decision"]["path"][-1]["held"]
    assert (missing.exit_code, "no finished iteration 99" in missing.errors) == (2, True)


@pytest.mark.slow
@pytest.mark.feature("S17")
def test_work_that_regresses_twice_is_rolled_back_and_the_next_prompt_says_so(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    run = run_named("makes it worse", tmp_path, prefect_server)
    assert_stopped_in_time(run, BY_NAME["makes it worse"])
    repository = tmp_path / "loop" / "repository"
    index = next(number for number, record in enumerate(run.records) if record.failed)
    failed = run.records[index].failed
    assert failed
    assert failed.back_to == run.records[0].execution.change.commit  # the first did best
    assert sh(repository, "rev-parse", failed.ref) == failed.commit
    assert run.records[index + 1].execution.change.start == failed.back_to
    assert "# The last work was rolled back" in run.prompts[index + 1]
    assert failed.commit[:12] in run.prompts[index + 1]
    assert "1 test failing, 2 passing" in run.prompts[index + 1]  # the report of the tree that it begins with


@pytest.mark.feature("S13")
def test_a_destructive_command_ends_the_session_at_once(tmp_path: Path, prefect_server: PrefectServer) -> None:
    drifting_agents.repository(tmp_path / "repository", BY_NAME["tries in vain"])
    turns = (call(bash("rm -rf .git")), call(bash("sleep 200; touch late")), say("Done."))
    with scripted_command_line(tmp_path, prefect_server.url, lambda request: turns[min(request.turn, 2)]) as helmsman:
        helmsman.run_loop(drifting_agents.GOAL, "--check", drifting_agents.CHECK, *WITHOUT_HOOKS)
        (record,) = helmsman.run_json("log", "loop")
    call_record = record["execution"]["call"]
    assert call_record["pain"] == "a destructive command ran: it removed the working tree's .git"
    assert call_record["seconds"] < 100
    assert record["checks"] is None  # pain waits for no check
    assert record["decision"]["rule"] == "pain.destructive"
    assert sh(tmp_path / "repository", "rev-parse", "helmsman/loop") == sh(tmp_path / "repository", "rev-parse", "main")


@pytest.mark.slow
@pytest.mark.feature("S13")
def test_a_new_finding_of_the_security_scan_ejects(tmp_path: Path, prefect_server: PrefectServer) -> None:
    def sarif(rules: int) -> str:
        location = {"physicalLocation": {"artifactLocation": {"uri": "shop.py"}, "region": {"startLine": 1}}}
        results: list[dict[str, Any]] = [
            {"ruleId": f"S{number}", "level": "error", "message": {"text": "weak"}, "locations": [location]}
            for number in range(rules)
        ]
        return json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "scanner"}}, "results": results}]})

    scanner = f"import pathlib; print({sarif(2)!r} if 'eval(' in pathlib.Path('shop.py').read_text() else {sarif(1)!r})"

    def behaves(number: int, _prompt: str) -> Session:
        return Session(put("shop.py", HALF + ("\n" if number == 0 else "\nprint(eval('1'))\n")) + keep(f"Step {number}"))

    agent = replace(BY_NAME["tries in vain"], behaves=behaves)
    scan = f"{shlex.quote(sys.executable)} -c {shlex.quote(scanner)}"
    run = run_drifting(agent, tmp_path / "loop", prefect_server.url, f"pain.scan={json.dumps(scan)}")
    assert run.state.ending
    assert (run.state.ending.rule, run.state.iteration) == ("pain.security", 2)
    assert not run.records[0].oversight.faults
