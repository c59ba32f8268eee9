"""Control between iterations, seen from outside: real command line, real agent, real engine; only the model is scripted."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.pathologies import Course, wander
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
ALONE = ("--set", "steering.hooks=false")
BY_NAME = {wanderer.name: wanderer for wanderer in drifting_agents.AGENTS_OVER_TIME}
SEEN_BELOW = {
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
"""Other tests see their course: those below, test_true_defaults.py, tests/flows/test_contradictions.py and
tests/security/test_5_secrets.py. bench/pathologies.py runs them all."""


def course(name: str, tmp_path: Path, server: PrefectServer, *settings: str) -> Course:
    return wander(BY_NAME[name], tmp_path / "loop", server.url, *settings)


def is_stopped_in_time(fared: Course, wanderer: DriftingAgent) -> None:
    assert not fared.wrong, fared.errors
    assert [rule for rule in fared.noticed if rule.startswith(wanderer.rules)], fared.noticed
    assert fared.state.outcome in {Outcome.WAITING, Outcome.EJECTED}
    assert fared.state.outcome
    assert fared.exit_code == EXIT_CODES[fared.state.outcome]


@pytest.mark.slow
@pytest.mark.feature("S4", "S5", "S8", "S11", "S13")
@pytest.mark.parametrize("wanderer", [one for one in DRIFTING if one.name not in SEEN_BELOW], ids=lambda wanderer: wanderer.name)
def test_an_agent_that_goes_astray_is_stopped_long_before_its_iterations_are_used_up(
    wanderer: DriftingAgent, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    is_stopped_in_time(wander(wanderer, tmp_path / "loop", prefect_server.url), wanderer)


@pytest.mark.slow
@pytest.mark.feature("S5", "S8")
@pytest.mark.parametrize("wanderer", [one for one in HONEST if one.name not in SEEN_BELOW], ids=lambda wanderer: wanderer.name)
def test_an_honest_agent_that_looks_astray_comes_to_its_end(
    wanderer: DriftingAgent, tmp_path: Path, prefect_server: PrefectServer
) -> None:
    fared = wander(wanderer, tmp_path / "loop", prefect_server.url)
    assert not fared.wrong, fared.errors
    assert fared.state.outcome is Outcome.COMPLETED
    if wanderer.name != "breaks through once it goes another way":
        assert fared.noticed == ()
        assert {record.oversight.ladder.rung for record in fared.records} == {EscalationLevel.PATCH}


@pytest.mark.slow
@pytest.mark.feature("S4", "S5", "S8", "S14", "M9", "O6", "O8", "S2", "S18", "H4")
def test_each_rung_makes_the_next_iteration_another_one_until_a_person_is_asked_and_explain_prints_the_way(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    wanderer = BY_NAME["tries in vain"]
    drifting_agents.repository(tmp_path / "repository", wanderer)
    models: dict[int, str] = {}
    prompts: dict[int, str] = {}

    def script(request: Request) -> Turn:
        models.setdefault(request.call, str(request.body["model"]))
        prompts.setdefault(request.call, request.prompt)
        return drifting_agents.script(wanderer)(request)

    with scripted_command_line(tmp_path, prefect_server.url, script) as helmsman:
        redesigns = "ladder.redesign_model=claude-haiku-4-5"
        asked_for = helmsman.run_loop(drifting_agents.GOAL, "--check", drifting_agents.CHECK, *ALONE, "--set", redesigns)
        records = helmsman.run_json("log", "loop")
        explains(helmsman)
    assert asked_for.exit_code == EXIT_CODES[Outcome.WAITING]
    assert len(records) <= wanderer.most
    rungs = [record["moment"]["rung"] for record in records]  # on which each iteration was made
    first = {rung: prompts[rungs.index(rung)] for rung in sorted(set(rungs))}
    assert sorted(first) == [EscalationLevel.PATCH, EscalationLevel.REFACTOR, EscalationLevel.REDESIGN]
    assert "Choose an approach that is neither in the commits nor in your notes." in first[EscalationLevel.REFACTOR]
    assert "note which assumption failed" in first[EscalationLevel.REDESIGN]
    asked = {rung: models[rungs.index(rung)] for rung in first}
    assert "haiku" in asked[EscalationLevel.REDESIGN]
    assert "haiku" not in asked[EscalationLevel.PATCH] + asked[EscalationLevel.REFACTOR]


def explains(helmsman: ScriptedCommandLine) -> None:
    """The way of a decision with its numbers, and what would have changed it."""
    last = helmsman.run("explain", "loop", "--repo", helmsman.repository)
    second = helmsman.run("explain", "loop", "2", "--repo", helmsman.repository)
    missing = helmsman.run("explain", "loop", "99", "--repo", helmsman.repository)
    assert last.exit_code == 0
    for words in ("Has the escalation ladder reached a person?", "different with: ", "completion", "E-III human", "by 0."):
        assert words in last.output
    assert second.output.startswith("#2  continue (continue)")
    assert helmsman.run_json("explain", "loop")["decision"]["path"][-1]["held"]
    assert (missing.exit_code, "no finished iteration 99" in missing.errors) == (2, True)


@pytest.mark.slow
@pytest.mark.feature("S17")
def test_work_that_falls_twice_goes_to_a_ref_and_the_next_iteration_hears_of_it(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    fared = course("makes it worse", tmp_path, prefect_server)
    is_stopped_in_time(fared, BY_NAME["makes it worse"])
    place = tmp_path / "loop" / "repository"
    rolled = next(number for number, record in enumerate(fared.records) if record.failed)
    failed = fared.records[rolled].failed
    assert failed
    assert failed.back_to == fared.records[0].execution.change.commit  # the first did best
    assert sh(place, "rev-parse", failed.ref) == failed.commit
    assert fared.records[rolled + 1].execution.change.start == failed.back_to
    assert "# The last work was rolled back" in fared.prompts[rolled + 1]
    assert failed.commit[:12] in fared.prompts[rolled + 1]
    assert "1 test failing, 2 passing" in fared.prompts[rolled + 1]  # the report of the tree that it begins with


@pytest.mark.feature("S13")
def test_a_destructive_command_ends_the_session_in_its_midst(tmp_path: Path, prefect_server: PrefectServer) -> None:
    drifting_agents.repository(tmp_path / "repository", BY_NAME["tries in vain"])
    turns = (call(bash("rm -rf .git")), call(bash("sleep 200; touch late")), say("Done."))
    with scripted_command_line(tmp_path, prefect_server.url, lambda request: turns[min(request.turn, 2)]) as helmsman:
        helmsman.run_loop(drifting_agents.GOAL, "--check", drifting_agents.CHECK, *ALONE)
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
        place = {"physicalLocation": {"artifactLocation": {"uri": "shop.py"}, "region": {"startLine": 1}}}
        found: list[dict[str, Any]] = [
            {"ruleId": f"S{number}", "level": "error", "message": {"text": "weak"}, "locations": [place]}
            for number in range(rules)
        ]
        return json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "scanner"}}, "results": found}]})

    scanner = f"import pathlib; print({sarif(2)!r} if 'eval(' in pathlib.Path('shop.py').read_text() else {sarif(1)!r})"

    def behaves(number: int, _prompt: str) -> Session:
        return Session(put("shop.py", HALF + ("\n" if number == 0 else "\nprint(eval('1'))\n")) + keep(f"Step {number}"))

    weak = replace(BY_NAME["tries in vain"], behaves=behaves)
    scan = f"{shlex.quote(sys.executable)} -c {shlex.quote(scanner)}"
    fared = wander(weak, tmp_path / "loop", prefect_server.url, f"pain.scan={json.dumps(scan)}")
    assert fared.state.ending
    assert (fared.state.ending.rule, fared.state.iteration) == ("pain.security", 2)
    assert not fared.records[0].oversight.faults
