"""Issues and pull requests of one repository at GitHub or Gitea (Forgejo has the same API).

Follows their public API descriptions, GitHub's of version 2022-11-28. A table lists the differences.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from helmsman.config import TrackerConfig
from helmsman.errors import OperatorError
from helmsman.parsers.loose import items, mapping
from helmsman.plain import clean
from helmsman.records.base import Record
from helmsman.records.tracking import LABEL, Comment, PullRequest, TrackerItem
from tasks.system.environment import own_environment
from tasks.trackers.client import MISSING_STATUSES, MOST_WORDS, NO_USER_STATUSES, TOKEN, Api, identity_of, unknown_format

HOSTS = "HELMSMAN_TRACKER_HOSTS"
PUBLIC = "api.github.com"
COLOUR = "5319e7"
ABOUT_LABEL = "Opened by Helmsman, which steers a coding agent"
REFUSED = frozenset({409, 422})
"""Statuses of GitHub and Gitea for a pull request that exists or would be empty."""
EDITED_AFTER = timedelta(seconds=2)
"""A server may update a comment again while creating it."""


class Forge(NamedTuple):
    """Differences between the kinds of forges."""

    headers: Mapping[str, str]
    """With the placeholder `{token}`."""
    listing: Mapping[str, int]
    """Query for the page size; a server may return fewer objects."""
    commenting: Mapping[str, int]
    """The same for comments; Gitea returns all of them at once."""
    colour: str
    labels_by_id: bool
    """Whether issues take label ids instead of names."""


FORGES = {
    "github": Forge(
        {"Accept": "application/vnd.github+json", "Authorization": "Bearer {token}", "X-GitHub-Api-Version": "2022-11-28"},
        {"per_page": 100},
        {"per_page": 100},
        COLOUR,
        labels_by_id=False,
    ),
    "gitea": Forge(
        {"Accept": "application/json", "Authorization": "token {token}"},
        {"limit": 50},
        {},
        f"#{COLOUR}",
        labels_by_id=True,
    ),
}


_Form = TypeVar("_Form", bound=Record)


def open_tracker(config: TrackerConfig, patience: float) -> "IssueTracker":
    """Tracker for a few calls, `patience` seconds in total. Raises OperatorError without a token for its host."""
    host = httpx.URL(config.url).host if config.url else PUBLIC
    if (
        host not in own_environment().get(HOSTS, PUBLIC).split()
    ):  # the repository sets the address, but the token is the operator's
        raise OperatorError(
            "the tracker's token must not be sent to that address",
            expected=f"one of the hosts in {HOSTS}",
            found=clean(config.url),
            remedy=f"if the host is yours, add it to {HOSTS} where the loops run",
        )
    forge, base = FORGES[config.kind or "github"], config.url or f"https://{PUBLIC}"
    return IssueTracker(forge, base, tracker_token(config), config.repository, patience)


def tracker_token(config: TrackerConfig) -> str:
    """Token from the configured Prefect block, else from the environment."""
    variables = own_environment()
    if config.block:
        from blocks.tracker import Tracker
        from tasks.credentials import of_block

        variables = of_block(Tracker, config.block, "tracker.block")
    token = variables.get(TOKEN, "").strip()
    if not token:
        raise OperatorError(
            "there is no token for the tracker",
            expected=f"{TOKEN} in the environment, or a Tracker block that tracker.block names",
            remedy="use one that may read and write issues and labels of tracker.repository",
        )
    return token


class IssueTracker(Api):
    """Issues and pull requests of one repository. Missing objects and failed requests are distinguished.

    Every method raises OperatorError for problems that the operator can fix, and TransientError for temporary ones.
    """

    def __init__(self, forge: Forge, base: str, token: str, repository: str, patience: float) -> None:
        """Makes no request."""
        super().__init__(base, {name: value.format(token=token) for name, value in forge.headers.items()}, patience)
        self._forge, self._repository, self._home = forge, repository, f"/repos/{repository}"

    def find(self, since: datetime) -> Sequence[TrackerItem]:
        """Issues with our label, open or closed, updated since then."""
        query = {"state": "all", "labels": LABEL, "since": _timestamp(since), **self._forge.listing}
        issues = (_issue_of(item) for item in self.pages(f"{self._home}/issues", **query))
        return [issue for issue in issues if issue is not None and LABEL in issue.labels]  # Gitea ignores an unknown label

    def get(self, number: int) -> TrackerItem | None:
        """The issue, or None if it does not exist."""
        reply = self.call("GET", self._issue_path(number), accept=MISSING_STATUSES)
        return None if reply.status in MISSING_STATUSES else _issue_of(reply.content)

    def create(self, title: str, body: str, labels: Sequence[str]) -> TrackerItem:
        """Create an issue, and missing labels."""
        content = {"title": title, "body": body, "labels": self._made(labels)}
        created = _issue_of(self.call("POST", f"{self._home}/issues", content).content)
        if created is None:
            raise unknown_format("a pull request instead of an issue")
        return created

    def comment(self, number: int, body: str) -> None:
        self.call("POST", f"{self._issue_path(number)}/comments", {"body": body})

    def comments(self, number: int, since: datetime | None = None) -> Sequence[Comment]:
        """Comments created or updated since then, oldest first."""
        query = {**self._forge.commenting, **({"since": _timestamp(since)} if since else {})}
        comments: list[Comment] = []
        for raw in self.pages(f"{self._issue_path(number)}/comments", **query):
            # an imported comment at Gitea has an original author, who is not a user there
            author = "" if raw.get("original_author") else _author_of(raw)
            created_at, identity, body = raw.get("created_at"), identity_of(raw), raw.get("body") or ""
            comment = _validate(Comment, identity=identity, author=author, body=body, created_at=created_at)
            updated_at = _validate(Comment, identity=identity, created_at=raw.get("updated_at")).created_at
            comments.append(comment.model_copy(update={"edited": updated_at - comment.created_at > EDITED_AFTER}))
        return sorted(comments, key=lambda comment: (comment.created_at, comment.identity))

    def set_open(self, number: int, *, is_open: bool) -> None:
        self.call("PATCH", self._issue_path(number), {"state": "open" if is_open else "closed"})

    def label(self, number: int, *, add: Sequence[str], remove: Iterable[str]) -> None:
        """Add and remove labels, creating missing ones; other labels stay."""
        if add:
            self.call("POST", f"{self._issue_path(number)}/labels", {"labels": self._made(add)})
        for label in remove:
            handle = self._labels().get(label) if self._forge.labels_by_id else quote(label, safe="")
            if handle is not None:
                self.call("DELETE", f"{self._issue_path(number)}/labels/{handle}", accept=MISSING_STATUSES)

    def login(self) -> str:
        """User of the token; empty if the token may not read it."""
        reply = self.call("GET", "/user", accept=NO_USER_STATUSES)
        login = "" if reply.status in NO_USER_STATUSES else mapping(reply.content).get("login")
        if not isinstance(login, str):
            raise unknown_format("a user without a login")
        return login

    def pull_request(self, head: str, base: str) -> PullRequest | None:
        """Newest pull request from `head` into `base`, open or closed. Gitea has no such query, so all are listed."""
        branches = {"head": f"{self._repository.partition('/')[0]}:{head}", "base": base}
        query = {"state": "all", **self._forge.listing, **({} if self._forge is FORGES["gitea"] else branches)}
        pulls = self.pages(f"{self._home}/pulls", **query)
        matching = (pull for pull in pulls if [mapping(pull.get(side)).get("ref") for side in ("head", "base")] == [head, base])
        return max(map(_pull_request_of, matching), key=lambda pull: pull.number, default=None)

    def open_pull_request(self, title: str, body: str, head: str, base: str) -> PullRequest:
        """Create a pull request, or return the open one. Raises OperatorError if the forge rejects it."""
        content = {"title": title, "body": body, "head": head, "base": base}
        reply = self.call("POST", f"{self._home}/pulls", content, accept=REFUSED)
        if reply.status not in REFUSED:
            return _pull_request_of(reply.content)
        existing = self.pull_request(head, base)
        if existing is None or not existing.is_open:
            raise OperatorError(
                "the forge rejected the pull request",
                expected=f"branches {head} and {base} that differ, and a repository that takes pull requests",
                found=clean(f"{reply.status} {reply.content}")[:MOST_WORDS],
            )
        return existing

    def _issue_path(self, number: int) -> str:
        return f"{self._home}/issues/{number}"

    def _labels(self) -> dict[str, int]:
        """Ids of the repository's labels by name."""
        labels = self.pages(f"{self._home}/labels", **self._forge.listing)
        return {str(label.get("name")): identity_of(label) for label in labels}

    def _made(self, labels: Sequence[str]) -> list[Any]:
        """Labels as ids or names for an issue; missing ones are created."""
        existing = self._labels()
        for label in labels:
            if label not in existing:
                content = {"name": label, "color": self._forge.colour, "description": ABOUT_LABEL}
                existing[label] = identity_of(self.call("POST", f"{self._home}/labels", content).content)
        return [existing[label] for label in labels] if self._forge.labels_by_id else list(labels)


def _validate(form: type[_Form], **fields: Any) -> _Form:
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise unknown_format(str(error)) from error


def _issue_of(content: Any) -> TrackerItem | None:
    """Issue from JSON; None for a pull request, which these APIs also list as an issue."""
    read = mapping(content)
    if read.get("pull_request") is not None:
        return None
    labels = tuple(mapping(label).get("name") for label in items(read.get("labels")))
    author, body, is_open = _author_of(read), read.get("body") or "", read.get("state") == "open"
    return _validate(TrackerItem, number=read.get("number"), is_open=is_open, author=author, body=body, labels=labels)


def _pull_request_of(content: Any) -> PullRequest:
    read = mapping(content)
    body, is_open = read.get("body") or "", read.get("state") == "open"
    return _validate(PullRequest, number=read.get("number"), url=read.get("html_url", ""), is_open=is_open, body=body)


def _author_of(content: Mapping[str, Any]) -> str:
    """Author of an object; empty for a deleted account."""
    return str(mapping(content.get("user")).get("login") or "")


def _timestamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
