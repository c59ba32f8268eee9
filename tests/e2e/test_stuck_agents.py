"""An agent that is stuck inside an iteration gets guidance in time, and works again."""

from pathlib import Path

import pytest

from bench.pathologies import run_stuck
from deployments.demo_model import Request, Script, Turn, bash, call, edit, say
from helmsman.records.agent import AgentOutcome, FailureClass
from helmsman.records.iteration import IterationRecord
from tasks.agents.steering import GRACE
from tasks.repository.git import open_repository
from tasks.repository.state_ref import read_records
from tests.fakes.command_line import scripted_command_line
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.repositories import make_repository
from tests.fakes.stuck_agents import STUCK_AGENTS, StuckAgent

pytestmark = [pytest.mark.timeout(300), pytest.mark.feature("A2", "A3", "A4", "S9", "S12")]

DONE = say("All is done.\n<promise>COMPLETE</promise>")

RULES = ("repeated", "same_failure", "reverted", "", "context")
"""One rule of each kind; bench/pathologies.py runs all agents."""


@pytest.mark.slow
@pytest.mark.parametrize("agent", [agent for agent in STUCK_AGENTS if agent.rule in RULES], ids=lambda agent: agent.name)
def test_guidance_reaches_a_stuck_agent_in_time(agent: StuckAgent, tmp_path: Path, prefect_server: PrefectServer) -> None:
    run = run_stuck(agent, tmp_path / "loop", prefect_server.url)
    assert run.completed, (run.rules, run.records[-1].decision, run.errors)
    assert run.rules[:1] == ((agent.rule,) if agent.rule else ())
    assert run.tool_calls <= agent.most


def run_iterations(
    folder: Path, server: PrefectServer, script: Script, *settings: str, goal: str = "g", most: int = 2
) -> tuple[list[IterationRecord], list[Request]]:
    """Run an agent whose check fails. Returns the records, oldest first, and the model's requests."""
    make_repository(folder / "repository", {"app.py": "1\n"})
    with scripted_command_line(folder, server.url, script) as helmsman:
        options = [part for setting in settings for part in ("--set", setting)]
        result = helmsman.run_loop(goal, "--check", "false", "--max-iterations", str(most), "--json", *options)
        assert result.exit_code == 3, result.errors
        return list(read_records(open_repository(helmsman.repository), "loop"))[::-1], helmsman.model.requests


def test_the_stop_hook_blocks_a_false_claim_twice_and_gives_its_reason(tmp_path: Path, prefect_server: PrefectServer) -> None:
    turns = [DONE, DONE, say("CONTINUE: nothing makes `false` pass.")]
    (record,), requests = run_iterations(tmp_path, prefect_server, lambda request: turns[min(request.turn, 2)], most=1)
    assert [attempt.blocked for attempt in record.execution.call.stops] == [True, True, False]
    messages = str(requests[2].body["messages"])
    assert messages.count("so the work is not done yet") == 2
    assert not record.claims.wants_to_finish  # claims before a blocked stop do not count


@pytest.mark.slow
def test_a_session_with_a_full_context_ends_cleanly_and_the_next_one_is_fresh(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    def fill(request: Request) -> Turn:
        return Turn(tools=(bash(f"echo {request.turn}"),), usage={"input_tokens": 10_000 * (request.turn + 1)})

    records, requests = run_iterations(tmp_path, prefect_server, fill, "context.window=100000", "claude.session=resume")
    first = records[0].execution.call
    assert (first.outcome, first.error) == (AgentOutcome.ROTATED, "")
    assert first.rotated.startswith("the context is 80 % full (100,000 tokens)")
    assert first.tool_calls in {8 + GRACE + 1, 8 + GRACE + 2}  # the last is denied; the first may come before its message's usage
    assert records[0].decision.kind == "continue"
    second = next(request for request in requests if request.call == 1)
    assert "The loop ended it early." in second.prompt
    assert not records[1].execution.call.resumed


@pytest.mark.slow
def test_a_session_whose_calls_reach_no_hook_is_ended_after_15_failures(tmp_path: Path, prefect_server: PrefectServer) -> None:
    records, _ = run_iterations(tmp_path, prefect_server, lambda _: call(edit("app.py", "not there", "x")), "limits.iterations=1")
    call_record = records[0].execution.call
    assert call_record.outcome is AgentOutcome.ROTATED
    assert call_record.rotated.endswith("tool calls failed one after the other (15 are allowed)")
    assert [(error.kind, error.times) for error in call_record.errors] == [(FailureClass.EDIT, call_record.failures_in_row)]


@pytest.mark.slow
@pytest.mark.feature("S16")
def test_unrelated_files_are_recorded_and_listed_in_the_next_prompt(tmp_path: Path, prefect_server: PrefectServer) -> None:
    files = "ui/theme.py ui/menu.py metrics/export.py metrics/dashboard.py"

    def drift(request: Request) -> Turn:
        return call(bash(f"mkdir -p ui metrics && touch {files}")) if request.turn == 0 else say("I made a menu.")

    goal = "Fix the discount of the customer in `shop.py`"
    records, requests = run_iterations(tmp_path, prefect_server, drift, "steering.stop_seconds=0", goal=goal)
    first = records[0]
    assert set(first.drift.strangers) == set(files.split())
    assert "drift.strangers" in [signal.rule for signal in first.signals]
    second = next(request for request in requests if request.call == 1)
    assert "# Changed files that share no name or word with the task" in second.prompt
    assert "ui/theme.py" in second.prompt
