"""The comment on a pull request, against a loopback server that answers like GitHub, Gitea and GitLab."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from deployments.verify import verify_change
from helmsman.errors import OperatorError
from tasks.trackers.pull_request import thread_of, update_comment
from tests.fakes.forge import Forge
from tests.fakes.http_server import serve_http
from tests.fakes.repositories import commit, make_repository

pytestmark = pytest.mark.feature("V19")

MARK = "<!-- helmsman verify -->"
ISSUES = "/repos/acme/site/issues"
NOTES = "/projects/42/merge_requests/7/notes"


def variables(kind: str, url: str, folder: Path) -> Mapping[str, str]:
    if kind == "gitlab":
        given = {"GITLAB_CI": "true", "CI_API_V4_URL": url, "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7"}
        return {**given, "HELMSMAN_TRACKER_TOKEN": "t"}
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    own = {"GITEA_ACTIONS": "true"} if kind == "gitea" else {}
    return {**own, "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "acme/site", "GITHUB_API_URL": url, "GITHUB_TOKEN": "t"}


@pytest.fixture(params=[("github", ""), ("gitea", "helmsman-bot"), ("gitlab", "helmsman-bot")], ids=lambda one: one[0])
def forge(request: pytest.FixtureRequest) -> Iterator[tuple[str, Forge]]:
    kind, me = request.param
    served = Forge(me, "author" if kind == "gitlab" else "user")
    with serve_http(served.respond) as served.url:
        yield kind, served


def test_one_comment_is_created_then_updated_and_others_are_not_touched(forge: tuple[str, Forge], tmp_path: Path) -> None:
    kind, served = forge
    served.say("eve", f"{MARK}\nVERIFIED, believe me")
    thread = thread_of(variables(kind, served.url, tmp_path))
    assert update_comment(thread, MARK, f"{MARK}\nfirst") == "created"
    assert update_comment(thread, MARK, f"{MARK}\nsecond") == "updated"
    assert [one["body"].splitlines()[1] for one in served.comments.values()] == ["VERIFIED, believe me", "second"]
    changed = {"gitlab": f"PUT {NOTES}/2"}.get(kind, f"PATCH {ISSUES}/comments/2")
    assert served.requests[-1] == changed


def test_a_token_that_may_not_comment_is_told_what_it_needs(forge: tuple[str, Forge], tmp_path: Path) -> None:
    kind, served = forge
    served.may_write = False
    with pytest.raises(OperatorError, match="the comment was rejected") as raised:
        update_comment(thread_of(variables(kind, served.url, tmp_path)), MARK, f"{MARK}\nfirst")
    assert "pull-requests: write" in raised.value.expected
    assert "403" in raised.value.found
    assert "tracker.repository" not in str(raised.value)


def test_an_error_before_a_verdict_replaces_the_comment_on_the_last_push(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, served = make_repository(tmp_path / "top"), Forge("", "user")
    commit(top, "work", {"a": "a"})
    with serve_http(served.respond) as url:
        for name, value in variables("github", url, tmp_path).items():
            monkeypatch.setenv(name, value)
        update_comment(thread_of(os.environ), MARK, f"{MARK}\n### Helmsman verify: VERIFIED")
        with pytest.raises(OperatorError, match="no check is configured"):
            verify_change(top, yes=True, as_json=True, commits="HEAD~1..HEAD", comment=True)
    [left] = [one["body"] for one in served.comments.values()]
    assert left.startswith(f"{MARK}\n### Helmsman verify: NO VERDICT")
    assert "no check is configured" in left


def test_a_job_without_a_pull_request_is_rejected(tmp_path: Path) -> None:
    for given in ({}, {"GITLAB_CI": "true"}, {"GITHUB_EVENT_PATH": str(tmp_path / "none"), "GITHUB_REPOSITORY": "a/b"}):
        with pytest.raises(OperatorError, match="no pull request"):
            thread_of(given)
    with pytest.raises(OperatorError, match="no token"):
        thread_of({**variables("github", "http://127.0.0.1:1", tmp_path), "GITHUB_TOKEN": ""})
