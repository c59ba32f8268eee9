"""Answers and stops at an issue, also of a loop that travels: each reaches whoever drives the loop, or is said not to be done.

None is acknowledged and lost where somebody dies or two come at once.
"""

import os
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from helmsman.config import RemoteConfig
from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.records.decision import Outcome
from helmsman.records.gates import Answer, Choice
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.triggers import Handled, Ignored, IssueEvent
from tasks.approvals import answers
from tasks.loop.recover import close_loop, repair
from tasks.loop.remote_handover import acquire_lease, pull_state
from tasks.loop.run import drive_loop
from tasks.repository.git import Repository, git, open_repository, read_ref
from tasks.repository.loop_context import LoopContext, loop_folder, worktree_of
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, parse_state, read_state, replace_state, state_ref
from tasks.repository.worktree import ensure_worktree
from tasks.system.lock import exclusive_driver
from tasks.system.paths import LoopFolder
from tasks.triggers.issues import handle_issue_event
from tests.fakes.push_receiver import ServedRepository
from tests.fakes.repositories import commit, sh
from tests.fakes.tracker_api import TrackerApi
from tests.fakes.two_clones import PUSH_CONFIG, clone_remote, no_retry_delay
from tests.integration.test_issues import (
    GATE,
    NOW,
    ONE_KIND,
    changed,
    comment_event,
    comments,
    completed,
    event,
    served,
    started,
    stored,
)
from tests.integration.trackers import api

__all__ = ["api", "no_retry_delay", "served"]
pytestmark = [pytest.mark.slow, pytest.mark.feature("D6"), ONE_KIND, pytest.mark.usefixtures("home")]


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine knows no run of the loop."""

    def resume_paused(*_: Any) -> bool:
        return False

    monkeypatch.setattr("tasks.approvals.pause.resume_paused", resume_paused)


def waiting_loop(served: ServedRepository, api: TrackerApi) -> tuple[LoopState, LoopFolder]:
    """A loop that asks, and that nobody drives."""
    loop = changed(served, started(served, api), gate=GATE)
    return loop, loop_folder(open_repository(served.clone), loop.loop)


def answer_to(loop: LoopState, folder: LoopFolder) -> Answer:
    found = answers.find_answer(folder.answers, loop.uid, GATE.key)
    assert found is not None
    return found


@pytest.mark.parametrize("then", ["the same event", "/helmsman approve"])
@pytest.mark.usefixtures("no_run")
def test_an_answer_whose_bringer_died_is_followed_by_the_next_answer(
    then: str, served: ServedRepository, api: TrackerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, folder = waiting_loop(served, api)

    def away(*_: Any) -> bool:
        raise TransientError("the Prefect server does not answer")

    first = comment_event(served, api, "/helmsman approve", 1)
    with monkeypatch.context() as engine:
        engine.setattr("tasks.approvals.pause.resume_paused", away)
        with pytest.raises(TransientError):
            handle_issue_event(first, NOW)
    again = first if then == "the same event" else comment_event(served, api, then, 2)
    assert handle_issue_event(again, NOW) == LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=True)
    assert answer_to(loop, folder).choice is Choice.APPROVE
    if then == "/helmsman approve":  # by the same person, later: the reply says which counts
        assert handle_issue_event(comment_event(served, api, then, 3).model_copy(update={"by": "bob"}), NOW) is not None
        assert "the first answer counts: **approve** by `alice`" in comments(api)[-1]


@pytest.mark.parametrize("what", ["/helmsman cancel", "/helmsman stop", ""])
@pytest.mark.usefixtures("no_run")
def test_a_stop_precedes_an_unread_answer(what: str, served: ServedRepository, api: TrackerApi) -> None:
    loop, folder = waiting_loop(served, api)
    handle_issue_event(comment_event(served, api, "/helmsman approve", 1), NOW)
    stop = comment_event(served, api, what, 2) if what else event(served, api, "withdrawn")
    assert handle_issue_event(stop, NOW) == LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=True)
    assert answer_to(loop, folder).choice is Choice.STOP


def test_a_second_answer_is_told_which_answer_counts(served: ServedRepository, api: TrackerApi) -> None:
    loop, folder = waiting_loop(served, api)
    with exclusive_driver(folder.lock, loop.loop):
        handle_issue_event(comment_event(served, api, "/helmsman approve", 1), NOW)
        assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman stop", 2), NOW), Ignored)
    assert "approve by alice" in comments(api)[-1]


@pytest.mark.parametrize("reopen", [True, False])
def test_a_driver_obeys_only_cancels_sent_after_it_locked_the_loop(
    served: ServedRepository, api: TrackerApi, monkeypatch: pytest.MonkeyPatch, *, reopen: bool
) -> None:
    loop = started(served, api)
    folder = loop_folder(open_repository(served.clone), loop.loop)
    folder.cancel.parent.mkdir(parents=True, exist_ok=True)
    folder.cancel.touch()  # and whoever was asked died
    heard: list[bool] = []

    def fetching(*_: Any, locked: bool) -> None:
        if locked:
            handle_issue_event(comment_event(served, api, "/helmsman cancel"), NOW)

    def mending(context: LoopContext, state: LoopState) -> LoopState:
        repair(context, state)
        heard.append(folder.cancel.exists())
        raise Fenced("that is enough")

    monkeypatch.setattr("tasks.loop.start.pull_state", fetching)
    monkeypatch.setattr("tasks.loop.run.repair", mending)
    monkeypatch.setattr("tasks.engine.runs.run_id", uuid4)
    request = LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=reopen)
    with pytest.raises(Fenced), drive_loop(request):
        pass
    assert heard == [True]


def test_an_answer_in_a_comment_is_stored_like_any_other(served: ServedRepository, api: TrackerApi) -> None:
    loop, folder = waiting_loop(served, api)
    with exclusive_driver(folder.lock, loop.loop):
        assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman perhaps", 1), NOW), Ignored)
        assert answers.find_answer(folder.answers, loop.uid, GATE.key) is None
        assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman approve Go on", 2), NOW), Handled)
    answer = answer_to(loop, folder)
    assert (answer.choice, answer.guidance, answer.by, answer.via) == (Choice.APPROVE, "Go on", "alice", "tracker")
    refused, understood = comments(api)
    assert "Not understood" in refused
    assert "Understood as **approve**" in understood


# --- stops of a loop that travels ---------------------------------------------------------------------------------


def stop(served: ServedRepository, api: TrackerApi, text: str, number: int = 7) -> IssueEvent:
    closed = event(served, api, "withdrawn", moment=str(number), delivery=f"delivery-{number}")
    return comment_event(served, api, text, number) if text else closed


def start_pushed_loop(served: ServedRepository, api: TrackerApi) -> LoopState:
    """A loop that travels, as the clone that hears of the issue has begun it."""
    loop = started(served, api)
    git(served.clone, "branch", loop.branch, loop.head)
    travels = loop.model_copy(update={"config": loop.config.model_copy(update={"remote": PUSH_CONFIG})})
    return acquire_lease(open_repository(served.clone), changed(served, loop, config=travels.config))


def driven_elsewhere(served: ServedRepository, loop: LoopState) -> tuple[Repository, LoopState]:
    """Another machine drives it, and the clone has not heard of that."""
    other = clone_remote(served.bare, "two")
    pull_state(other, loop.loop, PUSH_CONFIG, locked=False)
    state, _ = read_state(other, loop.loop)
    ensure_worktree(other, tree(other, state), state.branch, state.head)
    return other, iterate(other, acquire_lease(other, state), "there\n")


def tree(repository: Repository, state: LoopState) -> Path:
    return worktree_of(repository, state.loop, state.config.workspace)


def iterate(repository: Repository, state: LoopState, text: str) -> LoopState:
    head = commit(tree(repository, state), text, {"app.py": text})
    after = replace_state(repository, state, state.model_copy(update={"iteration": state.iteration + 1, "head": head}), text)
    push_loop(repository, after)
    return after


def on_remote(served: ServedRepository, loop: LoopState) -> LoopState:
    return parse_state(git(served.bare, "show", f"{state_ref(loop.loop)}:state.json"), loop.loop)


def has_stop_comment(api: TrackerApi) -> bool:
    return any("The loop stops" in body or "was stopped;" in body for body in comments(api))


def away(served: ServedRepository) -> Path:
    """The remote's folder, where nobody finds it."""
    return served.bare.rename(served.bare.with_suffix(".away"))


@pytest.mark.feature("D4")
@pytest.mark.parametrize("text", ["/helmsman cancel", ""], ids=["by a word", "by closing"])
def test_a_stop_fences_off_a_driver_on_another_machine(text: str, served: ServedRepository, api: TrackerApi) -> None:
    loop = start_pushed_loop(served, api)
    other, theirs = driven_elsewhere(served, loop)
    assert isinstance(handle_issue_event(stop(served, api, text), NOW), Handled)
    found = on_remote(served, loop)
    assert (found.outcome, found.iteration, found.head) == (Outcome.CANCELLED, theirs.iteration, theirs.head)
    with pytest.raises(Fenced):
        iterate(other, theirs, "and on\n")
    assert has_stop_comment(api)


def test_a_stop_that_cannot_reach_the_remote_is_said_not_to_be_done(served: ServedRepository, api: TrackerApi) -> None:
    loop = start_pushed_loop(served, api)
    driven_elsewhere(served, loop)
    hidden = away(served)
    with pytest.raises(TransientError):
        handle_issue_event(stop(served, api, ""), NOW)
    (told,) = comments(api)
    assert "Not done: " in told
    assert "/helmsman cancel" in told
    assert (has_stop_comment(api), stored(served, loop).ending) == (False, None)
    hidden.rename(served.bare)
    assert isinstance(handle_issue_event(stop(served, api, "/helmsman cancel", 8), NOW), Handled)
    assert on_remote(served, loop).outcome is Outcome.CANCELLED
    assert has_stop_comment(api)


def test_a_stop_that_is_too_late_is_said_not_to_be_done(
    served: ServedRepository, api: TrackerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = start_pushed_loop(served, api)
    other, _ = driven_elsewhere(served, loop)

    def closing(context: LoopContext, state: LoopState, why: BaseException, now: datetime) -> LoopState:
        iterate(other, read_state(other, loop.loop)[0], os.urandom(4).hex())
        return close_loop(context, state, why, now)

    monkeypatch.setattr("tasks.triggers.issues.close_loop", closing)
    with pytest.raises(OperatorError):
        handle_issue_event(stop(served, api, ""), NOW)
    assert isinstance(handle_issue_event(stop(served, api, "/helmsman cancel"), NOW), Ignored)
    assert len(comments(api)) == 2
    assert all("Not done: " in body for body in comments(api))
    assert on_remote(served, loop).ending is None


@pytest.mark.feature("D4")
@pytest.mark.usefixtures("no_run")
def test_a_question_that_is_asked_elsewhere_is_answered_with_a_stop(served: ServedRepository, api: TrackerApi) -> None:
    loop = start_pushed_loop(served, api)
    other, theirs = driven_elsewhere(served, loop)
    push_loop(other, replace_state(other, theirs, theirs.model_copy(update={"gate": GATE}), "ask"))
    found = handle_issue_event(stop(served, api, ""), NOW)
    assert found == LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=True)
    assert answer_to(theirs, loop_folder(open_repository(served.clone), loop.loop)).choice is Choice.STOP


def test_a_loop_without_a_driver_is_stopped_here(served: ServedRepository, api: TrackerApi) -> None:
    """Its branch is nowhere, and its remote has not heard of it."""
    loop = started(served, api)
    changed(served, loop, config=loop.config.model_copy(update={"remote": RemoteConfig(push=True)}))
    assert isinstance(handle_issue_event(stop(served, api, ""), NOW), Handled)
    assert stored(served, loop).outcome is Outcome.CANCELLED
    assert read_ref(served.bare, state_ref(loop.loop)) is None


def test_an_issue_of_a_completed_loop_is_closed_without_a_remote(served: ServedRepository, api: TrackerApi) -> None:
    loop = started(served, api)
    done = changed(served, loop, config=loop.config.model_copy(update={"remote": PUSH_CONFIG}))
    completed(served, done)
    away(served)
    found = handle_issue_event(stop(served, api, ""), NOW)
    assert isinstance(found, Ignored)
    assert "has ended already" in found.reason
    assert not has_stop_comment(api)


def test_a_stop_does_not_move_a_checked_out_branch_and_says_so(served: ServedRepository, api: TrackerApi) -> None:
    loop = start_pushed_loop(served, api)
    driven_elsewhere(served, loop)
    sh(served.clone, "switch", "--quiet", loop.branch)
    with pytest.raises(HelmsmanError, match="checked out at"):
        handle_issue_event(stop(served, api, ""), NOW)
    assert "checked out at" in comments(api)[0]
    assert not has_stop_comment(api)
    assert (stored(served, loop), sh(served.clone, "status", "--porcelain")) == (loop, "")
