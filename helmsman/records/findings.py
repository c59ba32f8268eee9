"""What the invariants found in a diff: a way of making checks pass that is not doing the work."""

from enum import StrEnum

from helmsman.records.base import Record

SHOWN = 200
"""Characters of a line that are kept as before and after."""


class Weight(StrEnum):
    """What a finding does to a request to be done."""

    BLOCK = "block"
    """The work is not done while it stands."""
    WARN = "warn"
    """It is told, and that is all: honest work does it too."""


class Finding(Record):
    """One violation, at one place."""

    rule: str
    """Name of the rule, for example `tests.deleted`."""
    weight: Weight
    path: str
    line: int | None = None
    """Counted from 1, in the file as it is now; in the file as it was, where it is gone."""
    before: str = ""
    """What stood there, one line, 200 characters at most."""
    after: str = ""
    """What stands there now, likewise."""
    message: str
    """What was done, in a clause without a full stop: `test_adds was deleted`."""
    honest: str
    """What an honest change would have been, as an instruction to the agent."""

    @property
    def where(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"
