"""What is kept of the judge's verdicts: for the agent why it was rejected, for the judge what it learnt."""

from datetime import datetime

from helmsman.records.base import Record
from helmsman.records.judgement import Given
from helmsman.records.proof import Denial

REJECTIONS_KEPT = 10
NOTES_KEPT = 40
"""Lines that go back to the judge."""
VERDICTS_KEPT = 40
REASON_KEPT = 1500
PAST_REASON_KEPT = 300


class Rejection(Record):
    """One verdict that was no approval, as the agent is told of it."""

    iteration: int
    at: datetime
    consecutive: int
    """How many rejections in a row this one made."""
    reason: str
    """1,500 characters at most."""
    criteria: tuple[str, ...] = ()
    """Ids of the criteria that were not met."""
    repeated: int = 0
    """How many of the kept rejections before it failed on one of the same criteria."""


class PastVerdict(Record):
    """What the judge said of one criterion before, as it is shown that again."""

    iteration: int
    commit: str
    """The tree that it was said of."""
    criterion: str
    given: Given
    reason: str
    """300 characters at most."""


class JudgeMemory(Record):
    """Bounded: the newest rejections, verdicts and notes."""

    rejections: int = 0
    """In a row; an approval and a person's resume set it back."""
    feedback: tuple[Rejection, ...] = ()
    """Newest last, 10 at most."""
    verdicts: tuple[PastVerdict, ...] = ()
    """By criterion, newest last, 40 at most."""
    notes: tuple[str, ...] = ()
    """One principle a verdict, newest last, 40 at most."""
    resets: int = 0
    """How often another approach was demanded instead of more of the same."""
    reset_at: int = 0
    """Iteration whose rejection demanded it last; 0: never."""


class DoneSignals(Record):
    """How the last iterations spoke of being done; what saturation and the dual gate look at."""

    refused: tuple[Denial, ...] = ()
    """What stood against the request of the last iteration; empty where it made none."""
    asked_in_row: int = 0
    """Requests in a row, under green checks, that were not granted."""
    unchanged: int = 0
    """Requests on a tree that is as it was at the start, since a person looked."""
    unproven: int = 0
    """Requests for work that nothing shows to be more than what was green before, since a person looked."""
    blocked: int = 0
    """Iterations in a row that said they cannot go on without a person."""
    blocked_by: str = ""
    """What the last one said stands in its way."""
    blocked_seen: str = ""
    """What the judge said of that, where it was asked and does not see it."""
    test_only_in_row: int = 0
    """Iterations in a row, under green gates, that changed nothing but tests."""
    indicators: tuple[bool, ...] = ()
    """Of the last five iterations, whether each looked complete, newest last."""
