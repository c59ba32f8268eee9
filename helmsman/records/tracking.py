"""Tracker and merge records: issue, pull request, escalation, and the merge into another branch."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from helmsman.records.agent import Commit
from helmsman.records.base import Record
from helmsman.records.decision import Decision
from helmsman.records.gates import Gate


class IssueLink(Record):
    """The issue that started a loop, and the state of its result."""

    repository: str
    """`owner/name` at the forge."""
    number: int
    title: str = ""
    pull_request: str = ""
    problem: str = ""
    """Why there is no pull request although the work is proven."""


LABEL = "helmsman"
"""The label that identifies our issues, and the prefix of all our other labels."""


class Escalation(Record):
    """Something that a person should know, in its current state. One issue per detection of a loop."""

    uid: str
    loop: str
    detection: str = Field(pattern=r"^[\w.+-]{1,80}$")
    """The rule that found it, or the kind of question. A recurrence uses the same issue."""
    stage: str = Field(pattern=r"^[\w.+-]{1,120}$")
    """Unique in the loop for each report of something new."""
    level: str
    """Text of the label: `E-II`, `question`, `stopped`…"""
    heading: str
    why: str
    at: datetime
    gate: Gate | None = None
    over: bool = False
    """Whether it is resolved; channels that report each stage once report this too."""

    @property
    def labels(self) -> tuple[str, ...]:
        return LABEL, f"{LABEL}:{self.level}"


class TrackerItem(Record):
    number: int
    is_open: bool
    author: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()


class PullRequest(TrackerItem):
    url: str


class TrackedIssue(TrackerItem):
    """One of our issues: its subject, and the stages reported there, oldest first."""

    detection: str
    stages: tuple[str, ...] = ()


class Comment(Record):
    identity: int
    author: str = ""
    body: str = ""
    created_at: datetime
    edited: bool = False
    """Whether it was edited, perhaps by another author: anyone with write access can edit comments."""


Act = Literal["open", "comment", "label", "close"]


class TrackerAction(Record):
    act: Act
    detection: str
    number: int = 0
    escalation: Escalation | None = None
    reopen: bool = False
    stage: str = ""
    """Mark of the comment; empty if it was reported before."""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class ConflictedFile(Record):
    path: str
    how: str


class MergeProblem(Record):
    """Why proven work could not be merged. The next iterations have to fix it."""

    kind: Literal["conflict", "checks"]
    """`checks`: they pass on each side alone, but not on the merge."""
    into: str
    base: str
    """The other branch's commit, which the loop's branch now contains."""
    work: str
    """The loop's commit that was proven without it."""
    head: str
    """The commit at which the following iterations start."""
    files: tuple[ConflictedFile, ...] = ()
    ours: tuple[Commit, ...] = ()
    """The loop's commits there, newest first, 10 at most."""
    theirs: tuple[Commit, ...] = ()
    """The other branch's new commits, likewise."""
    why: str


class PreparedMerge(Record):
    """A prepared merge, complete as soon as the branch contains its commit."""

    base: str
    head: str
    commit: str


class Merging(Record):
    """Progress of a loop's merge."""

    proven: Decision | None = None
    """The decision that the work is done, while the merge is pending."""
    work: str = ""
    prepared: PreparedMerge | None = None
    failed: int = 0
    """Failed merges since a person last answered."""
    trouble: MergeProblem | None = None

    def without_proof(self) -> "Merging":
        """Reset the proof of the current work; keep the number of failed merges."""
        return self.model_copy(update={"proven": None, "work": "", "prepared": None})


class Merged(PreparedMerge):
    """`commit`: the merge, or the branch's own commit if it already contained the work."""

    into: str
    at: datetime
    remote: str = ""
