"""Under a worker, a loop runs to its end; one that waits for a person leaves its process, and goes on in another one."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.decision import Outcome
from helmsman.records.gates import Answer, Choice, GateKind
from tasks.approvals import answers
from tasks.repository.git import git
from tasks.system.lock import holder
from tests.fakes.processes import eventually
from tests.fakes.team_engine import ENDED, PATIENCE, TWO_SESSIONS, Team
from tests.fakes.two_sessions import CHECK, LOOP, TWO_WHOLE_SESSIONS

# Alone on two cores they take a minute each; several times that where others want the cores too.
pytestmark = [pytest.mark.slow, pytest.mark.feature("D1"), pytest.mark.timeout(600), pytest.mark.xdist_group("team")]

PLAN_FIRST = {"gates": {"plan": True}}
LAPSES_SOON = {"gates": {"plan": True, "timeout_hours": 45 / 3600}}


def run_sweep(team: Team) -> str:
    """What a sweep told that we asked for; one that had nothing to do leaves no run.

    While the one runs that comes by itself every two minutes, ours is cancelled.
    """
    told: list[Mapping[str, Any]] = [{"type": "CANCELLED"}]

    def is_over(run: str) -> bool:
        answer = team.api.get(f"/flow_runs/{run}")
        told[:] = [answer.json()["state"]] if answer.is_success else []
        return not told or (told[0]["type"] in ENDED and told[0]["name"] != "NothingToDo")

    while told and told[0]["type"] == "CANCELLED":
        assert team.eventually(partial(is_over, team.run("sweep/sweep", {}))), (told, team.log)
    return str(told[0]["message"]) if told else ""


def test_a_worker_runs_a_loop_and_the_api_rejects_an_invalid_request(team: Team, tmp_path: Path) -> None:
    bench = team.bench(tmp_path / "a")
    where = f"/deployments/{team.id_of('loop/loop')}/create_flow_run"
    for request, words in (
        ({"goal": "g"}, "'repository' is a required property"),
        ({"repository": "/r", "gaol": "g"}, "'gaol' was unexpected"),
    ):
        refused = team.post(where, {"state": {"type": "SCHEDULED"}, "parameters": {"request": request}})
        assert (refused.status_code, words in refused.json()["detail"]) == (409, True), refused.text
    run = team.ended(team.start(bench, "an answer", "test -e answer"))
    assert (run["state_type"], run["name"]) == ("COMPLETED", LOOP), run["state"]
    assert {"helmsman", f"loop:{LOOP}", f"uid:{bench.state.uid}"} <= set(run["tags"])
    assert "completion.verified" in run["state"]["message"]
    assert (bench.state.outcome, bench.state.iteration) == (Outcome.COMPLETED, 1)
    assert git(bench.repository, "show", f"helmsman/{LOOP}:answer") == "42\n"
    again = team.ended(team.start(bench, "an answer", "test -e answer"))
    assert (again["state_type"], bench.state.iteration) == ("COMPLETED", 1)
    assert again["state"]["message"].startswith(f"This run did nothing: loop {LOOP} ended on ")


@pytest.mark.feature("H2")
def test_a_waiting_loop_frees_its_process_and_slot_and_resumes_in_a_new_process(team: Team, tmp_path: Path) -> None:
    seen, bench = len(team.helmsman.model.requests), team.bench(tmp_path / "a")
    loop = team.id_of("loop/loop")
    team.set_deployment(loop, concurrency_limit=1)
    run = team.start(bench, TWO_SESSIONS, CHECK, gates={"milestone_every": 1})
    assert team.is_asleep(run), team.states(run)
    assert holder(bench.loop_folder.lock) is None
    waiting = bench.state
    assert waiting.gate is not None
    assert (waiting.gate.kind, waiting.ending, waiting.iteration) == (GateKind.MILESTONE, None, 1)

    other = team.start(team.bench(tmp_path / "b"), "an answer", "test -e answer")
    assert team.ended(other)["state_type"] == "COMPLETED"

    told = team.post(f"/flow_runs/{run}/resume", {"run_input": {"decision": "approve", "guidance": "Go on.", "by": "Ada"}})
    assert (told.status_code, told.json()["status"]) == (201, "ACCEPT"), told.text
    ended = team.ended(run)
    team.set_deployment(loop, concurrency_limit=None)
    assert (ended["state_type"], ended["run_count"]) == ("COMPLETED", 1), ended["state"]
    state = bench.state
    assert (state.outcome, state.answers[-1].by, state.answers[-1].via) == (Outcome.COMPLETED, "Ada", "engine")
    assert set(bench.finished_steps().values()) == {1}
    whole = [session for session in team.sessions(seen) if session in TWO_WHOLE_SESSIONS]
    assert whole == TWO_WHOLE_SESSIONS
    assert team.states(run).count("Running") == 2


@pytest.mark.feature("H2")
def test_a_sweep_wakes_loops_whose_time_is_up_or_whose_answer_the_engine_missed_and_no_other(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lapsing, answered, patient = (team.bench(tmp_path / name) for name in "abc")
    runs: list[str] = []
    # One after the other: on a busy machine, the first one's time is up before three are asleep.
    for bench, settings in ((lapsing, LAPSES_SOON), (answered, PLAN_FIRST), (patient, PLAN_FIRST)):
        runs.append(team.start(bench, "an answer", "test -e answer", **settings))
        assert team.is_asleep(runs[-1]), team.states(runs[-1])
    gate = answered.state.gate
    assert gate is not None
    answer = Answer(gate=gate.key, kind=gate.kind, choice=Choice.APPROVE, by="Eve", via="tracker", at=datetime.now(UTC))
    monkeypatch.setenv("HELMSMAN_HOME", answered.variables["HELMSMAN_HOME"])  # by the same user
    assert answers.store_answer(answered.loop_folder.answers, answered.state.uid, answer) == answer
    deadline = lapsing.state.gate.deadline if lapsing.state.gate else None
    assert deadline is not None
    assert eventually(lambda: datetime.now(UTC) > deadline, PATIENCE)

    told = run_sweep(team)
    assert f"{LOOP} (approve by Eve)" in told or "Resuming" in team.states(runs[1])  # by the one that comes by itself
    assert [team.ended(run)["state_type"] for run in runs[:2]] == ["FAILED", "COMPLETED"]
    ending = lapsing.state.ending
    assert ending is not None
    assert "nobody answered in time" in ending.reason
    assert team.run_of(runs[2])["state_name"] == "Suspended"
    assert patient.state.gate is not None
    assert run_sweep(team) == ""
