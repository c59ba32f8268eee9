"""Whether the work is done: the claim, the objections, and the stored verdicts of the judge."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from helmsman.plain import shorten
from helmsman.records.base import Record
from helmsman.records.checks import CheckReport, CriterionOutcome, TrustedRun
from helmsman.records.verification import OutcomeTable


class Denial(Record):
    rule: Literal[
        "checks", "unchanged", "unproven", "expectations", "invariants", "claims", "required_tests", "indicators", "plan",
        "processes", "hidden", "probes", "looked_up", "judge"
    ]  # fmt: skip
    """`claims` occurs only in older records: no self-report denies anything."""
    why: str


MOST_SHOWN, LONGEST_SHOWN = 2, 200
WAIVABLE_RULES = frozenset({"unproven", "expectations", "looked_up"})
"""Rules that a person may waive after a second claim."""


def describe_denials(denials: Sequence[Denial]) -> str:
    """Return the first objections for a line, each shortened. The agent is told all, and `explain` shows all."""
    more = len(denials) - MOST_SHOWN
    return "; ".join(
        (*(shorten(one.why, LONGEST_SHOWN) for one in denials[:MOST_SHOWN]), *([f"and {more} more"] if more > 0 else ()))
    )


class Mutants(Record):
    """Small mistakes in changed lines, and whether the checks notice them."""

    made: int
    survived: tuple[str, ...] = ()
    low: float
    high: float
    """Ends of the interval of the share that is noticed, at 95 %."""

    @property
    def summary(self) -> str:
        noticed = self.made - len(self.survived)
        return f"the checks detect {noticed} of {self.made} mutants ({self.low:.0%} to {self.high:.0%})"


class SinceStart(Record):
    """The work compared with the start commit of the loop."""

    unchanged: bool = False
    """Whether no file differs, except for the plan's file: its ticks are no work."""
    needs_test: bool = False
    """Whether it takes a test that fails on the source of the start: every check was green at the start, or the goal asks for
    tests, and there is neither a judge nor an item of a plan."""
    without_test: tuple[str, ...] = ()
    """Checks that pass on the work although no test ran in them, without those that already did before any work."""
    failing: tuple[str, ...] = ()
    """Checks that pass on the work, and fail with its tests on the source of the start."""
    tests: tuple[str, ...] = ()
    """Tests that fail there, as far as the runners name them; 200 at most."""
    tests_changed: bool = False
    """Whether tests of the start differ, or files that they use or that run them."""
    changed_expectations: tuple[str, ...] = ()
    """Tests, or checks that name none, that pass on the work and fail on it with the tests of the start."""
    tests_of_start: TrustedRun = TrustedRun()
    """Results of the checks on the work with the tests of the start, without their output."""
    on_start: CheckReport | None = None
    """Results on the start's source with the work's tests, without their output; None if not run."""
    table: OutcomeTable = OutcomeTable()
    looked_up: tuple[str, ...] = ()
    """Functions that return nothing, an error or one constant for every input other than those of their tests, a clause each."""
    cannot_fail: tuple[str, ...] | None = None
    """Tests that turned green, or checks that name none, that also pass with other values; None if no value could be changed."""
    not_altered: tuple[str, ...] = ()
    """Tests that turned green in which no value could be changed, or which did not run with other values."""
    unexercised: tuple[str, ...] | None = None
    """New tests that alone prove the change, and also pass with stubs for the changed functions; None if that did not run."""
    mutants: Mutants | None = None
    packages: tuple[str, ...] = ()
    """Packages outside of the repository that the checks' Python got, lost or changed since the loop began, 20 at most."""
    passing_now: tuple[str, ...] = ()
    """Cases that alone would prove the work, failed when the loop began, and pass now on the commit of the start."""


class Proof(Record):
    asked: bool = False
    """Whether the agent claims completion, or its last iterations changed only tests."""
    how: str = ""
    green: bool = False
    """Whether every check passed on the committed tree, or none is configured with the operator's consent."""
    denied: tuple[Denial, ...] = ()
    looks_complete: bool = False
    """Whether this iteration counts as an indicator of completion for the dual gate."""
    test_only: bool = False

    @property
    def open(self) -> bool:
        """Whether only the judge's approval is missing."""
        return self.asked and self.green and not self.denied

    @property
    def refusing_rules(self) -> frozenset[str]:
        """Rules that refuse a claim of completion although every check passes; empty without such a claim."""
        return frozenset(denial.rule for denial in self.denied) if self.asked and self.green else frozenset()

    @property
    def objections(self) -> str:
        return describe_denials(self.denied)


class Rejection(Record):
    """One rejection, as shown to the agent."""

    iteration: int
    at: datetime
    consecutive: int
    reason: str
    criteria: tuple[str, ...] = ()
    repeated: int = 0
    """How many earlier kept rejections failed on one of the same criteria."""


class PastVerdict(Record):
    """An earlier verdict on one criterion, as shown to the judge."""

    iteration: int
    commit: str
    criterion: str
    given: CriterionOutcome
    reason: str


class JudgeMemory(Record):
    """Bounded: the newest rejections, verdicts and notes."""

    rejections: int = 0
    """Rejections in a row; an approval and a person's resume reset it."""
    feedback: tuple[Rejection, ...] = ()
    verdicts: tuple[PastVerdict, ...] = ()
    notes: tuple[str, ...] = ()
    reset_at: int = 0


class DoneSignals(Record):
    """Signs of completion in the last iterations, for test saturation and the dual gate."""

    refused: tuple[Denial, ...] = ()
    asked_in_row: int = 0
    """Denied claims of completion in a row, with green checks."""
    unchanged: int = 0
    """Claims of completion on the unchanged tree of the start, since a person last answered."""
    unproven: int = 0
    blocked: int = 0
    """Iterations in a row in which the agent says that it is blocked."""
    blocked_by: str = ""
    blocked_seen: str = ""
    """The judge's answer, if it was asked and does not confirm that."""
    test_only_in_row: int = 0
    """Iterations in a row, with green gates, that changed only tests."""
    indicators: tuple[bool, ...] = ()
