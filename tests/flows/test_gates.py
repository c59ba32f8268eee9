"""Gates on a real engine: a loop asks, a person answers by one of the ways, and the answer steers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.states import Scheduled

from flows.loop import loop
from helmsman.config import GatesConfig
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import Answer, Choice, GateKind
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from tasks.approvals import answers
from tasks.approvals.pause import resume_paused
from tasks.loop.start import open_loop
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_folder, worktree_of
from tasks.repository.state_ref import read_state, replace_state
from tests.fakes.approver import answer_forms
from tests.fakes.scripted_agent import PROMISE, calls_made, prompt_of, says
from tests.flows.conftest import Drive
from tests.flows.test_loop import SOLVE

pytestmark = pytest.mark.feature("H1")

SOLVED = says(PROMISE, shell=SOLVE)
NOISE = says(shell="date +%N > noise")


def state_of(repository: Path) -> LoopState:
    return read_state(open_repository(repository), "loop")[0]


def put(repository: Path, choice: Choice, **more: object) -> None:
    """Answer as the command line does."""
    state = state_of(repository)
    gate = state.gate
    assert gate is not None
    said = {"gate": gate.key, "kind": gate.kind, "choice": choice, "via": "command line", "at": datetime.now(UTC), **more}
    answer = Answer.model_validate(said)
    assert answers.store_answer(loop_folder(open_repository(repository), "loop").answers, state.uid, answer) == answer


def resume(repository: Path, **settings: object) -> LoopState:
    loop(LoopRequest(repository=str(repository), loop="loop", reopen=True, settings=settings), return_state=True)
    return state_of(repository)


@pytest.mark.feature("O1")
def test_a_confirmed_plan_starts_the_loop_and_the_guidance_reaches_the_first_prompt(drive: Drive, engine_url: str) -> None:
    given = {"decision": "approve", "guidance": "Use the number of the guide.", "by": "Ada"}
    with answer_forms(engine_url, "loop", given) as person:
        driven = drive([SOLVED], gates={"ask": True, "plan": True})
    assert driven.state.outcome is Outcome.COMPLETED
    assert "Use the number of the guide." in prompt_of(driven.agent, 0)
    answer = driven.state.answers[-1]
    assert (answer.kind, answer.choice, answer.by, answer.via) == (GateKind.PLAN, Choice.APPROVE, "Ada", "engine")
    assert "make it so" in person.forms[0]["description"]
    assert driven.state.guidance == ()


def test_an_answer_that_cannot_be_followed_names_the_field_and_the_loop_keeps_waiting(drive: Drive, engine_url: str) -> None:
    wrong = {"decision": "approve", "settings": "limits.iterations=many"}
    right = {"decision": "approve", "settings": "limits.iterations=7; limits.cost_usd=3"}
    with answer_forms(engine_url, "loop", {}, {"decision": "perhaps"}, wrong, right) as person:
        driven = drive([SOLVED], gates={"ask": True, "plan": True})
    assert person.statuses == ["REJECT", "REJECT", "ACCEPT", "ACCEPT"]
    assert "'decision' is a required property" in person.problems[0]
    assert "'perhaps' is not one of" in person.problems[1]
    why = "Your answer was rejected:** limits.iterations must be a whole number, not 'many'"
    assert person.forms[-1]["description"].startswith(f"> **{why}")
    assert (driven.state.config.limits.iterations, driven.state.config.limits.cost_usd) == (7, 3)
    assert calls_made(driven.agent) == 1


def test_a_form_that_was_opened_for_an_earlier_question_does_not_answer_the_next_one(drive: Drive, engine_url: str) -> None:
    late = {"decision": "stop", "question": "plan-0-1-of-an-open-page"}
    with answer_forms(engine_url, "loop", late, {"decision": "approve"}) as person:
        driven = drive([SOLVED], gates={"ask": True, "plan": True})
    assert person.statuses == ["REJECT", "ACCEPT"]
    shown = person.forms[0]["properties"]["question"]["default"]
    assert f"field 'question'. Failure reason: '{shown}' was expected" in person.problems[0]
    assert [answer.choice for answer in driven.state.answers] == [Choice.APPROVE]


@pytest.mark.slow
@pytest.mark.feature("E9")
def test_a_loop_that_waits_for_an_answer_can_be_cancelled_and_gone_on_with(
    drive: Drive, engine_url: str, repository: Path
) -> None:
    with answer_forms(engine_url, "loop", loop_folder(open_repository(repository), "loop").cancel.touch):
        driven = drive([SOLVED], gates={"ask": True, "plan": True})
    assert driven.state.outcome is Outcome.CANCELLED
    assert driven.engine_state.is_cancelled()
    assert driven.state.gate is not None
    with answer_forms(engine_url, "loop", {"decision": "approve"}):
        after = resume(repository)
    assert (after.outcome, after.answers[-1].choice) == (Outcome.COMPLETED, Choice.APPROVE)


@pytest.mark.slow
@pytest.mark.feature("M7")
def test_the_loop_continues_from_a_commit_made_by_hand(drive: Drive, engine_url: str, repository: Path) -> None:
    def commit_by_hand() -> None:
        state = state_of(repository)
        worktree = worktree_of(open_repository(repository), "loop", state.config.workspace)
        (worktree / "answer").write_text("42\n")
        git(worktree, "add", "answer")
        git(worktree, "commit", "--quiet", "--message", "By hand")
        put(repository, Choice.APPROVE)

    with answer_forms(engine_url, "loop", {"decision": "take-over"}, commit_by_hand):
        driven = drive([NOISE, says(PROMISE)], gates={"ask": True, "milestone_every": 1})
    assert [(answer.kind, answer.choice) for answer in driven.state.answers[:2]] == [
        (GateKind.MILESTONE, Choice.TAKE_OVER),
        (GateKind.HANDED_OVER, Choice.APPROVE),
    ]
    assert driven.state.outcome is Outcome.COMPLETED
    assert "By hand" in git(repository, "log", "--format=%s", "helmsman/loop")


@pytest.mark.slow
@pytest.mark.feature("E6")
def test_a_budget_is_extended_by_what_the_form_says_and_by_nothing_less(drive: Drive, engine_url: str) -> None:
    too_little = {"decision": "approve", "more_usd": 1}
    enough = {"decision": "approve", "more_iterations": 2}
    with answer_forms(engine_url, "loop", too_little, enough) as person:
        driven = drive([NOISE, NOISE, SOLVED], gates={"ask": True, "budget": True}, limits={"iterations": 2, "cost_usd": 5})
    assert (driven.state.outcome, driven.state.iteration) == (Outcome.COMPLETED, 3)
    assert driven.state.config.limits.iterations == 4
    assert "a limit is still reached" in person.forms[-1]["description"]


@pytest.mark.slow
@pytest.mark.feature("E6")
def test_going_on_answers_no_question(drive: Drive) -> None:
    driven = drive([NOISE, SOLVED], gates={"budget": True}, limits={"iterations": 1})
    for settings in ({}, {"limits": {"iterations": 5}}):
        after = resume(driven.repository, **settings)
        assert (after.outcome, after.answers, after.iteration) == (Outcome.WAITING, (), driven.state.iteration)
    put(driven.repository, Choice.APPROVE)
    assert resume(driven.repository).answers[0].choice is Choice.APPROVE


@pytest.mark.slow
def test_proven_work_counts_as_completed_only_once_it_is_approved(drive: Drive, engine_url: str) -> None:
    again = {"decision": "revise", "guidance": "Add a note."}
    noted = says(PROMISE, shell="echo because > note; git add note; git commit -qm Note")
    with answer_forms(engine_url, "loop", again, {"decision": "approve", "by": "Ada"}):
        driven = drive([SOLVED, noted], gates={"ask": True, "merge": True})
    assert driven.state.ending is not None
    assert (driven.state.outcome, driven.state.ending.rule, driven.state.iteration) == (Outcome.COMPLETED, "gate.merge", 2)
    assert "Add a note." in prompt_of(driven.agent, 1)
    assert "approved for merging by Ada" in driven.state.ending.reason


@pytest.mark.slow
def test_a_loop_is_not_answered_by_one_of_its_name_that_was_removed(drive: Drive) -> None:
    driven = drive([SOLVED], gates={"plan": True})
    put(driven.repository, Choice.APPROVE)
    assert resume(driven.repository).outcome is Outcome.COMPLETED
    git(driven.repository, "update-ref", "-d", "refs/helmsman/loop/state")
    git(driven.repository, "branch", "--quiet", "-D", "helmsman/loop")
    again = drive([SOLVED], gates={"plan": True}).state
    assert again.ending is not None
    assert (again.ending.rule, again.spending.agent_calls) == ("gate.plan", 0)


def test_only_what_was_proven_is_approved_for_merging(drive: Drive) -> None:
    driven = drive([SOLVED], gates={"merge": True})
    worktree = worktree_of(open_repository(driven.repository), "loop", driven.state.config.workspace)
    (worktree / "answer").write_text("broken\n")
    git(worktree, "commit", "--quiet", "--all", "--message", "By hand")
    put(driven.repository, Choice.APPROVE)
    after = resume(driven.repository)
    assert (after.outcome, after.gate is not None, after.answers) == (Outcome.WAITING, True, ())


def test_work_is_accepted_only_as_it_was_when_the_question_was_asked(drive: Drive) -> None:
    driven = drive([SOLVED, says(PROMISE), says(PROMISE)], checks=["true"])
    assert driven.state.outcome is Outcome.UNPROVEN
    worktree = worktree_of(open_repository(driven.repository), "loop", driven.state.config.workspace)
    (worktree / "answer").write_text("broken\n")
    git(worktree, "commit", "--quiet", "--all", "--message", "By hand")
    put(driven.repository, Choice.ACCEPT)
    after = resume(driven.repository)
    assert (after.outcome, after.answers) == (Outcome.UNPROVEN, ())
    assert after.gate is not None
    assert "the branch has moved since the question was asked" in after.gate.refused
    assert "answer approve to verify what is there now" in after.gate.refused


def test_a_check_that_a_person_adds_proves_the_work_if_it_fails_at_the_loops_start(drive: Drive) -> None:
    driven = drive([SOLVED, says(PROMISE), says(PROMISE)], checks=["true"])
    assert driven.state.outcome is Outcome.UNPROVEN
    put(driven.repository, Choice.APPROVE, settings={"checks": ["sh check.sh"]})
    after = resume(driven.repository)
    assert (after.outcome, after.green_at_start, after.iteration) == (Outcome.COMPLETED, False, 3)


def test_a_check_that_a_person_gives_instead_proves_nothing_if_it_passes_at_the_loops_start(drive: Drive) -> None:
    driven = drive([NOISE, SOLVED, says(PROMISE)], limits={"iterations": 1})
    assert driven.state.green_at_start is False
    after = resume(driven.repository, checks=["true"], limits={"iterations": 9})
    assert (after.outcome, after.green_at_start) == (Outcome.UNPROVEN, True)


@pytest.mark.slow
@pytest.mark.feature("E3")
@pytest.mark.parametrize("ask", [True, False])
def test_a_driver_that_died_before_it_asked_asks_when_it_is_driven_again(drive: Drive, ask: bool) -> None:
    driven = drive([NOISE], gates={"milestone_every": 1})
    repository, before = open_repository(driven.repository), driven.state
    stuck = Decision(kind="stop", rule="ladder.human", reason="stuck", at=before.updated_at, outcome=Outcome.WAITING)
    asks = before.config.model_copy(update={"gates": GatesConfig(ask=ask)})
    unasked = before.model_copy(update={"ending": stuck, "gate": None, "config": asks})
    replace_state(repository, before, unasked, "as it was when the driver died")
    request = LoopRequest(repository=str(driven.repository), loop="loop", reopen=True)
    assert open_loop(request, run="", now=datetime.now(UTC)).ending == stuck


@pytest.mark.slow
def test_a_loop_continues_when_its_question_expires(drive: Drive) -> None:
    driven = drive([NOISE, SOLVED], gates={"budget": True, "timeout_hours": 1e-9}, limits={"iterations": 1})
    assert resume(driven.repository, limits={"iterations": 5}).outcome is Outcome.COMPLETED


@flow(name="asleep", persist_result=False)
def asleep() -> None:
    """What stands for a loop's run that somebody has woken."""


def test_an_answer_reports_that_a_worker_continues_even_if_another_one_woke_it(engine_url: str) -> None:
    assert engine_url
    before = datetime.now(UTC) - timedelta(seconds=1)
    with get_client(sync_client=True) as client:
        client.create_flow_run(asleep, tags=["uid:woken"], state=Scheduled())
        assert resume_paused("woken", {}, before)
        assert not resume_paused("woken", {}, datetime.now(UTC) + timedelta(minutes=1))  # it has run since before the answer
        assert not resume_paused("nobody", {}, before)
