"""What an issue tracker is told of a loop, and what is found there."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from helmsman.records.base import Record
from helmsman.records.gates import Gate

OURS = "helmsman"
"""The label by which our issues are found, and the beginning of all others that we give."""


class Escalation(Record):
    """One thing that a person should know of, as it stands now. One issue for each detection of a loop."""

    uid: str
    loop: str
    detection: str = Field(pattern=r"^[\w.+-]{1,80}$")
    """The rule that noticed it, or the kind of question: the same one is the same issue, however often it comes back."""
    stage: str = Field(pattern=r"^[\w.+-]{1,120}$")
    """Unique in the loop for each time that there is something new to say of it."""
    level: str
    """What the label says: `E-II`, `question`, `stopped`…"""
    heading: str
    """What it is, in a clause of ours."""
    why: str
    """Why, in words that may be anybody's."""
    at: datetime
    """Since when it stands so."""
    gate: Gate | None = None
    """The question that is open about it."""

    @property
    def labels(self) -> tuple[str, ...]:
        return OURS, f"{OURS}:{self.level}"


class Found(Record):
    """An issue as a tracker tells it."""

    number: int
    is_open: bool
    author: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()


class Comment(Record):
    """A comment as a tracker tells it."""

    identity: int
    author: str = ""
    """Empty where nobody vouches for it."""
    body: str = ""
    created_at: datetime
    edited: bool = False
    """Whether its words may be another's: whoever may write to a repository may change a comment in it."""


class TrackedIssue(Record):
    """One of our issues: what it is about, and what was said there."""

    number: int
    is_open: bool
    detection: str
    stages: tuple[str, ...] = ()
    """What was told there, oldest first."""
    labels: tuple[str, ...] = ()


class Act(StrEnum):
    OPEN = "open"
    COMMENT = "comment"
    """Say what is new, on an issue that is open after it."""
    LABEL = "label"
    CLOSE = "close"


class Deed(Record):
    """What is to be done at the tracker."""

    act: Act
    detection: str
    number: int = 0
    """0 where there is no issue yet."""
    escalation: Escalation | None = None
    """None where an issue is closed."""
    reopen: bool = False
    stage: str = ""
    """Under which mark it is told; empty where that was told before."""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    """Labels."""


class Change(Record):
    """What is new between two states of a loop, for those who are only told once."""

    escalation: Escalation
    over: bool = False
