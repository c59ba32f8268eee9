"""What may end a loop at once: secrets in a diff, findings of a security scan. No record holds any part of one."""

from enum import StrEnum

from helmsman.records.base import Record
from helmsman.records.findings import Weight

MOST_LEAKS = 50
MOST_WEAKNESSES = 200


class Leak(Record):
    """A line that was added and that holds a secret."""

    path: str
    line: int
    """Counted from 1, in the file as it is now."""
    kind: str
    """As the detector calls it, for example `AWS Access Key`."""
    digest: str
    """Six hexadecimal digits: enough to know the same secret again, too few to confirm a guess at it."""
    weight: Weight
    """`block` is pain; `warn` is only told."""
    doubt: str = ""
    """Why it is only told."""


class Harm(StrEnum):
    """How severe a scanner finds a weakness."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Weakness(Record):
    """What a security scan objects to. Its words are left out: scanners quote passwords."""

    rule: str
    """As the scanner names it, 100 characters at most."""
    path: str
    """Relative to the worktree, 300 characters at most."""
    line: int = 0
    """Counted from 1; 0 where the scanner does not tell."""
    severity: Harm
    digest: str = ""
    """Of the line it is about, whatever its number and spacing, eight hexadecimal digits."""


class Scan(Record):
    """What one run of a security scan found."""

    commit: str = ""
    findings: tuple[Weakness, ...] = ()
    """The severest first, 200 at most."""
    left_out: int = 0
    """How many more there were."""
    error: str = ""
    """Why nothing is known, where that is so."""
