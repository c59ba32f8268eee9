"""Questions outlive what asks them: the process, the engine; and they are answered from wherever a person is."""

import json
import signal
import subprocess
from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from deployments.demo_model import Request, Turn, bash, call, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.state_ref import show_state
from tests.fakes.approver import answer_forms
from tests.fakes.command_line import ScriptedCommandLine, scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import eventually, wait_for_end
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("H1")]

PATIENCE = 100
TURNS = (call(bash("echo 42 > answer")), say("It is so.\n<promise>COMPLETE</promise>"))
ASKING = ("--check", "test -e answer", "--set", "gates.ask=true", "--set", "gates.plan=true", "--yes")


def script(request: Request) -> Turn:
    return TURNS[min(request.turn, 1)]


@pytest.fixture
def helmsman(tmp_path: Path, prefect_server: PrefectServer) -> Generator[ScriptedCommandLine]:
    make_repository(tmp_path / "repository", {})
    with scripted_command_line(tmp_path, prefect_server.url, script) as command_line:
        yield command_line


def state_of(helmsman: ScriptedCommandLine) -> LoopState:
    return show_state(open_repository(helmsman.repository), "loop").state


def paused_runs(server: PrefectServer, helmsman: ScriptedCommandLine) -> list[Any]:
    return [run for run in server.loop_runs(state_of(helmsman).uid) if run["state_type"] == "PAUSED"]


def start(helmsman: ScriptedCommandLine, server: PrefectServer) -> "subprocess.Popen[str]":
    """A loop that waits for its plan to be confirmed.

    The engine pauses the run first, and then stores the form and its description: before, nobody can answer.
    """
    process = helmsman.start("run", "reach it", *ASKING, "--name", "loop", "--repo", helmsman.repository)
    assert eventually(lambda: _asks(helmsman) and _shows_form(helmsman, server), PATIENCE), process.poll()
    return process


def _shows_form(helmsman: ScriptedCommandLine, server: PrefectServer) -> bool:
    with server.client() as client:
        forms = [(run["id"], run["state"]["state_details"]["run_input_keyset"]) for run in paused_runs(server, helmsman)]
        return any(client.get(f"/flow_runs/{run}/input/{keyset['description']}").is_success for run, keyset in forms)


def _asks(helmsman: ScriptedCommandLine) -> bool:
    try:
        return state_of(helmsman).gate is not None
    except Exception:  # noqa: BLE001 - the loop is not there yet
        return False


@pytest.mark.feature("H2", "E3")
def test_an_answer_in_the_ui_counts_although_no_driver_runs(helmsman: ScriptedCommandLine, prefect_server: PrefectServer) -> None:
    process = start(helmsman, prefect_server)
    process.send_signal(signal.SIGKILL)
    wait_for_end(process)
    with answer_forms(prefect_server.url, "loop", {"decision": "stop", "guidance": "Wait for Bob.", "by": "Ada"}):
        pass
    resumed = helmsman.run("resume", "loop", "--repo", helmsman.repository)
    assert resumed.exit_code == 3, resumed
    state = state_of(helmsman)
    assert state.ending is not None
    assert (state.outcome, state.ending.rule, state.answers[-1].by) == (Outcome.STOPPED, "gate.plan", "Ada")
    assert paused_runs(prefect_server, helmsman) == []


@pytest.mark.slow
@pytest.mark.feature("H2")
def test_a_wait_outlives_the_engine_and_ends_by_an_answer_from_another_terminal(tmp_path: Path) -> None:
    make_repository(tmp_path / "repository", {})
    with PrefectServer.running(tmp_path / "server") as server, scripted_command_line(tmp_path, server.url, script) as helmsman:
        process = start(helmsman, server)
        server.kill()
        server.start()
        shown = helmsman.run("status", "loop", "--repo", helmsman.repository)
        assert "helmsman approve loop" in shown.output
        approved = helmsman.run("approve", "loop", "--repo", helmsman.repository, "--by", "Ada", "--guidance", "Go.")
        assert approved.exit_code == 0, approved
        assert "The first iteration begins." in approved.output
        told = wait_for_end(process)
        assert told.exit_code == 0, told
        answer = state_of(helmsman).answers[-1]
        assert (answer.via, answer.by, answer.guidance) == ("command line", "Ada", "Go.")
        assert datetime.now(answer.at.tzinfo) >= answer.at


@pytest.mark.slow
def test_the_command_line_refuses_answers_that_cannot_be_followed_and_second_ones(
    helmsman: ScriptedCommandLine, prefect_server: PrefectServer
) -> None:
    began = helmsman.run_loop("reach it", "--check", "test -e answer", "--set", "gates.plan=true", "--yes")
    assert began.exit_code == 4, began
    assert "next       helmsman approve loop  # The first iteration begins." in began.output
    answer = ("--repo", helmsman.repository)
    unanswered = helmsman.run("resume", "loop", *answer, "--set", "limits.iterations=3")
    assert unanswered.exit_code == 4, unanswered
    assert "loop loop waits for your answer; `resume` cannot answer; nothing was changed" in unanswered.output
    assert (state_of(helmsman).config.limits.iterations, len(prefect_server.loop_runs(state_of(helmsman).uid))) == (30, 1)
    refused = helmsman.run("approve", "loop", *answer, "--set", "limits.iterations=many")
    assert (refused.exit_code, "limits.iterations" in refused.errors) == (2, True), refused
    unknown = helmsman.run("answer", "loop", "accept", *answer)
    assert (unknown.exit_code, "expected: one of: approve, stop" in unknown.errors) == (2, True), unknown
    asked = helmsman.run("answer", "loop", *answer)
    assert "Start the loop with this goal" in asked.output
    first = helmsman.run("approve", "loop", *answer, "--json")
    assert json.loads(first.output)["choice"] == "approve"
    second = helmsman.run("reject", "loop", *answer)
    assert (second.exit_code, "has already been answered" in second.errors) == (2, True), second
    resumed = helmsman.run("resume", "loop", *answer)
    assert resumed.exit_code == 0, resumed
    assert prefect_server.loop_runs(state_of(helmsman).uid)[-1]["state_type"] == "COMPLETED"
