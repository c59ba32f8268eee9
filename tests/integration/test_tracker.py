"""Gitea and GitHub clients against servers that validate each request by the public API description."""

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import SecretStr

from blocks.tracker import Tracker
from helmsman.errors import HelmsmanError, OperatorError, TransientError
from tasks.loopback import LoopbackServer, serving
from tasks.trackers.client import TOKEN as VARIABLE
from tasks.trackers.client import Api
from tasks.trackers.forges import IssueTracker, open_tracker
from tests.fakes.tracker_api import BOT, START, TOKEN, Fault, TrackerApi
from tests.integration import trackers
from tests.integration.trackers import configured
from tests.unit.builders import HOUR

pytestmark = [pytest.mark.slow, pytest.mark.feature("H3")]
api = trackers.api


def tracker(api: TrackerApi, **more: Any) -> IssueTracker:
    return open_tracker(configured(api, **more), 20)


def test_what_was_created_is_found_page_by_page_and_other_people_s_is_not(api: TrackerApi) -> None:
    api.open_issue("eve", "mine", ["bug"])
    api.open_issue("eve", "a change", ["helmsman"], pull=True)
    with tracker(api) as port:
        made = [port.create(f"No. {at}", f"first line\nof {at}", ("helmsman", "helmsman:E-II")) for at in range(7)]
        found = port.find(START)
    assert [issue.number for issue in made] == [3, 4, 5, 6, 7, 8, 9]
    assert sorted(issue.number for issue in found) == [3, 4, 5, 6, 7, 8, 9]
    assert {(issue.author, issue.is_open, issue.labels) for issue in found} == {(BOT, True, ("helmsman", "helmsman:E-II"))}
    assert found[-1].body.splitlines() == ["first line", "of 0"]


def test_what_was_not_changed_since_is_not_looked_at(api: TrackerApi) -> None:
    with tracker(api) as port:
        port.create("Old", "old", ("helmsman",))
        assert port.find(api.now + HOUR) == []


def test_labels_are_made_once_moved_and_leave_other_people_s_alone(api: TrackerApi) -> None:
    with tracker(api) as port:
        port.create("Another", "text", ("helmsman", "helmsman:E-II"))
        number = port.create("It", "text", ("helmsman", "helmsman:E-II")).number
        api.issues[number].labels.append("urgent")
        api.labels["urgent"] = 99
        port.label(number, add=("helmsman:E-III",), remove=("helmsman:E-II", "helmsman:question"))
    assert sorted(api.issues[number].labels) == ["helmsman", "helmsman:E-III", "urgent"]
    assert [name for name in api.labels if name.startswith("helmsman")] == ["helmsman", "helmsman:E-II", "helmsman:E-III"]


def test_comments_come_in_order_with_who_vouches_for_them(api: TrackerApi) -> None:
    with tracker(api) as port:
        number = port.create("It", "text", ("helmsman",)).number
        for at in range(5):
            api.say(number, "alice", f"comment {at}", edited=at == 3)
        api.say(number, "", "by a deleted account")
        api.say(number, "alice", "brought from elsewhere", original_author="" if api.kind == "github" else "alice")
        comments = port.comments(number)
        assert [one.identity for one in port.comments(number, comments[5].created_at)] == [4, 6, 7]
    assert [one.body for one in comments[:5]] == [f"comment {at}" for at in range(5)]
    assert [one.edited for one in comments] == [False, False, False, True, False, False, False]
    vouched_for = api.kind == "github"  # only Gitea brings comments from elsewhere, and says so
    assert [one.author for one in comments[4:]] == ["alice", "", "alice" if vouched_for else ""]


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (401, "token"),
        (403, "lacks a permission"),
        (404, "does not know"),
        (410, "no issues"),
        (301, "moved"),
        (303, "not found at this address"),
        (423, "archived"),
    ],
)
def test_errors_that_the_operator_can_fix_name_the_remedy_and_are_not_retried(api: TrackerApi, status: int, problem: str) -> None:
    api.faults = [Fault(status)]
    with pytest.raises(OperatorError, match=problem) as told, tracker(api) as port:
        port.find(START)
    assert told.value.remedy
    assert api.requests == []


@pytest.mark.parametrize("fault", [Fault(502), Fault(429, {"Retry-After": "0"}), Fault(403, {"Retry-After": "0"})])
def test_temporary_errors_are_retried(api: TrackerApi, fault: Fault) -> None:
    with tracker(api) as port:
        api.faults = [fault]
        assert port.find(START) == []


def test_a_tracker_that_asks_for_a_long_pause_is_not_called(api: TrackerApi) -> None:
    for headers in ({"Retry-After": "3600"}, {"X-RateLimit-Remaining": "0"}):
        api.faults = [Fault(403, headers)]
        with pytest.raises(TransientError), tracker(api) as port:
            port.find(START)
    assert api.requests == []


def of_a_pull_request(port: IssueTracker) -> object:
    return port.pull_request("helmsman/loop", "main")


def of_an_issue(port: IssueTracker) -> object:
    return port.get(1)


@pytest.mark.parametrize("content", ["null", '[{"state": "open"}]'])
@pytest.mark.parametrize("answer", [of_a_pull_request, of_an_issue, IssueTracker.login])
def test_a_response_of_unknown_format_is_a_transient_error(
    api: TrackerApi, answer: Callable[[IssueTracker], object], content: str
) -> None:
    """Such as a page of a proxy's: nothing but our own errors may come out of a tracker, or its loop would break."""
    api.faults = [Fault(200, content=content)]
    with pytest.raises(TransientError, match="unknown form") as told, tracker(api) as port:
        answer(port)
    assert "tracker.url" in told.value.remedy


def test_a_new_issue_is_not_asked_for_again_where_it_may_have_been_made(api: TrackerApi) -> None:
    with tracker(api) as port:
        port.create("First", "text", ("helmsman",))
        api.faults = [Fault(502, method="POST", done=True)]
        with pytest.raises(TransientError):
            port.create("Second", "text", ("helmsman",))
        api.faults = [Fault(429, {"Retry-After": "0"}, "POST")]
        port.create("Third", "text", ("helmsman",))
    assert [issue.title for issue in api.issues.values()] == ["First", "Second", "Third"]


def test_an_unreachable_tracker_is_a_transient_error(api: TrackerApi) -> None:
    with TrackerApi(api.kind) as gone:
        config = configured(gone)
    with pytest.raises(TransientError, match="cannot be reached") as told, open_tracker(config, 2) as port:
        port.find(START)
    assert gone.url in told.value.found


@pytest.mark.parametrize("token", ["schlüssel", "two\nlines", ""])
def test_an_invalid_token_is_an_operator_error(api: TrackerApi, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, token)
    with pytest.raises(OperatorError) as told, tracker(api) as port:
        port.find(START)
    assert VARIABLE in f"{told.value.remedy}{told.value.expected}"


def test_no_error_repeats_the_token(api: TrackerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{TOKEN}-of-somebody-else")
    with pytest.raises(HelmsmanError) as told, tracker(api, repository=f"acme/{TOKEN}-of-somebody-else") as port:
        port.find(START)
    assert TOKEN not in str(told.value)


def test_the_block_gives_the_token_and_does_not_show_it() -> None:
    block = Tracker(token=SecretStr("hidden-token"))
    assert block.environment() == {VARIABLE: "hidden-token"}
    assert "hidden" not in repr(block) + str(block)


class Dripping(BaseHTTPRequestHandler):
    """Sends a valid response in parts, none of which lets the client wait for long."""

    def do_GET(self) -> None:
        parts = (b"[", *[b" "] * 30, b"]")
        self.send_response_only(200)
        self.send_header("content-length", str(len(parts)))
        self.end_headers()
        for part in parts:
            self.wfile.write(part)
            time.sleep(0.1)


def test_a_response_that_comes_byte_by_byte_ends_with_the_time_for_all_calls() -> None:
    with (
        serving(LoopbackServer(("127.0.0.1", 0), Dripping), "dripping") as server,
        Api(f"http://127.0.0.1:{server.server_address[1]}", {}, patience=1) as api,
        pytest.raises(TransientError, match="slow"),
    ):
        api.call("GET", "/")
