"""An agent that spins inside an iteration is told so in time, and what it is told brings it back to work."""

from pathlib import Path

import pytest

from bench.pathologies import spin
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

TOLD = ("repeated", "same_failure", "reverted", "", "context")
"""Of each kind one; bench/pathologies.py runs them all."""


@pytest.mark.slow
@pytest.mark.parametrize("spinner", [one for one in STUCK_AGENTS if one.rule in TOLD], ids=lambda spinner: spinner.name)
def test_guidance_reaches_a_spinning_agent_in_time(spinner: StuckAgent, tmp_path: Path, prefect_server: PrefectServer) -> None:
    spun = spin(spinner, tmp_path / "loop", prefect_server.url)
    assert spun.completed, (spun.rules, spun.records[-1].decision, spun.errors)
    assert spun.rules[:1] == ((spinner.rule,) if spinner.rule else ())
    assert spun.tool_calls <= spinner.most


def drive(
    folder: Path, server: PrefectServer, script: Script, *settings: str, goal: str = "g"
) -> tuple[list[IterationRecord], list[Request]]:
    """Two iterations at most of an agent that makes no check pass, oldest record first, and what its model was told."""
    make_repository(folder / "repository", {"app.py": "1\n"})
    with scripted_command_line(folder, server.url, script) as helmsman:
        chosen = [part for setting in settings for part in ("--set", setting)]
        told = helmsman.run_loop(goal, "--check", "false", "--max-iterations", "2", "--json", *chosen)
        assert told.exit_code == 3, told.errors
        return list(read_records(open_repository(helmsman.repository), "loop"))[::-1], helmsman.model.requests


def test_a_session_that_asks_to_be_done_is_sent_back_twice_with_a_word_that_it_hears_once(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    turns = [DONE, DONE, say("CONTINUE: nothing makes `false` pass.")]
    records, requests = drive(tmp_path, prefect_server, lambda request: turns[min(request.turn, 2)])
    assert [[attempt.blocked for attempt in record.execution.call.stops] for record in records] == [[True, True, False]] * 2
    told = str(requests[2].body["messages"])
    assert told.count("so the work is not done yet") == 2
    assert not any(record.claims.wants_to_finish for record in records)  # what it said before it was sent back is over


@pytest.mark.slow
def test_a_session_whose_context_is_full_ends_in_good_order_and_the_next_one_begins_anew(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    def fill(request: Request) -> Turn:
        return Turn(tools=(bash(f"echo {request.turn}"),), usage={"input_tokens": 10_000 * (request.turn + 1)})

    records, requests = drive(tmp_path, prefect_server, fill, "context.window=100000", "claude.session=resume")
    first = records[0].execution.call
    assert (first.outcome, first.error) == (AgentOutcome.ROTATED, "")
    assert first.rotated.startswith("the context is 80 % full (100,000 tokens)")
    assert first.tool_calls in {8 + GRACE + 1, 8 + GRACE + 2}  # the last is denied; the first may come before its message's usage
    assert records[0].decision.kind == "continue"
    again = next(request for request in requests if request.call == 1)
    assert "The loop ended it early." in again.prompt
    assert not records[1].execution.call.resumed


@pytest.mark.slow
def test_a_session_that_makes_only_calls_that_no_hook_is_asked_about_is_ended_as_well(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    records, _ = drive(tmp_path, prefect_server, lambda _: call(edit("app.py", "not there", "x")), "limits.iterations=1")
    told = records[0].execution.call
    assert told.outcome is AgentOutcome.ROTATED
    assert told.rotated.endswith("tool calls failed one after the other (15 are allowed)")
    assert [(error.kind, error.times) for error in told.errors] == [(FailureClass.EDIT, told.failures_in_row)]


@pytest.mark.slow
@pytest.mark.feature("S16")
def test_files_that_have_nothing_to_do_with_the_task_are_on_record_and_told_to_the_next_session(
    tmp_path: Path, prefect_server: PrefectServer
) -> None:
    made = "ui/theme.py ui/menu.py metrics/export.py metrics/dashboard.py"

    def wander(request: Request) -> Turn:
        return call(bash(f"mkdir -p ui metrics && touch {made}")) if request.turn == 0 else say("I made a menu.")

    goal = "Fix the discount of the customer in `shop.py`"
    records, requests = drive(tmp_path, prefect_server, wander, "steering.stop_seconds=0", goal=goal)
    first = records[0]
    assert set(first.drift.strangers) == set(made.split())
    assert "drift.strangers" in [signal.rule for signal in first.signals]
    again = next(request for request in requests if request.call == 1)
    assert "# Changed files that share no name or word with the task" in again.prompt
    assert "ui/theme.py" in again.prompt
