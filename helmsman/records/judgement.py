"""What an independent model says of the work, criterion by criterion."""

from enum import StrEnum

from helmsman.records.base import Record
from helmsman.records.usage import Usage


class JudgementOutcome(StrEnum):
    """An answer that cannot be read is neither: it is the operator's to resolve, and says nothing about the work."""

    APPROVED = "approved"
    """Every criterion is met. Only this lets a loop complete."""
    REJECTED = "rejected"
    """A criterion is not met."""

    @classmethod
    def _missing_(cls, value: object) -> "JudgementOutcome | None":
        """Records of older versions name here why an answer could not be read, which counted as a rejection."""
        return cls.REJECTED if value in {"unreadable", "partial", "refused"} else None


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
    """Weighted share of criteria that are met, 0 to 1; None in records of answers that could not be read."""
    model: str = ""
    way: str = ""
    """`api` or `claude`."""
    usage: Usage = Usage()
    calls: int = 0
    seconds: float = 0.0

    @property
    def approved(self) -> bool:
        return self.outcome is JudgementOutcome.APPROVED
