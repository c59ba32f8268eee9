"""What the loop makes of the evidence."""

from datetime import datetime
from enum import StrEnum

from helmsman.records.base import Record


class Severity(StrEnum):
    """How strongly a signal intervenes."""

    LOG = "LOG"
    WARN = "WARN"
    ABORT = "ABORT"


class Signal(Record):
    """Something that the overseer noticed, with the rule and the numbers."""

    rule: str
    severity: Severity
    message: str
    value: float | None = None
    threshold: float | None = None


class Outcome(StrEnum):
    """How a loop stands when nobody drives it any more."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    WAITING = "waiting"
    EJECTED = "ejected"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DecisionKind(StrEnum):
    CONTINUE = "continue"
    WAIT = "wait"
    STOP = "stop"


class Decision(Record):
    """What follows: exactly one of continue, wait until, stop with an outcome."""

    kind: DecisionKind
    rule: str
    reason: str
    """A sentence with the numbers in it."""
    at: datetime
    """When it was taken; the end of its iteration."""
    until: datetime | None = None
    """When a wait is over."""
    repeat: bool = False
    """Whether the same iteration is due again: the agent never got to work, so it does not count."""
    outcome: Outcome | None = None
    """What a stop amounts to."""
    fault: str = ""
    """operator, agent or world, when the outcome is `failed`."""
