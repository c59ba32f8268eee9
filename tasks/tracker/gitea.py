"""Gitea's API, by its public swagger description; Forgejo's is the same here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from helmsman.parsers.loose import mapping
from tasks.tracker.calling import Api
from tasks.tracker.rest import COLOUR, MISSING, IssueTracker


class Gitea(IssueTracker):
    """Issues of one repository at a Gitea. Labels go by their ids."""

    list_query: ClassVar[Mapping[str, int]] = {"limit": 50}
    comments_query: ClassVar[Mapping[str, int]] = {}  # it gives them all at once
    colour = f"#{COLOUR}"

    def _named(self, labels: Sequence[str]) -> list[int]:
        known = self._known_labels()
        return [known[label] if label in known else self._make_label(label) for label in labels]

    def _handle(self, label: str) -> str:
        known = self._known_labels().get(label)
        return "" if known is None else str(known)

    def _pulls(self, head: str, base: str) -> Iterable[Any]:
        path = f"{self._home}/pulls/{quote(base, safe='')}/{quote(head, safe='')}"
        reply = self._api.call("GET", path, accept=MISSING)
        if reply.status in MISSING:
            return ()
        known_open = mapping(reply.content).get("state") == "open"
        return (reply.content,) if known_open else (reply.content, *self._same(head, base))

    def _same(self, head: str, base: str) -> Iterator[Any]:
        """Of several from one branch into another, the path above gives whichever was there first."""
        for one in self._api.pages(f"{self._home}/pulls", state="all", **self.list_query):
            if (_ref(one, "base"), _ref(one, "head")) == (base, head):
                yield one

    def _state(self, *, is_open: bool) -> Mapping[str, str]:
        return {"state": "open" if is_open else "closed"}


def _ref(pull: Mapping[str, Any], side: str) -> Any:
    return mapping(pull.get(side)).get("ref")


def gitea(url: str, repository: str, token: str, patience: float) -> Gitea:
    """`patience`: seconds for all calls together."""
    headers = {"Accept": "application/json", "Authorization": f"token {token}"}
    return Gitea(Api(url, headers, token, patience), repository)
