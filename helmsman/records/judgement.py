"""What an independent model says of the work, criterion by criterion."""

from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record
from helmsman.records.usage import Usage

Given = Literal["met", "not_met", "cannot_tell"]
"""What the judge may say of a criterion."""


class JudgementOutcome(StrEnum):
    """An answer that cannot be read is neither: it is the operator's to resolve, and says nothing about the work."""

    APPROVED = "approved"
    """Every criterion is met. Only this lets a loop complete."""
    REJECTED = "rejected"
    """A criterion is not met."""
    UNDECIDED = "undecided"
    """None is unmet, and of one it cannot be told from what the judge was shown, also after what it asked for."""

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
    cannot_tell: bool = False
    """Whether votes that could not tell would make the difference: it counts neither as met nor as unmet."""
    votes_met: int
    votes_cast: int
    votes_needed: int = 1
    reason: str = ""
    """In the words of the vote that decided, 1,000 characters at most."""
    fix: str = ""
    """For one that is unmet: the smallest change that would make it met, 500 characters at most."""
    need: tuple[str, ...] = ()
    """For one that cannot be told: files that would decide it, 10 at most."""
    evidence: str = ""
    """`path:line`, where the judge names one."""

    @property
    def unmet(self) -> bool:
        return not self.met and not self.cannot_tell

    @property
    def given(self) -> Given:
        """The verdict in a word, as the judge gives it."""
        return "met" if self.met else "cannot_tell" if self.cannot_tell else "not_met"


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

    @property
    def rejected(self) -> bool:
        return self.outcome is JudgementOutcome.REJECTED
