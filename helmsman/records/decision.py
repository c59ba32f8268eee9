"""Decisions of the loop, and the alerts behind them."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record
from helmsman.records.verification import Grounds


class Severity(StrEnum):
    LOG = "LOG"
    WARN = "WARN"
    REDIRECT = "REDIRECT"
    """The next iteration is told what to do instead; if that does not help, the ladder escalates."""
    PAUSE = "PAUSE"
    ABORT = "ABORT"


CRITICAL = "pain."
"""Prefix of the rules of critical events, which end a loop at once."""


class Alert(Record):
    """A finding of the overseer, with the rule and the numbers."""

    rule: str
    severity: Severity
    message: str
    value: float | None = None
    threshold: float | None = None
    instruction: str = ""
    """Instruction for the next iteration, in positive words, 500 characters at most; may be empty."""

    @property
    def is_critical(self) -> bool:
        """Whether it is a critical event; a reached limit also ends the loop but is not critical."""
        return self.severity is Severity.ABORT and self.rule.startswith(CRITICAL)


class Outcome(StrEnum):
    """How a loop ended."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    WAITING = "waiting"
    EJECTED = "ejected"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOTHING_CHANGED = "nothing_changed"
    """The agent kept claiming completion on the unchanged tree of the start."""
    UNPROVEN = "unproven"
    """The agent kept claiming completion, and nothing proves that the work reaches the goal."""
    BLOCKED = "blocked"
    """The agent says that it cannot continue by itself, and the judge or a fresh session confirms it."""


DecisionKind = Literal["continue", "wait", "stop"]


class PathStep(Record):
    rule: str
    question: str
    held: bool
    because: str
    """The numbers with their thresholds, in a clause."""
    otherwise: str = ""


class Decision(Record):
    """The decision: exactly one of continue, wait until, stop with an outcome."""

    kind: DecisionKind
    rule: str
    reason: str
    at: datetime
    until: datetime | None = None
    repeat: bool = False
    """Whether the same iteration is repeated and this one does not count, because the agent never started to work."""
    outcome: Outcome | None = None
    fault: str = ""
    """operator, agent or world, if the outcome is `failed`."""
    path: tuple[PathStep, ...] = ()
    grounds: Grounds | None = None
    """For completed work: its evidence, and what was not examined."""
    back_to: str = ""
    """Commit that the branch returns to; empty: none."""

    @property
    def title(self) -> str:
        """Its name for people: an ending by its outcome, `completed` and not `stop`."""
        return (self.outcome or self.kind).replace("_", " ")
