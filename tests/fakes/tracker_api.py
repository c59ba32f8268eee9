"""An issue tracker on loopback that behaves like GitHub's or Gitea's API and checks each request against its schema."""

import json
import re
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.fakes.http_server import Call, Reply, serve_http
from tests.fakes.tracker_schema import OPERATIONS, Kind, violations

REPOSITORY = "acme/site"
BOT = "helmsman-bot"
TOKEN = "tracker-token-of-the-test"
START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@dataclass
class Said:
    """A comment."""

    identity: int
    author: str
    body: str
    created: datetime
    updated: datetime
    original_author: str = ""


@dataclass
class Issue:
    number: int
    author: str
    title: str
    body: str
    labels: list[str]
    updated: datetime
    is_open: bool = True
    pull: bool = False
    comments: list[Said] = field(default_factory=list[Said])


@dataclass
class Pull:
    """A pull request."""

    number: int
    title: str
    body: str
    head: str
    base: str
    is_open: bool = True


class Fault(NamedTuple):
    """A response that replaces that of the next matching request."""

    status: int
    headers: Mapping[str, str] = {}
    method: str = ""
    """Only to a request of this method."""
    path: str = ""
    """Only to a request whose path ends so."""
    content: str = "{}"
    """JSON."""
    done: bool = False
    """Whether the request is executed and only its response is lost."""


class Answer(NamedTuple):
    status: int
    content: Any
    headers: Mapping[str, str] = {}


class TrackerApi:
    """The server. `violations` must stay empty; a test that uses it asserts that at its end."""

    def __init__(self, kind: Kind, *, most: int = 30, may_label: bool = True) -> None:
        """`most`: objects that a page has at most. `may_label`: whether the token may write."""
        self.kind: Kind = kind
        self.most, self.may_label = most, may_label
        self.issues: dict[int, Issue] = {}
        self.pulls: list[Pull] = []
        self.labels: dict[str, int] = {}
        self.violations: list[str] = []
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.lagging = False
        """Whether lists do not show new issues yet."""
        self.now = START
        self.writing = threading.RLock()
        self.url = ""
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self.url = f"{self._running.enter_context(serve_http(self._respond))}{'/api/v1' if self.kind == 'gitea' else ''}"
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _respond(self, call: Call) -> Reply:
        answer = self.answer(call.method, call.target, call.headers, json.loads(call.body) if call.body else None)
        content = b"" if answer.content is None else json.dumps(answer.content).encode()
        return Reply(answer.status, content, {"content-type": "application/json", **answer.headers})

    def say(self, number: int, author: str, body: str, *, edited: bool = False, original_author: str = "") -> Said:
        """A comment by a person."""
        with self.writing:
            said = Said(self._identity(), author, body, self._tick(), self.now, original_author)
            said.updated = said.created + timedelta(minutes=5) if edited else said.created
            self.issues[number].comments.append(said)
            return said

    def open_issue(self, author: str, body: str, labels: list[str], *, pull: bool = False) -> Issue:
        """Open an issue as another user."""
        with self.writing:
            issue = Issue(len(self.issues) + 1, author, "An issue", body, labels, self._tick(), pull=pull)
            self.labels |= {name: len(self.labels) + 1 for name in labels if name not in self.labels}
            self.issues[issue.number] = issue
            return issue

    # --- operations, by their names in the description ----------------------------------------------------------------

    def list_issues(self, query: Mapping[str, str], _: Any) -> Answer:
        wanted = {name for name in query.get("labels", "").split(",") if name and (self.kind == "github" or name in self.labels)}
        found = [one for one in self.issues.values() if _fits(one, query, wanted, every=self.kind == "github")]
        shown = [] if self.lagging else sorted(found, key=lambda one: -one.number)
        return self._page([self._issue(one) for one in shown], query, link=True)

    def create_issue(self, _: Mapping[str, str], body: Any) -> Answer:
        labels = self._names(body.get("labels", [])) if self.may_label else []  # silently, as both do it
        issue = self.open_issue(BOT, body.get("body", ""), labels)
        issue.title = body["title"]
        return Answer(201, self._issue(issue))

    def get_issue(self, _: Mapping[str, str], __: Any, number: str) -> Answer:
        return Answer(200, self._issue(self.issues[int(number)]))

    def edit_issue(self, _: Mapping[str, str], body: Any, number: str) -> Answer:
        issue = self.issues[int(number)]
        issue.is_open = body.get("state", "open" if issue.is_open else "closed") == "open"
        issue.updated = self._tick()
        return Answer(201 if self.kind == "gitea" else 200, self._issue(issue))

    def list_comments(self, query: Mapping[str, str], _: Any, number: str) -> Answer:
        since = query.get("since", "")
        found = [_comment(one) for one in self.issues[int(number)].comments if _stamp(one.updated) >= since]
        whole = Answer(200, found, {"X-Total-Count": str(len(found))})
        return whole if self.kind == "gitea" else self._page(found, query, link=True)

    def create_comment(self, _: Mapping[str, str], body: Any, number: str) -> Answer:
        said = self.say(int(number), BOT, body["body"])
        self.issues[int(number)].updated = said.created
        return Answer(201, _comment(said))

    def list_labels(self, query: Mapping[str, str], _: Any) -> Answer:
        return self._page([_label(name, self.labels[name]) for name in self.labels], query, link=self.kind == "github")

    def create_label(self, _: Mapping[str, str], body: Any) -> Answer:
        if not self.may_label:
            return Answer(403, {"message": "must have write access"})
        if body["name"] in self.labels:
            return Answer(422, {"message": "already_exists"})
        self.labels[body["name"]] = len(self.labels) + 1
        return Answer(201, _label(body["name"], self.labels[body["name"]]))

    def add_labels(self, _: Mapping[str, str], body: Any, number: str) -> Answer:
        if not self.may_label:
            return Answer(403, {"message": "must have write access"})
        issue = self.issues[int(number)]
        issue.labels = list(dict.fromkeys((*issue.labels, *self._names(body["labels"]))))
        return Answer(200, [_label(name, self.labels[name]) for name in issue.labels])

    def remove_label(self, _: Mapping[str, str], __: Any, number: str, handle: str) -> Answer:
        name = unquote(handle) if self.kind == "github" else {str(at): one for one, at in self.labels.items()}[handle]
        if name not in self.issues[int(number)].labels:
            return Answer(404, {"message": "Label does not exist"})
        self.issues[int(number)].labels.remove(name)
        return Answer(200, []) if self.kind == "github" else Answer(204, None)

    def get_user(self, _: Mapping[str, str], __: Any) -> Answer:
        return Answer(200, {"id": 1, "login": BOT})

    def list_pulls(self, query: Mapping[str, str], _: Any) -> Answer:
        head = query.get("head", "").partition(":")[2]
        found = [one for one in self.pulls if head in {"", one.head} and query.get("base", one.base) == one.base]
        return self._page([self._pull(one) for one in found], query, link=True)

    def get_pull(self, _: Mapping[str, str], __: Any, base: str, head: str) -> Answer:
        found = [one for one in self.pulls if (one.base, one.head) == (unquote(base), unquote(head))]
        return Answer(200, self._pull(found[0])) if found else Answer(404, {"message": "pull request does not exist"})

    def create_pull(self, _: Mapping[str, str], body: Any) -> Answer:
        if any(one.is_open and (one.head, one.base) == (body["head"], body["base"]) for one in self.pulls):
            return Answer(422 if self.kind == "github" else 409, {"message": "A pull request already exists"})
        made = Pull(1000 + len(self.pulls), body["title"], body.get("body", ""), body["head"], body["base"])
        self.pulls.append(made)
        return Answer(201, self._pull(made))

    # --- the server ---------------------------------------------------------------------------------------------------

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer:
        """The response to a request; one that violates the schema is recorded and rejected."""
        with self.writing:
            path = urlsplit(target).path
            fault = next((one for one in self.faults if one.method in {"", method} and path.endswith(one.path)), None)
            if fault is None:
                return self._done(method, target, headers, body)
            self.faults.remove(fault)
            if fault.done:
                self._done(method, target, headers, body)
            return Answer(fault.status, json.loads(fault.content), fault.headers)

    def _done(self, method: str, target: str, headers: Mapping[str, str], body: Any) -> Answer:
        parts = urlsplit(target)
        root = "/api/v1" if self.kind == "gitea" else ""
        home = root if parts.path == f"{root}/user" else f"{root}/repos/{REPOSITORY}"
        self.requests.append(f"{method} {parts.path.removeprefix(home)}")
        if headers.get("authorization", "").split(" ")[-1] != TOKEN:
            return Answer(401, {"message": "Bad credentials"})
        if not parts.path.startswith(home):
            return Answer(404, {"message": "Not Found"})
        for operation in OPERATIONS[self.kind]:
            found = re.fullmatch(operation.path, parts.path.removeprefix(home))
            if found and operation.method == method:
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                wrong = violations(self.kind, operation, headers, query, body)
                self.violations += [f"{method} {parts.path}: {one}" for one in wrong]
                return Answer(422, {"message": wrong}) if wrong else self._act(operation.act, query, body, found.groups())
        self.violations.append(f"{method} {parts.path}: no such operation")
        return Answer(404, {"message": "Not Found"})

    def _act(self, act: str, query: Mapping[str, str], body: Any, places: tuple[str, ...]) -> Answer:
        if places and places[0].isdecimal() and int(places[0]) not in self.issues:
            return Answer(404, {"message": "Not Found"})
        return getattr(self, act)(query, body, *places)

    def _page(self, found: list[Any], query: Mapping[str, str], *, link: bool) -> Answer:
        size = min(int(query.get("per_page", query.get("limit", 30))), self.most)
        page = int(query.get("page", 1))
        more = {"Link": f'<{self.url}/elsewhere?page={page + 1}>; rel="next"'} if link and len(found) > page * size else {}
        total = {"X-Total-Count": str(len(found))} if self.kind == "gitea" else {}
        return Answer(200, found[(page - 1) * size : page * size], {**more, **total})

    def _issue(self, one: Issue) -> dict[str, Any]:
        return {
            "id": 1000 + one.number,
            "number": one.number,
            "title": one.title,
            "body": one.body.replace("\n", "\r\n") or None,
            "state": "open" if one.is_open else "closed",
            "user": {"login": one.author},
            "labels": [_label(name, self.labels[name]) for name in one.labels],
            "updated_at": _stamp(one.updated),
            **({"pull_request": {"merged": False}} if one.pull else {"pull_request": None} if self.kind == "gitea" else {}),
        }

    def _pull(self, one: Pull) -> dict[str, Any]:
        return {
            "id": 5000 + one.number,
            "number": one.number,
            "state": "open" if one.is_open else "closed",
            "html_url": f"{self.url}/{REPOSITORY}/pulls/{one.number}",
            "body": one.body,
            "head": {"ref": one.head},
            "base": {"ref": one.base},
        }

    def _names(self, labels: list[Any]) -> list[str]:
        names = labels if self.kind == "github" else [name for name, identity in self.labels.items() if identity in labels]
        self.labels |= {name: len(self.labels) + 1 for name in names if name not in self.labels}
        return names

    def _identity(self) -> int:
        return 1 + sum(len(one.comments) for one in self.issues.values())

    def _tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def _fits(one: Issue, query: Mapping[str, str], wanted: set[str], *, every: bool) -> bool:
    """GitHub lists issues with all labels, Gitea those with any, and it ignores unknown labels."""
    labelled = wanted <= set(one.labels) if every else not wanted or bool(wanted & set(one.labels))
    state = query.get("state", "open")
    return labelled and state in {"all", "open" if one.is_open else "closed"} and _stamp(one.updated) >= query.get("since", "")


def _comment(one: Said) -> dict[str, Any]:
    return {
        "id": one.identity,
        "body": one.body,
        "user": {"login": one.author} if one.author else None,
        "created_at": _stamp(one.created),
        "updated_at": _stamp(one.updated),
        **({"original_author": one.original_author} if one.original_author else {}),
    }


def _label(name: str, identity: int) -> dict[str, Any]:
    return {"id": identity, "name": name, "color": "5319e7"}


def _stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
