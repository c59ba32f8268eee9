"""The way of proven work into another branch: what is under way, what stands against it, what came of it."""

from datetime import datetime
from typing import Literal

from helmsman.records.base import Record
from helmsman.records.evidence import Commit
from helmsman.records.verdict import Decision


class Conflicted(Record):
    """A file that both sides changed."""

    path: str
    how: str
    """What each side did to it."""


class Trouble(Record):
    """Why proven work could not be merged. To fix that is the task of the iterations that follow."""

    kind: Literal["conflict", "checks"]
    """`checks`: they pass on either side alone, and not on both together."""
    into: str
    base: str
    """The other branch's commit; the loop's branch contains it since."""
    work: str
    """The loop's commit that was proven without it."""
    head: str
    """The commit that the iterations after it begin with."""
    files: tuple[Conflicted, ...] = ()
    """50 at most."""
    ours: tuple[Commit, ...] = ()
    """What the loop did there, newest first, 10 at most."""
    theirs: tuple[Commit, ...] = ()
    """What the other branch got meanwhile, likewise."""
    why: str
    """In a clause, for people."""


class Prepared(Record):
    """A merge that is ready. Where the branch holds its commit it is done, whoever saw that happen."""

    base: str
    head: str
    """The loop's work as it is merged."""
    commit: str


class Merging(Record):
    """Where a loop stands on that way."""

    proven: Decision | None = None
    """The decision that the work is done, while it waits to be merged."""
    work: str = ""
    """The commit that it was taken on."""
    prepared: Prepared | None = None
    failed: int = 0
    """Merges that failed since a person last looked."""
    trouble: Trouble | None = None

    def unproven(self) -> "Merging":
        """What it is now has to be proven anew; how often a merge failed stays known."""
        return self.model_copy(update={"proven": None, "work": "", "prepared": None})


class Merged(Record):
    """Work that has arrived."""

    into: str
    base: str
    """The branch's commit before."""
    head: str
    """The loop's work as it was merged."""
    commit: str
    """The merge; the branch's own commit where it held the work already."""
    at: datetime
    remote: str = ""
    """The remote that it was pushed to; empty where it was not."""
