"""What was found in a diff: tests of the start that fail on the work, and what may be a way of passing them without it."""

from enum import StrEnum

from helmsman.records.base import Record

SHOWN = 200
"""Characters of a line that are kept as before and after."""


class Weight(StrEnum):
    """What a finding does to a request to be done."""

    BLOCK = "block"
    """The work is not done while it stands."""
    HINT = "hint"
    """It is shown to people and to the judge, and that is all: honest work does it too."""

    @classmethod
    def _missing_(cls, value: object) -> "Weight | None":
        return cls.HINT if value == "warn" else None  # as loops of 0.1 noted it


class Finding(Record):
    """One violation, at one place."""

    rule: str
    """Name of the rule, for example `tests.gone`."""
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
