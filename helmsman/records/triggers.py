"""Events at a forge that may start, steer or end a loop: a push, or an event at an issue."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from helmsman.config.base import satisfies
from helmsman.plain import is_branch
from helmsman.records.base import Record

_COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"
Source = Literal["github", "gitea", "git"]


def is_commit(text: str) -> bool:
    """Whether it is a full commit id, and not git's zeros for "none"."""
    return re.fullmatch(_COMMIT, text) is not None and text.strip("0") != ""


Branch = Annotated[str, satisfies(is_branch, "branch", "not the name of a branch")]
Commit = Annotated[str, satisfies(is_commit, "commit", "not the whole id of a commit")]


class Delivery(Record):
    """Record of a webhook, not to be filled in by hand: helmsman receive starts these runs."""

    repository: str = Field(min_length=1, max_length=300)
    """The operator's name for it."""
    location: str = Field(min_length=1, max_length=4000)
    """Folder or URL for the machine that runs the loop, set by the operator, never by the sender."""
    branch: Branch
    source: Source
    delivery: str = Field(pattern=r"^[A-Za-z0-9-]{8,100}$")
    """The sender's id of the message."""
    received_at: datetime
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The operator's settings for this repository from the receiver's file; files of the repository set no operator's key."""


class Push(Delivery):
    """A branch was moved to a commit."""

    commit: Commit
    before: Commit | None = None

    @property
    def what(self) -> str:
        return f"{self.commit[:10]} on {self.branch} of {self.repository}"


class Ignored(Record):
    """A push that starts nothing, and why."""

    reason: str


LONGEST_TITLE = 200
LONGEST_BODY = 8000
"""Characters of an issue passed to a loop: about 2,000 tokens in every prompt. Most issues have less."""
LONGEST_COMMENT = 5000
"""Characters; more than the guidance of an answer may have."""
HIGHEST_NUMBER = 10**12

Login = Annotated[str, Field(max_length=100)]


EventKind = Literal["labelled", "said", "withdrawn"]
"""The issue has the label that starts a loop; a comment for us; the label was removed, or the issue was closed."""


class IssueEvent(Delivery):
    """An event at an issue. A loop starts on the repository's default branch, which is also the target of its pull request."""

    full_name: str = Field(pattern=r"^[\w.-]+/[\w.-]+$", max_length=300)
    """`owner/name` at the forge."""
    number: int = Field(gt=0, lt=HIGHEST_NUMBER)
    happened: EventKind
    moment: str = Field(max_length=100)
    """Distinguishes events of a kind at one issue: the comment's id, or the time of the change."""
    by: Login
    title: str = Field(default="", max_length=LONGEST_TITLE)
    body: str = Field(default="", max_length=LONGEST_BODY)
    comment: int = 0
    said: str = Field(default="", max_length=LONGEST_COMMENT)

    @property
    def what(self) -> str:
        return f"issue #{self.number} of {self.repository}: {self.happened}"


class Handled(Record):
    """Result of an event that needed no loop of its own."""

    what: str
