"""The comment on a pull request, against a loopback server that answers like GitHub, Gitea and GitLab."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from helmsman.errors import OperatorError
from tasks.trackers.pull_comment import thread_of, update_comment
from tests.fakes.http_server import Call, Reply, serve_http

pytestmark = pytest.mark.feature("V19")

MARK = "<!-- helmsman verify -->"
ISSUES = "/repos/acme/site/issues"
NOTES = "/projects/42/merge_requests/7/notes"


class Forge:
    """Comments of one pull request. `me`: whose the token is; empty where the token may not ask."""

    def __init__(self, me: str, key: str) -> None:
        self.me, self.key = me, key
        self.comments: dict[int, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.url = ""

    def say(self, author: str, body: str) -> int:
        number = len(self.comments) + 1
        person = {"login": author} if self.key == "user" else {"username": author}
        self.comments[number] = {"id": number, self.key: person, "body": body}
        return number

    def respond(self, call: Call) -> Reply:
        path = call.target.partition("?")[0]
        self.requests.append(f"{call.method} {path}")
        body: Any = json.loads(call.body) if call.body else {}
        status, content = 200, cast("Any", list(self.comments.values()))
        if path == "/user":
            status, content = (200, {"login": self.me, "username": self.me}) if self.me else (403, {})
        elif call.method == "POST":
            status, content = 201, self.comments[self.say(self.me or "github-actions[bot]", body["body"])]
        elif call.method in {"PATCH", "PUT"}:
            content = self.comments[int(path.rpartition("/")[2])]
            content["body"] = body["body"]
        return Reply(status, json.dumps(content).encode())


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


def test_a_job_without_a_pull_request_is_rejected(tmp_path: Path) -> None:
    for given in ({}, {"GITLAB_CI": "true"}, {"GITHUB_EVENT_PATH": str(tmp_path / "none"), "GITHUB_REPOSITORY": "a/b"}):
        with pytest.raises(OperatorError, match="no pull request"):
            thread_of(given)
    with pytest.raises(OperatorError, match="no token"):
        thread_of({**variables("github", "http://127.0.0.1:1", tmp_path), "GITHUB_TOKEN": ""})
