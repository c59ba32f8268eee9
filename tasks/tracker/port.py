"""What every issue tracker can do for us. Everything that is not there yet is told apart from what cannot be asked."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from helmsman.records.issue import PullRequest
from helmsman.records.tracking import Comment, Found


class Tracker(Protocol):
    """Every method raises OperatorError for what the operator can fix and WorldError for what may pass by itself."""

    def find(self, since: datetime) -> Sequence[Found]:
        """Issues under our label, open or not, that were changed since then."""
        ...

    def get(self, number: int) -> Found | None:
        """An issue, None where there is none of that number any more."""
        ...

    def create(self, title: str, body: str, labels: Sequence[str]) -> Found:
        """A new issue; labels that are missing are made."""
        ...

    def comment(self, number: int, body: str) -> None: ...

    def comments(self, number: int, since: datetime | None = None) -> Sequence[Comment]:
        """Those that were written or changed since then, oldest first."""
        ...

    def set_open(self, number: int, *, is_open: bool) -> None:
        """Close an issue, or open it again."""
        ...

    def label(self, number: int, *, add: Sequence[str], remove: Iterable[str]) -> None:
        """Labels that are missing are made; other people's labels stay."""
        ...

    def login(self) -> str:
        """Whose the token is; empty where it may not know."""
        ...

    def pull_request(self, head: str, base: str) -> PullRequest | None:
        """The newest one from a branch of this repository into another, open or not."""
        ...

    def open_pull_request(self, title: str, body: str, head: str, base: str) -> PullRequest:
        """A new one, or the one that is there."""
        ...
