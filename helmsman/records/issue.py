"""The issue that a loop was started for, and the pull request that is its result."""

from helmsman.records.base import Record


class IssueLink(Record):
    """The issue that a loop was started for, and what became of its result."""

    repository: str
    """`owner/name` at the forge."""
    number: int
    title: str = ""
    """Anybody's words."""
    pull_request: str = ""
    """Address of the pull request; empty where there is none."""
    problem: str = ""
    """Why there is none, although the work is proven."""


class PullRequest(Record):
    """A pull request as a forge tells it."""

    number: int
    url: str
    is_open: bool = True
    body: str = ""
