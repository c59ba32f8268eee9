"""What an independent model says of the work, criterion by criterion."""

from enum import StrEnum

from helmsman.records.base import Record
from helmsman.records.usage import Usage


class JudgementOutcome(StrEnum):
    """Only `approved` lets a loop complete; everything else is a rejection with a cause."""

    APPROVED = "approved"
    REJECTED = "rejected"
    """It was read, and a criterion is not met."""
    UNREADABLE = "unreadable"
    """It was no verdict in the agreed form, or an empty one."""
    PARTIAL = "partial"
    """A criterion was left out, or the answer was cut off at its longest length."""
    REFUSED = "refused"
    """The model declined to answer."""


class CriterionVerdict(Record):
    """One criterion, with the votes that it got."""

    criterion: str
    """Its id."""
    met: bool
    """Whether at least as many votes as it needs say so."""
    votes_met: int
    votes_cast: int
    votes_needed: int = 1
    reason: str = ""
    """In the words of the vote that decided, 1,000 characters at most."""
    evidence: str = ""
    """`path:line`, where the judge names one."""


class Judgement(Record):
    """The verdict on one committed tree."""

    outcome: JudgementOutcome
    cause: str
    """Why it is a rejection, in a sentence; empty when approved."""
    criteria: tuple[CriterionVerdict, ...] = ()
    principle: str = ""
    """What the judge learnt for its next verdict, one line of 300 characters at most."""
    score: float | None = None
    """Weighted share of criteria that are met, 0 to 1; None where there was no readable verdict."""
    model: str = ""
    way: str = ""
    """`api` or `claude`."""
    usage: Usage = Usage()
    calls: int = 0
    seconds: float = 0.0

    @property
    def approved(self) -> bool:
        return self.outcome is JudgementOutcome.APPROVED
