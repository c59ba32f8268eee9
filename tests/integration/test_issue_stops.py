"""A stop at an issue whose loop travels: it reaches whoever drives the loop, wherever, or is not said to have been done."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from helmsman.config import RemoteConfig
from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.records.decision import Outcome
from helmsman.records.gates import Choice, Gate, GateKind
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.triggers import Handled, Ignored, IssueEvent
from tasks.approvals import answers
from tasks.loop.recover import close_loop
from tasks.loop.remote_handover import acquire_lease, pull_state
from tasks.repository.git import Repository, git, open_repository, read_ref
from tasks.repository.loop_context import LoopContext, loop_folder, worktree_of
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, parse_state, read_state, replace_state, state_ref
from tasks.repository.worktree import ensure_worktree
from tasks.triggers.issues import handle_issue_event
from tests.fakes.push_receiver import ServedRepository
from tests.fakes.repositories import commit, sh
from tests.fakes.tracker_api import TrackerApi
from tests.fakes.two_clones import PUSH_CONFIG, clone_remote, no_retry_delay
from tests.integration.test_issues import (
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
pytestmark = [pytest.mark.slow, pytest.mark.feature("D4", "D6"), ONE_KIND, pytest.mark.usefixtures("home")]


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


def test_a_question_that_is_asked_elsewhere_is_answered_with_a_stop(
    served: ServedRepository, api: TrackerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resume_paused(*_: Any) -> bool:
        return False

    monkeypatch.setattr("tasks.approvals.pause.resume_paused", resume_paused)
    loop = start_pushed_loop(served, api)
    other, theirs = driven_elsewhere(served, loop)
    gate = Gate(key="milestone-1-1", kind=GateKind.MILESTONE, question="And now?", asked_at=NOW)
    push_loop(other, replace_state(other, theirs, theirs.model_copy(update={"gate": gate}), "ask"))
    found = handle_issue_event(stop(served, api, ""), NOW)
    assert found == LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=True)
    answer = answers.find_answer(loop_folder(open_repository(served.clone), loop.loop).answers, theirs.uid, gate.key)
    assert answer is not None
    assert answer.choice is Choice.STOP


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
