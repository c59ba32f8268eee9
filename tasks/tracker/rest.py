"""What the APIs of Gitea and GitHub have in common; their adapters say where they differ."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self, TypeVar

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from helmsman.errors import OperatorError
from helmsman.plain import clean
from helmsman.records.tracking import OURS, Comment, Found, PullRequest
from tasks.tracker.calling import MOST_WORDS, Api, identity_of, unknown_form

COLOUR = "5319e7"
ABOUT_LABEL = "Opened by Helmsman, which steers a coding agent"
MISSING = frozenset({404, 410})
REFUSED = frozenset({409, 422})
"""What GitHub and Gitea answer to a pull request that is there already, or would hold nothing."""
NAMELESS = frozenset({401, 403, 404})
"""Tokens of an app, or of a narrow kind, may not ask whose they are."""
EDITED_AFTER = timedelta(seconds=2)
"""A server may touch a comment once more while it is made."""


class _User(BaseModel):
    login: str = ""


class _Label(BaseModel):
    name: str


class _Issue(BaseModel):
    number: int
    state: str
    body: str | None = None
    user: _User | None = None
    labels: list[_Label] = Field(default_factory=list[_Label])
    pull_request: dict[str, Any] | None = None


class _Comment(BaseModel):
    id: int
    body: str | None = None
    user: _User | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    original_author: str | None = None
    """At Gitea, of a comment that was brought from elsewhere: nobody here has written it."""


class _Ref(BaseModel):
    ref: str = ""


class _Pull(BaseModel):
    number: int
    state: str
    html_url: str = ""
    body: str | None = None
    head: _Ref = _Ref()


Form = TypeVar("Form", bound=BaseModel)


class IssueTracker(ABC):
    """Issues and pull requests of one repository. Everything that is not there yet is told apart from what cannot be asked.

    Every method raises OperatorError for what the operator can fix and WorldError for what may pass by itself.
    """

    list_query: ClassVar[Mapping[str, int]]
    """How many objects a page are asked for; a server may give fewer."""
    comments_query: ClassVar[Mapping[str, int]]
    """The same for comments."""
    colour: ClassVar[str] = COLOUR
    """Of a label, as the forge writes it."""

    def __init__(self, api: Api, repository: str) -> None:
        self._api = api
        self._home = f"/repos/{repository}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._api.__exit__(*exception)

    def find(self, since: datetime) -> Sequence[Found]:
        """Issues under our label, open or not, that were changed since then."""
        query = {"state": "all", "labels": OURS, "since": _stamp(since), **self.list_query}
        found = (_issue(one) for one in self._api.pages(f"{self._home}/issues", **query))
        return [issue for issue in found if issue is not None and OURS in issue.labels]  # Gitea knows no unknown label

    def get(self, number: int) -> Found | None:
        """An issue, None where there is none of that number any more."""
        reply = self._api.call("GET", self._issue(number), accept=MISSING)
        return None if reply.status in MISSING else _issue(reply.content)

    def create(self, title: str, body: str, labels: Sequence[str]) -> Found:
        """A new issue; labels that are missing are made."""
        content = {"title": title, "body": body, "labels": self._named(labels)}
        reply = self._api.call("POST", f"{self._home}/issues", body=content)
        made = _issue(reply.content)
        if made is None:
            raise unknown_form("a pull request in place of an issue")
        return made

    def comment(self, number: int, body: str) -> None:
        self._api.call("POST", f"{self._issue(number)}/comments", body={"body": body})

    def comments(self, number: int, since: datetime | None = None) -> Sequence[Comment]:
        """Those that were written or changed since then, oldest first."""
        query = {**self.comments_query, **({"since": _stamp(since)} if since else {})}
        found = [_comment(one) for one in self._api.pages(f"{self._issue(number)}/comments", **query)]
        return sorted(found, key=lambda one: (one.created_at, one.identity))

    def set_open(self, number: int, *, is_open: bool) -> None:
        self._api.call("PATCH", self._issue(number), body=self._state(is_open=is_open))

    def label(self, number: int, *, add: Sequence[str], remove: Iterable[str]) -> None:
        """Labels that are missing are made; other people's labels stay."""
        if add:
            self._api.call("POST", f"{self._issue(number)}/labels", body={"labels": self._named(add)})
        for handle in filter(None, map(self._handle, remove)):
            self._api.call("DELETE", f"{self._issue(number)}/labels/{handle}", accept=MISSING)

    def login(self) -> str:
        """Whose the token is; empty where it may not know."""
        reply = self._api.call("GET", "/user", accept=NAMELESS)
        return _read(_User, reply.content).login if reply.status not in NAMELESS else ""

    def pull_request(self, head: str, base: str) -> PullRequest | None:
        """The newest one from a branch of this repository into another, open or not."""
        found = (_pull(one) for one in self._pulls(head, base))
        return max((one for ref, one in found if ref == head), key=lambda one: one.number, default=None)

    def open_pull_request(self, title: str, body: str, head: str, base: str) -> PullRequest:
        """A new one, or the open one that is there. Raises OperatorError where the forge wants none."""
        content = {"title": title, "body": body, "head": head, "base": base}
        reply = self._api.call("POST", f"{self._home}/pulls", body=content, accept=REFUSED)
        if reply.status not in REFUSED:
            return _pull(reply.content)[1]
        found = self.pull_request(head, base)
        if found is None or not found.is_open:
            raise OperatorError(
                "the tracker's forge refuses the pull request",
                expected=f"branches {head} and {base} that differ, and a repository that takes pull requests",
                found=clean(f"{reply.status} {reply.content}")[:MOST_WORDS],
            )
        return found

    @abstractmethod
    def _pulls(self, head: str, base: str) -> Iterable[Any]:
        """Pull requests among which the one from `head` into `base` is, where there is one."""

    def _issue(self, number: int) -> str:
        return f"{self._home}/issues/{number}"

    def _known_labels(self) -> Mapping[str, int]:
        """Ids of the repository's labels by their names."""
        known = self._api.pages(f"{self._home}/labels", **self.list_query)
        return {str(label.get("name")): identity_of(label) for label in known}

    def _make_label(self, name: str) -> int:
        content = {"name": name, "color": self.colour, "description": ABOUT_LABEL}
        made = self._api.call("POST", f"{self._home}/labels", body=content).content
        return identity_of(made)

    @abstractmethod
    def _named(self, labels: Sequence[str]) -> list[str] | list[int]:
        """Labels as an issue takes them; those that are missing are made."""

    @abstractmethod
    def _handle(self, label: str) -> str:
        """A label in a path; empty where the repository has none of that name."""

    @abstractmethod
    def _state(self, *, is_open: bool) -> Mapping[str, str]: ...


def _read(form: type[Form], content: Any) -> Form:
    try:
        return form.model_validate(content)
    except ValidationError as error:
        raise unknown_form(str(error)) from error


def _issue(content: Any) -> Found | None:
    """None for a pull request: to these APIs it is an issue too."""
    read = _read(_Issue, content)
    if read.pull_request is not None:
        return None
    return Found(
        number=read.number,
        is_open=read.state == "open",
        author=read.user.login if read.user else "",
        body=read.body or "",
        labels=tuple(label.name for label in read.labels),
    )


def _pull(content: Any) -> tuple[str, PullRequest]:
    """Its head, and itself."""
    read = _read(_Pull, content)
    is_open = read.state == "open"
    return read.head.ref, PullRequest(number=read.number, url=read.html_url, is_open=is_open, body=read.body or "")


def _comment(content: Any) -> Comment:
    read = _read(_Comment, content)
    return Comment(
        identity=read.id,
        author=read.user.login if read.user and not read.original_author else "",
        body=read.body or "",
        created_at=read.created_at,
        edited=read.updated_at - read.created_at > EDITED_AFTER,
    )


def _stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
