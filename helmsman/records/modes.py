"""In which modes a loop is: ladder of escalation, quality of feedback. Transitions are tables in `oversee`."""

from datetime import datetime
from enum import IntEnum, StrEnum

from helmsman.records.base import Record


class Rung(IntEnum):
    """Of the ladder: the same failure is met one rung higher."""

    PATCH = 0
    REFACTOR = 1
    REDESIGN = 2
    HUMAN = 3
    EJECT = 4

    @property
    def title(self) -> str:
        return ("E-0 patch", "E-I refactor", "E-II redesign", "E-III human", "E-IV eject")[self]


def short_rung(rung: int) -> str:
    """The first word of its title: E-II. A newer version may have recorded one that is not known here."""
    return Rung(rung).title.partition(" ")[0] if rung in set(Rung) else str(rung)


class Climb(Record):
    """One change of rung."""

    iteration: int
    before: Rung
    after: Rung
    reason: str
    """300 characters at most."""
    at: datetime


class Ladder(Record):
    """Where the loop stands, and how it came there."""

    rung: Rung = Rung.PATCH
    reason: str = ""
    since: datetime | None = None
    spent: int = 0
    """Iterations that the rung has had since the last clean one."""
    clean: int = 0
    """Clean iterations on this rung."""
    last_good: Rung = Rung.PATCH
    """Rung of the last clean iteration."""
    climbs: tuple[Climb, ...] = ()
    """The last 10."""


class Feedback(StrEnum):
    """How good the feedback is that the next iteration can steer by."""

    GREEN = "green"
    """Everything passes: any work is free."""
    FAILING = "failing"
    """Tests or checks fail: the work is to fix them."""
    BROKEN = "broken"
    """Nothing can be run: no new work until it builds."""
    GUTTER = "gutter"
    """The session drowned in failures: a fresh context."""
    NONE = "none"
    """Nothing was checked."""
