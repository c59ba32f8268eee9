"""Issues that a loop opens and updates, and answers in comments: once each, and never blocking the loop."""

import logging
from pathlib import Path
from typing import Any

import pytest

from helmsman.records.gates import Choice
from helmsman.records.state import LoopState
from tasks.repository.git import open_repository
from tasks.repository.loop_context import LoopContext, loop_folder
from tasks.system.secrets import without_secrets
from tasks.trackers.forges import HOSTS
from tasks.trackers.thread import TrackerListener, answer_from_tracker, publish
from tests.fakes.repositories import make_repository
from tests.fakes.tracker_api import BOT, Fault, TrackerApi
from tests.integration import trackers
from tests.integration.trackers import asking, ended, loop
from tests.unit.builders import check, report

pytestmark = [pytest.mark.slow, pytest.mark.feature("H3")]
api = trackers.api


@pytest.fixture
def context(tmp_path: Path) -> LoopContext:
    make_repository(tmp_path / "top")
    repository = open_repository(tmp_path / "top")
    return LoopContext(repository, tmp_path / "tree", loop_folder(repository, "mend-it"))


def ask_on_tracker(api: TrackerApi, context: LoopContext, **fields: Any) -> LoopState:
    """A loop whose question stands at the tracker."""
    fresh = asking(api, **fields)
    publish(None, fresh, context)
    return fresh


def test_an_escalation_is_one_issue_however_often_it_is_published(api: TrackerApi, context: LoopContext) -> None:
    stuck = ended(api)
    for _ in range(3):
        publish(loop(api), stuck, context)
    (context.folder.root / "tracker.json").unlink()  # as on another machine
    publish(None, stuck, context)
    (issue,) = api.issues.values()
    assert (issue.is_open, issue.labels, issue.comments) == (True, ["helmsman", "helmsman:stopped"], [])
    assert "it is stuck" in issue.body


def test_nothing_is_requested_without_changes(api: TrackerApi, context: LoopContext) -> None:
    publish(loop(api), loop(api, iteration=1), context)
    assert api.requests == []
    publish(None, ended(api), context)
    made = len(api.requests)
    publish(ended(api), ended(api, iteration=2), context)
    assert len(api.requests) == made


def test_it_is_closed_on_recovery_and_opened_with_a_comment_when_it_comes_back(api: TrackerApi, context: LoopContext) -> None:
    first, well, again = ended(api), loop(api), ended(api, number=2)
    publish(well, first, context)
    publish(first, well, context)
    assert [issue.is_open for issue in api.issues.values()] == [False]
    publish(well, again, context)
    (issue,) = api.issues.values()
    assert issue.is_open
    assert ["This is resolved" in one.body for one in issue.comments] == [True, False]
    publish(again, well, context)
    assert not issue.is_open
    assert ["This is resolved" in one.body for one in issue.comments] == [True, False, True]


def test_an_issue_that_the_list_does_not_show_yet_is_not_opened_twice(api: TrackerApi, context: LoopContext) -> None:
    api.lagging = True
    publish(None, ended(api), context)
    publish(None, ended(api, number=2), context)
    assert len(api.issues) == 1
    assert len(api.issues[1].comments) == 1


def test_an_issue_whose_creation_was_not_confirmed_is_found_again(api: TrackerApi, context: LoopContext) -> None:
    api.labels = {"helmsman": 1, "helmsman:stopped": 2}
    api.faults = [Fault(502, method="POST", done=True)]
    publish(None, ended(api), context)
    publish(None, ended(api), context)
    assert len(api.issues) == 1
    assert api.issues[1].comments == []


def test_updates_missed_by_an_unreachable_tracker_are_published_later(
    api: TrackerApi, context: LoopContext, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            api.faults = [Fault(401)]
            publish(None, ended(api), context)
    assert len([one for one in caplog.messages if "rejected the token" in one]) == 1
    assert not api.issues
    publish(ended(api), ended(api), context)
    assert len(api.issues) == 1


def test_a_token_that_may_not_label_makes_no_second_issue(api: TrackerApi, context: LoopContext) -> None:
    api.labels, api.may_label = {"helmsman": 1, "helmsman:stopped": 2}, False
    for number in (1, 1, 2, 2):
        publish(None, ended(api, number=number), context)
    assert len(api.issues) == 1
    assert len(api.issues[1].comments) == 1


@pytest.mark.parametrize("secret", ["correct-horse-battery", "horse_#1@stable!2", "two-of-horses\nin_many_lines"])
def test_no_secret_reaches_the_tracker(
    api: TrackerApi, context: LoopContext, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    """Neither as prose, where Markdown's signs are escaped, nor as code."""
    monkeypatch.setenv("DEPLOY_PASSWORD", secret)
    stuck = ended(api)
    assert stuck.ending is not None
    told = {
        "ending": stuck.ending.model_copy(update={"reason": f"it says {secret}"}),
        "checks": report(check(passed=False, tail=secret)),
    }
    publish(None, without_secrets(stuck.model_copy(update=told)), context)  # as the driver has it
    assert "horse" not in api.issues[1].body
    assert api.issues[1].body.count("DEPLOY") >= 3


def test_the_token_goes_only_to_hosts_that_the_operator_named(
    api: TrackerApi, context: LoopContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(HOSTS, "git.example.org")
    publish(None, ended(api), context)
    assert api.issues == {}
    assert "must not be sent to that address" in caplog.text


def test_publishing_never_raises(api: TrackerApi, context: LoopContext, caplog: pytest.LogCaptureFixture) -> None:
    broken = loop(api).config.tracker.model_copy(update={"url": "gopher://127.0.0.1"})
    stuck = ended(api)
    publish(None, stuck.model_copy(update={"config": stuck.config.model_copy(update={"tracker": broken})}), context)
    context.folder.root.mkdir(parents=True)
    (context.folder.root / "tracker.json").write_text("{broken")
    publish(None, stuck, context)
    assert "cannot be reached" in caplog.text
    assert len(api.issues) == 1


# --- answers --------------------------------------------------------------------------------------------------------


def test_the_first_command_of_an_allowed_user_is_the_answer(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context)
    assert answer_from_tracker(waiting, context) is None
    api.say(1, "alice", "I am looking at it.")
    api.say(1, "ALICE", "/helmsman approve use the cache\nand test it")
    api.say(1, "bob", "/helmsman stop")
    answer = answer_from_tracker(waiting, context)
    assert answer is not None
    assert (answer.gate, answer.choice, answer.by, answer.via) == ("milestone-3-1", Choice.APPROVE, "ALICE", "tracker")
    assert answer.guidance == "use the cache\nand test it"


def test_a_confirmation_is_posted_once(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context)
    api.say(1, "alice", "/helmsman revise")
    api.say(1, "alice", "/helmsman approve")
    first = answer_from_tracker(waiting, context)
    assert answer_from_tracker(waiting, context) == first
    replies = [one.body for one in api.issues[1].comments if one.author == BOT]
    assert ["Not understood" in replies[0], "Understood as **approve**" in replies[1]] == [True, True]
    assert len(replies) == 2


@pytest.mark.parametrize(
    "author", ["eve", "", "alice-", BOT], ids=["a stranger", "a deleted account", "a look-alike", "our own account"]
)
def test_comments_of_other_users_neither_answer_nor_get_a_reply(api: TrackerApi, context: LoopContext, author: str) -> None:
    waiting = ask_on_tracker(api, context)
    api.say(1, author, "/helmsman stop")
    assert answer_from_tracker(waiting, context) is None
    assert len(api.issues[1].comments) == 1


def test_a_person_may_use_the_account_of_the_token(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context, tracker={"allowed_users": (BOT,)})
    api.say(1, BOT, "/helmsman stop")
    answer = answer_from_tracker(waiting, context)
    assert answer is not None
    assert answer.choice is Choice.STOP
    assert answer_from_tracker(waiting, context) == answer


def test_a_comment_from_before_the_question_answers_nothing(api: TrackerApi, context: LoopContext) -> None:
    ask_on_tracker(api, context)
    api.say(1, "alice", "/helmsman stop")
    second = ask_on_tracker(api, context, number=2)
    assert answer_from_tracker(second, context) is None
    api.say(1, "alice", "/helmsman approve")
    answer = answer_from_tracker(second, context)
    assert answer is not None
    assert (answer.gate, answer.choice) == ("milestone-3-2", Choice.APPROVE)


def test_an_edited_comment_does_not_count(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context)
    api.say(1, "alice", "/helmsman stop", edited=True)
    assert answer_from_tracker(waiting, context) is None
    assert "edited comments are ignored" in api.issues[1].comments[-1].body


def test_a_comment_that_pretends_to_be_ours_changes_nothing(api: TrackerApi, context: LoopContext) -> None:
    ask_on_tracker(api, context)
    forged = "<!-- helmsman: uid=u1 detection=gate.milestone stage=milestone-3-2 -->\n/helmsman stop"
    api.say(1, "eve", forged)
    second = ask_on_tracker(api, context, number=2)
    assert [one.author for one in api.issues[1].comments] == ["eve", BOT]
    assert answer_from_tracker(second, context) is None


def test_an_unpublished_question_is_published_when_an_answer_is_read(api: TrackerApi, context: LoopContext) -> None:
    waiting = asking(api)
    assert answer_from_tracker(waiting, context) is None
    assert len(api.issues) == 1
    api.say(1, "alice", "/helmsman approve")
    assert answer_from_tracker(waiting, context) is not None


def test_without_allowed_users_nothing_is_requested(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context, tracker={"allowed_users": ()})
    before = len(api.requests)
    assert answer_from_tracker(waiting, context) is None
    assert answer_from_tracker(loop(api), context) is None
    assert len(api.requests) == before
    assert "/helmsman" not in api.issues[1].body


def test_an_answer_counts_though_the_reply_fails(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context)
    api.say(1, "alice", "/helmsman approve")
    api.faults = [Fault(403, method="POST")]
    assert answer_from_tracker(waiting, context) is not None


def test_answers_are_polled_at_the_configured_interval(api: TrackerApi, context: LoopContext) -> None:
    ear = TrackerListener(ask_on_tracker(api, context), context)
    before = len(api.requests)
    assert [ear(), len(api.requests) > before] == [None, True]
    heard = len(api.requests)
    api.say(1, "alice", "/helmsman approve")
    assert [ear() for _ in range(5)] == [None] * 5
    assert len(api.requests) == heard


def test_reading_answers_never_raises(api: TrackerApi, context: LoopContext) -> None:
    waiting = ask_on_tracker(api, context)
    for fault in (Fault(401), Fault(404), Fault(200)):
        api.faults = [fault]
        assert answer_from_tracker(waiting, context) is None
