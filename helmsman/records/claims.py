"""What the agent says of itself: recorded, compared with the evidence, never trusted."""

from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record

LONGEST_BLOCKED = 300


class StatusReport(Record):
    """The RALPH_STATUS block; what is missing or cannot be read stays empty."""

    status: Literal["", "in_progress", "complete", "blocked"] = ""
    tasks_completed: int | None = None
    files_modified: int | None = None
    tests_status: Literal["", "passing", "failing", "not_run"] = ""
    exit_signal: bool | None = None
    recommendation: str = ""


class ClaimKind(StrEnum):
    FILE_CHANGED = "file_changed"
    """Subject: a path that it says it made, changed or removed."""
    FILES_MODIFIED = "files_modified"
    """Subject: a number of files."""
    TESTS_PASS = "tests_pass"  # noqa: S105 - no password
    """Subject: empty, or the command that it says passes."""
    COMMITTED = "committed"
    """Subject: a commit id, or empty where it only says that it committed."""
    COMMAND_RUN = "command_run"
    """Subject: the command."""
    ITEM_DONE = "item_done"
    """Subject: what it says is done, in progress.md or in a list."""


class Claim(Record):
    kind: ClaimKind
    subject: str = ""
    said: str
    """The sentence or line, 200 characters at most."""
    source: Literal["last message", "RALPH_STATUS", "progress.md"]


class Claims(Record):
    wants_to_finish: bool = False
    how: str = ""
    blocked: str = ""
    """Why it says that it cannot go on by itself, 300 characters at most; empty where it does not, or asks to be done."""
    goes_on: bool = False
    status: StatusReport | None = None
    claims: tuple[Claim, ...] = ()


class ClaimLayer(StrEnum):
    """In what way words and evidence differ, the gravest first."""

    CONTRADICTION = "contradiction"
    UNCOMMITTED = "uncommitted"
    """It asks to be done, or says that it committed, and work was left uncommitted."""
    UNTICKED = "unticked"
    """It asks to be done, and its own list or status says that something remains."""
    MISSING_SIGNAL = "missing_signal"
    """Its status says complete, and it did not ask to be done."""


class Contradiction(Record):
    layer: ClaimLayer
    said: str
    """In the agent's words, 200 characters at most."""
    found: str
    """What the evidence says, in a clause: `git shows no change in src/app.py`."""
    source: str


class Trust(Record):
    """How often a loop's agent could be believed."""

    checked: int = 0
    """Claims that could be compared with evidence."""
    contradicted: int = 0

    @property
    def score(self) -> float | None:
        """Share of compared claims that held, 0 to 1; None before the first."""
        return None if self.checked == 0 else 1 - self.contradicted / self.checked
