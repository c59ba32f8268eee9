"""The agent's statements about itself: recorded, compared with the evidence, never trusted."""

from typing import Literal

from helmsman.records.base import Record

LONGEST_BLOCKED = 300


class StatusReport(Record):
    """The RALPH_STATUS block; missing or unreadable values are empty."""

    status: Literal["", "in_progress", "complete", "blocked"] = ""
    tasks_completed: int | None = None
    files_modified: int | None = None
    tests_status: Literal["", "passing", "failing", "not_run"] = ""
    exit_signal: bool | None = None
    recommendation: str = ""


ClaimKind = Literal["file_changed", "files_modified", "tests_pass", "committed", "command_run", "item_done"]
"""The subject of each: a path; a number of files; the passing command, or nothing; a commit id, or nothing; a command;
the completed item."""


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
    """The agent's reason why it cannot continue, 300 characters at most; empty if it gives none, or claims completion."""
    goes_on: bool = False
    status: StatusReport | None = None
    claims: tuple[Claim, ...] = ()


ClaimLayer = Literal["contradiction", "uncommitted", "unticked", "missing_signal"]
"""How words and evidence differ, most severe first. `uncommitted`: it claims completion or a commit, and left work uncommitted.
`unticked`: it claims completion, and its own list or status says that something remains. `missing_signal`: its status says
complete, but it did not claim completion."""


class Contradiction(Record):
    layer: ClaimLayer
    said: str
    """In the agent's words, 200 characters at most."""
    found: str
    """The evidence, in a clause: `git shows no change in src/app.py`."""
    source: str


class Trust(Record):
    """How often the claims of a loop's agent were correct."""

    checked: int = 0
    """Claims that could be compared with evidence."""
    contradicted: int = 0

    @property
    def score(self) -> float | None:
        """Share of compared claims that were correct, 0 to 1; None before the first."""
        return None if self.checked == 0 else 1 - self.contradicted / self.checked
