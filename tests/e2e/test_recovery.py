"""Under a worker, a run that crashed goes on by itself: no person, no second payment, and no cycle of crashes."""

from pathlib import Path

import pytest

from helmsman.records.decision import Outcome
from tests.e2e.conftest import Undisturbed
from tests.fakes.loop_bench import Bench, one_call_more
from tests.fakes.processes import eventually
from tests.fakes.team_engine import PATIENCE, TWO_SESSIONS, Team
from tests.fakes.two_sessions import CHECK, TWO_WHOLE_SESSIONS

# Alone on two cores they take two minutes each; four times that where others want the cores too.
pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("team")]

LEFT_BEHIND = "sleep 300"
"""What the first session starts just before the middle of it."""


def held(team: Team, bench: Bench) -> str:
    """A run whose agent is in the middle of its first session."""
    team.hold()
    run = team.start(bench, TWO_SESSIONS, CHECK)
    assert team.is_held(), (team.states(run), team.log)
    return run


def goes_on(team: Team, run: str) -> bool:
    """Whether a run is started again by itself."""
    return team.eventually(lambda: "AwaitingRetry" in team.states(run))


def is_agent_working_again(bench: Bench) -> bool:
    """Whether the agent has come to the middle of its first session, where another loop's agent may be, too."""
    return eventually(lambda: any(LEFT_BEHIND in process for process in bench.tagged()), PATIENCE)


def is_gone(bench: Bench) -> bool:
    """Whether the agent and all that it started have ended, which they do by themselves."""
    return eventually(lambda: not bench.tagged())


@pytest.mark.slow
@pytest.mark.feature("D3", "E3")
def test_a_run_that_dies_with_its_worker_resumes_without_repeating_steps(
    team: Team, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    seen, bench = len(team.helmsman.model.requests), team.bench(tmp_path / "a")
    run = held(team, bench)
    team.kill_worker()
    team.kill(run)
    assert is_gone(bench), bench.tagged()
    team.release()
    assert team.run_of(run)["state_name"] == "Running"  # nobody is left to say otherwise
    team.start_worker()
    assert goes_on(team, run), (team.states(run), team.log)
    ended = team.ended(run)
    assert (ended["state_type"], ended["run_count"]) == ("COMPLETED", 2), ended["state"]
    names = team.states(run)
    assert names[names.index("Crashed") :][:2] == ["Crashed", "AwaitingRetry"]
    assert bench.ending() == one_call_more(undisturbed.ending)
    _, *anew = team.sessions(seen)
    assert anew == TWO_WHOLE_SESSIONS
    assert set(bench.finished_steps().values()) == {1}
    assert bench.salvaged() == {"1-1": {"one.txt", "two.txt"}}
    below = {found["state_name"] for found in team.server.runs(bench.state.uid) if found["parent_task_run_id"]}
    assert below == {"Superseded", "0 of 1 check green", "1 of 1 check green"}


def begun_and_gone(team: Team, bench: Bench) -> str:
    """A run whose process died before its first heartbeat."""
    run = team.run("loop/loop", team.request(bench, "an answer", "test -e answer"), in_hours=1)
    begun = {"state": {"type": "RUNNING"}, "force": True}
    assert team.post(f"/flow_runs/{run}/set_state", begun).is_success
    return run


@pytest.mark.slow
@pytest.mark.feature("D3")
def test_a_run_that_crashes_twice_without_progress_stays_crashed_until_a_person_resumes_it(team: Team, tmp_path: Path) -> None:
    bench, other = team.bench(tmp_path / "a"), team.bench(tmp_path / "b")
    unheard = begun_and_gone(team, team.bench(tmp_path / "c"))
    run = held(team, bench)
    team.kill(run)
    assert is_gone(bench), bench.tagged()
    first = held(team, other)
    assert goes_on(team, run), (team.states(run), team.log)
    assert is_agent_working_again(bench), (team.states(run), team.log)
    team.kill(run)
    assert team.eventually(lambda: team.states(run).count("Crashed") == 2), team.states(run)

    team.kill(first)
    assert goes_on(team, first), team.states(first)  # what crashed after it is acted on, so its turn has passed
    assert (team.states(run)[-1], team.states(run).count("AwaitingRetry")) == ("Crashed", 1)
    assert bench.state.ending is None
    team.release()
    resumed = team.helmsman.run("resume", bench.state.loop, "--repo", bench.repository, "--yes")
    assert resumed.exit_code == 0, resumed
    assert (bench.state.outcome, bench.state.iteration) == (Outcome.COMPLETED, 2)
    assert set(bench.salvaged()) == {"1-1", "1-2"}
    assert team.ended(first)["state_type"] == "COMPLETED"
    assert goes_on(team, unheard), (team.states(unheard), team.log)
    assert team.ended(unheard)["state_type"] == "COMPLETED", team.states(unheard)
