"""Issues and pull requests of one repository, at GitHub or at Gitea (Forgejo's API is the same here).

By their public descriptions, GitHub's of version 2022-11-28. A table says where the two differ.
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
from helmsman.records.tracking import OURS, Comment, Found, PullRequest
from tasks.system.environment import ours
from tasks.trackers.client import MISSING, MOST_WORDS, NAMELESS, TOKEN, Api, identity_of, unknown_form

HOSTS = "HELMSMAN_TRACKER_HOSTS"
PUBLIC = "api.github.com"
COLOUR = "5319e7"
ABOUT_LABEL = "Opened by Helmsman, which steers a coding agent"
REFUSED = frozenset({409, 422})
"""What GitHub and Gitea answer to a pull request that is there already, or would hold nothing."""
EDITED_AFTER = timedelta(seconds=2)
"""A server may touch a comment once more while it is made."""


class Forge(NamedTuple):
    """How a kind of forge does what the other does otherwise."""

    headers: Mapping[str, str]
    """With `{token}` where the token goes."""
    listing: Mapping[str, int]
    """How many objects a page are asked for; a server may give fewer."""
    commenting: Mapping[str, int]
    """The same for comments; Gitea gives them all at once."""
    colour: str
    labels_by_id: bool
    """Issues take labels by their ids; else by their names."""


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
    """The tracker for a few calls, `patience` seconds in all. Raises OperatorError where there is no token, or none for there."""
    host = httpx.URL(config.url).host if config.url else PUBLIC
    if host not in ours().get(HOSTS, PUBLIC).split():  # the address is the repository's word, and the token the operator's
        raise OperatorError(
            "the tracker's token is not meant for that address",
            expected=f"one of the hosts in {HOSTS}",
            found=clean(config.url),
            remedy=f"name the host in {HOSTS} where the loops run, if it is yours",
        )
    forge, base = FORGES[config.kind or "github"], config.url or f"https://{PUBLIC}"
    return IssueTracker(forge, base, tracker_token(config), config.repository, patience)


def tracker_token(config: TrackerConfig) -> str:
    """From a Prefect block where one is named, else from a variable."""
    variables = ours()
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
    """Issues and pull requests of one repository. Everything that is not there yet is told apart from what cannot be asked.

    Every method raises OperatorError for what the operator can fix and TransientError for what may pass by itself.
    """

    def __init__(self, forge: Forge, base: str, token: str, repository: str, patience: float) -> None:
        """Nothing is asked yet."""
        super().__init__(base, {name: value.format(token=token) for name, value in forge.headers.items()}, patience)
        self._forge, self._repository, self._home = forge, repository, f"/repos/{repository}"

    def find(self, since: datetime) -> Sequence[Found]:
        """Issues under our label, open or not, that were changed since then."""
        query = {"state": "all", "labels": OURS, "since": _stamp(since), **self._forge.listing}
        found = (_issue(one) for one in self.pages(f"{self._home}/issues", **query))
        return [issue for issue in found if issue is not None and OURS in issue.labels]  # Gitea knows no unknown label

    def get(self, number: int) -> Found | None:
        """An issue, None where there is none of that number any more."""
        reply = self.call("GET", self._issue(number), accept=MISSING)
        return None if reply.status in MISSING else _issue(reply.content)

    def create(self, title: str, body: str, labels: Sequence[str]) -> Found:
        """A new issue; labels that are missing are made."""
        content = {"title": title, "body": body, "labels": self._made(labels)}
        made = _issue(self.call("POST", f"{self._home}/issues", content).content)
        if made is None:
            raise unknown_form("a pull request in place of an issue")
        return made

    def comment(self, number: int, body: str) -> None:
        self.call("POST", f"{self._issue(number)}/comments", {"body": body})

    def comments(self, number: int, since: datetime | None = None) -> Sequence[Comment]:
        """Those that were written or changed since then, oldest first."""
        query = {**self._forge.commenting, **({"since": _stamp(since)} if since else {})}
        found: list[Comment] = []
        for read in self.pages(f"{self._issue(number)}/comments", **query):
            # at Gitea, one that was brought from elsewhere has an original author: nobody here has written it
            author = "" if read.get("original_author") else _login(read)
            made, identity, body = read.get("created_at"), identity_of(read), read.get("body") or ""
            one = _read(Comment, identity=identity, author=author, body=body, created_at=made)
            changed = _read(Comment, identity=identity, created_at=read.get("updated_at")).created_at
            found.append(one.model_copy(update={"edited": changed - one.created_at > EDITED_AFTER}))
        return sorted(found, key=lambda one: (one.created_at, one.identity))

    def set_open(self, number: int, *, is_open: bool) -> None:
        self.call("PATCH", self._issue(number), {"state": "open" if is_open else "closed"})

    def label(self, number: int, *, add: Sequence[str], remove: Iterable[str]) -> None:
        """Labels that are missing are made; other people's labels stay."""
        if add:
            self.call("POST", f"{self._issue(number)}/labels", {"labels": self._made(add)})
        for label in remove:
            handle = self._labels().get(label) if self._forge.labels_by_id else quote(label, safe="")
            if handle is not None:
                self.call("DELETE", f"{self._issue(number)}/labels/{handle}", accept=MISSING)

    def login(self) -> str:
        """Whose the token is; empty where it may not know."""
        reply = self.call("GET", "/user", accept=NAMELESS)
        login = "" if reply.status in NAMELESS else mapping(reply.content).get("login")
        if not isinstance(login, str):
            raise unknown_form("a user without a login")
        return login

    def pull_request(self, head: str, base: str) -> PullRequest | None:
        """The newest one from a branch of this repository into another, open or not. Gitea knows no such query, and lists all."""
        asked = {"head": f"{self._repository.partition('/')[0]}:{head}", "base": base}
        query = {"state": "all", **self._forge.listing, **({} if self._forge is FORGES["gitea"] else asked)}
        pulls = self.pages(f"{self._home}/pulls", **query)
        found = (one for one in pulls if [mapping(one.get(side)).get("ref") for side in ("head", "base")] == [head, base])
        return max(map(_request_of, found), key=lambda one: one.number, default=None)

    def open_pull_request(self, title: str, body: str, head: str, base: str) -> PullRequest:
        """A new one, or the open one that is there. Raises OperatorError where the forge wants none."""
        content = {"title": title, "body": body, "head": head, "base": base}
        reply = self.call("POST", f"{self._home}/pulls", content, accept=REFUSED)
        if reply.status not in REFUSED:
            return _request_of(reply.content)
        found = self.pull_request(head, base)
        if found is None or not found.is_open:
            raise OperatorError(
                "the tracker's forge refuses the pull request",
                expected=f"branches {head} and {base} that differ, and a repository that takes pull requests",
                found=clean(f"{reply.status} {reply.content}")[:MOST_WORDS],
            )
        return found

    def _issue(self, number: int) -> str:
        return f"{self._home}/issues/{number}"

    def _labels(self) -> dict[str, int]:
        """Ids of the repository's labels by their names."""
        known = self.pages(f"{self._home}/labels", **self._forge.listing)
        return {str(label.get("name")): identity_of(label) for label in known}

    def _made(self, labels: Sequence[str]) -> list[Any]:
        """Labels as an issue takes them; those that are missing are made."""
        known = self._labels()
        for label in labels:
            if label not in known:
                content = {"name": label, "color": self._forge.colour, "description": ABOUT_LABEL}
                known[label] = identity_of(self.call("POST", f"{self._home}/labels", content).content)
        return [known[label] for label in labels] if self._forge.labels_by_id else list(labels)


def _read(form: type[_Form], **told: Any) -> _Form:
    try:
        return form.model_validate(told)
    except ValidationError as error:
        raise unknown_form(str(error)) from error


def _issue(content: Any) -> Found | None:
    """None for a pull request: to these APIs it is an issue too."""
    read = mapping(content)
    if read.get("pull_request") is not None:
        return None
    labels = tuple(mapping(label).get("name") for label in items(read.get("labels")))
    author, body, is_open = _login(read), read.get("body") or "", read.get("state") == "open"
    return _read(Found, number=read.get("number"), is_open=is_open, author=author, body=body, labels=labels)


def _request_of(content: Any) -> PullRequest:
    read = mapping(content)
    body, is_open = read.get("body") or "", read.get("state") == "open"
    return _read(PullRequest, number=read.get("number"), url=read.get("html_url", ""), is_open=is_open, body=body)


def _login(content: Mapping[str, Any]) -> str:
    """Of whoever made something; empty for a deleted account."""
    return str(mapping(content.get("user")).get("login") or "")


def _stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
