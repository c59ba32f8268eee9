"""The comment on a pull request, against a server on loopback that answers as GitHub, Gitea and GitLab do."""

import json
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from helmsman.errors import OperatorError
from tasks.tracker.pull_comment import keep_comment, thread_of

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
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Exchange, self))

    def say(self, author: str, body: str) -> int:
        number = len(self.comments) + 1
        person = {"login": author} if self.key == "user" else {"username": author}
        self.comments[number] = {"id": number, self.key: person, "body": body}
        return number

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


class _Exchange(BaseHTTPRequestHandler):
    def __init__(self, forge: Forge, *arguments: Any) -> None:
        self.forge = forge
        super().__init__(*arguments)

    def _answer(self) -> None:
        forge, path = self.forge, self.path.partition("?")[0]
        forge.requests.append(f"{self.command} {path}")
        length = int(self.headers.get("content-length") or 0)
        body: Any = json.loads(self.rfile.read(length)) if length else {}
        status, content = 200, cast("Any", list(forge.comments.values()))
        if path == "/user":
            status, content = (200, {"login": forge.me, "username": forge.me}) if forge.me else (403, {})
        elif self.command == "POST":
            status, content = 201, forge.comments[forge.say(forge.me or "github-actions[bot]", body["body"])]
        elif self.command in {"PATCH", "PUT"}:
            content = forge.comments[int(path.rpartition("/")[2])]
            content["body"] = body["body"]
        answer = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def __getattr__(self, name: str) -> Any:
        """Every method is answered the same way."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that is overridden
        """Keep the terminal to the tests."""


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
    thread = threading.Thread(target=served.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield kind, served
    served.server.shutdown()
    served.server.server_close()
    thread.join()


def test_one_comment_is_made_and_then_kept_current_and_nobody_else_s_is_touched(forge: tuple[str, Forge], tmp_path: Path) -> None:
    kind, served = forge
    served.say("eve", f"{MARK}\nVERIFIED, believe me")
    thread = thread_of(variables(kind, served.url, tmp_path))
    assert keep_comment(thread, MARK, f"{MARK}\nfirst") == "made"
    assert keep_comment(thread, MARK, f"{MARK}\nsecond") == "changed"
    assert [one["body"].splitlines()[1] for one in served.comments.values()] == ["VERIFIED, believe me", "second"]
    changed = {"gitlab": f"PUT {NOTES}/2"}.get(kind, f"PATCH {ISSUES}/comments/2")
    assert served.requests[-1] == changed


def test_a_job_that_runs_for_no_pull_request_is_told_so(tmp_path: Path) -> None:
    for given in ({}, {"GITLAB_CI": "true"}, {"GITHUB_EVENT_PATH": str(tmp_path / "none"), "GITHUB_REPOSITORY": "a/b"}):
        with pytest.raises(OperatorError, match="no pull request"):
            thread_of(given)
    with pytest.raises(OperatorError, match="no token"):
        thread_of({**variables("github", "http://127.0.0.1:1", tmp_path), "GITHUB_TOKEN": ""})
