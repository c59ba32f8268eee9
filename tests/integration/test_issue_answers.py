"""Answers and cancels at an issue where somebody dies, or two come at once: none is acknowledged and lost."""

from typing import Any
from uuid import uuid4

import pytest

from helmsman.errors import TransientError
from helmsman.records.gates import Choice, Gate, GateKind
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.triggers import Handled, Ignored
from tasks.approvals import answers
from tasks.loop.recover import repair
from tasks.loop.run import drive_loop
from tasks.repository.git import open_repository
from tasks.repository.loop_context import LoopContext, loop_folder
from tasks.repository.state_ref import Fenced
from tasks.system.lock import exclusive_driver
from tasks.system.paths import LoopFolder
from tasks.triggers.issues import handle_issue_event
from tests.fakes.push_receiver import ServedRepository
from tests.fakes.tracker_api import TrackerApi
from tests.integration.test_issues import NOW, ONE_KIND, changed, comment_event, comments, event, served, started
from tests.integration.trackers import api

__all__ = ["api", "served"]
pytestmark = [pytest.mark.slow, pytest.mark.feature("D6"), pytest.mark.usefixtures("home")]


def waiting_loop(served: ServedRepository, api: TrackerApi) -> tuple[LoopState, Gate, LoopFolder]:
    """A loop that asks, and that nobody drives."""
    gate = Gate(key="milestone-1-1", kind=GateKind.MILESTONE, question="And now?", asked_at=NOW)
    loop = changed(served, started(served, api), gate=gate)
    return loop, gate, loop_folder(open_repository(served.clone), loop.loop)


def resume_paused(*_: Any) -> bool:
    """What the engine says that knows no run of the loop."""
    return False


@ONE_KIND
@pytest.mark.parametrize("then", ["the same event", "/helmsman approve"])
def test_an_answer_whose_bringer_died_is_followed_by_the_next_answer(
    then: str, served: ServedRepository, api: TrackerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, gate, folder = waiting_loop(served, api)

    def away(*_: Any) -> bool:
        raise TransientError("the Prefect server does not answer")

    monkeypatch.setattr("tasks.approvals.pause.resume_paused", away)
    first = comment_event(served, api, "/helmsman approve", 1)
    with pytest.raises(TransientError):
        handle_issue_event(first, NOW)
    monkeypatch.setattr("tasks.approvals.pause.resume_paused", resume_paused)
    again = first if then == "the same event" else comment_event(served, api, then, 2)
    assert handle_issue_event(again, NOW) == LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=True)
    found = answers.find_answer(folder.answers, loop.uid, gate.key)
    assert found is not None
    assert found.choice is Choice.APPROVE
    if then == "/helmsman approve":  # by the same person, later: the reply says which counts
        assert handle_issue_event(comment_event(served, api, then, 3).model_copy(update={"by": "bob"}), NOW) is not None
        assert "the first answer counts: **approve** by `alice`" in comments(api)[-1]


@ONE_KIND
@pytest.mark.parametrize("what", ["/helmsman cancel", "/helmsman stop", ""])
def test_a_stop_precedes_an_unread_answer(
    what: str, served: ServedRepository, api: TrackerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.approvals.pause.resume_paused", resume_paused)
    loop, gate, folder = waiting_loop(served, api)
    handle_issue_event(comment_event(served, api, "/helmsman approve", 1), NOW)
    stop = comment_event(served, api, what, 2) if what else event(served, api, "withdrawn")
    assert handle_issue_event(stop, NOW) == LoopRequest(repository=str(served.clone), loop=loop.loop, reopen=True)
    found = answers.find_answer(folder.answers, loop.uid, gate.key)
    assert found is not None
    assert found.choice is Choice.STOP


@ONE_KIND
def test_a_second_answer_is_told_which_answer_counts(served: ServedRepository, api: TrackerApi) -> None:
    loop, _, folder = waiting_loop(served, api)
    with exclusive_driver(folder.lock, loop.loop):
        handle_issue_event(comment_event(served, api, "/helmsman approve", 1), NOW)
        assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman stop", 2), NOW), Ignored)
    assert "approve by alice" in comments(api)[-1]


@ONE_KIND
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


@ONE_KIND
def test_an_answer_in_a_comment_is_stored_like_any_other(served: ServedRepository, api: TrackerApi) -> None:
    gate = Gate(key="milestone-1-1", kind=GateKind.MILESTONE, question="And now?", asked_at=NOW)
    loop = changed(served, started(served, api), gate=gate)
    folder = loop_folder(open_repository(served.clone), loop.loop)
    with exclusive_driver(folder.lock, loop.loop):
        assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman perhaps", 1), NOW), Ignored)
        assert answers.find_answer(folder.answers, loop.uid, gate.key) is None
        assert isinstance(handle_issue_event(comment_event(served, api, "/helmsman approve Go on", 2), NOW), Handled)
    answer = answers.find_answer(folder.answers, loop.uid, gate.key)
    assert answer is not None
    assert (answer.choice, answer.guidance, answer.by, answer.via) == (Choice.APPROVE, "Go on", "alice", "tracker")
    refused, understood = comments(api)
    assert "Not understood" in refused
    assert "Understood as **approve**" in understood
