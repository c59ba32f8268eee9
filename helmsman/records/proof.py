"""Whether the work is done: what was asked for, what stands against it, and whether a judge is due."""

from typing import Literal

from helmsman.records.base import Record
from helmsman.records.judgement import Judgement
from helmsman.records.plan import ItemProof


class Denial(Record):
    """One thing that stands against being done."""

    rule: Literal["invariants", "claims", "required_tests", "indicators", "plan"]
    why: str
    """A clause with the evidence."""


class Proof(Record):
    """The gates of completion in one iteration."""

    asked: bool = False
    """Whether the agent asks to be done, or its last iterations say so by changing nothing but tests."""
    how: str = ""
    """In what way it asked."""
    green: bool = False
    """Whether every check passed on the committed tree, or none is configured and the operator agreed to that."""
    denied: tuple[Denial, ...] = ()
    """What stands against being done besides checks and judge."""
    looks_complete: bool = False
    """Whether this iteration counts as an indicator of completion for the dual gate."""
    test_only: bool = False
    """Whether it changed nothing but tests."""

    @property
    def open(self) -> bool:
        """Whether nothing but the judge's word is missing."""
        return self.asked and self.green and not self.denied

    @property
    def objections(self) -> str:
        return "; ".join(denial.why for denial in self.denied)


class Verdict(Record):
    """The gates, and the judge's word where it was asked."""

    proof: Proof
    judgement: Judgement | None = None
    item: ItemProof | None = None
    """Of the plan's item in hand, where there is one."""
