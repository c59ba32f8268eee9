"""GitHub's REST API, by its public description of version 2022-11-28."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from tasks.tracker.calling import Api
from tasks.tracker.rest import IssueTracker

URL = "https://api.github.com"
VERSION = "2022-11-28"


class GitHub(IssueTracker):
    """Issues of one repository at GitHub, or at a GitHub Enterprise Server."""

    list_query: ClassVar[Mapping[str, int]] = {"per_page": 100}
    comments_query: ClassVar[Mapping[str, int]] = list_query

    def _named(self, labels: Sequence[str]) -> list[str]:
        known = self._known_labels()
        for label in labels:
            if label not in known:
                self._make_label(label)
        return list(labels)

    def _handle(self, label: str) -> str:
        return quote(label, safe="")

    def _pulls(self, head: str, base: str) -> Iterable[Any]:
        owner = self._home.split("/")[2]
        query = {"head": f"{owner}:{head}", "base": base, "state": "all", **self.list_query}
        return self._api.pages(f"{self._home}/pulls", **query)

    def _state(self, *, is_open: bool) -> Mapping[str, str]:
        return {"state": "open", "state_reason": "reopened"} if is_open else {"state": "closed", "state_reason": "completed"}


def github(url: str, repository: str, token: str, patience: float) -> GitHub:
    """`patience`: seconds for all calls together."""
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {token}",
        "X-GitHub-Api-Version": VERSION,
    }
    return GitHub(Api(url or URL, headers, token, patience), repository)
