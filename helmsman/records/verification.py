"""Result of a verification of the work between two commits, and its grounds."""

from collections.abc import Mapping
from typing import Literal

from helmsman.records.base import Record
from helmsman.records.checks import CheckReport, CheckResult, Finding, Judgement, ProbeResult

MOST_CASES = 200
"""Cases stored in a loop's record."""

OutcomeName = Literal["FAIL_TO_PASS", "PASS_TO_PASS", "PASS_TO_FAIL", "FAIL_TO_FAIL", "CHANGED", "GONE"]
"""SWE-bench's four names. `CHANGED`: the base's test fails on the new source. `GONE`: no longer collected."""
UNCHANGED: frozenset[OutcomeName] = frozenset({"PASS_TO_PASS", "FAIL_TO_FAIL"})


Consequence = Literal["proves", "nothing", "reported", "asks", "fails"]
"""What a case means for the verdict. `asks`: a judge, or else a person, must decide whether the goal demands it."""


class Case(Record):
    """One test case, or a check whose runner lists none, in every run."""

    name: str
    check: str
    outcome: OutcomeName
    consequence: Consequence
    why: str
    """A clause: `fails on the base, passes on the head`."""
    fails_on_base: bool = False
    """Whether the head's version fails on the base's source."""
    red_on_base: bool = False

    @property
    def changed(self) -> bool:
        """Whether it is listed first: it changed, or matters to the verdict."""
        return self.outcome not in UNCHANGED or self.consequence != "nothing"


class OutcomeTable(Record):
    """The outcome of each case, changed ones first."""

    cases: tuple[Case, ...] = ()
    unnamed: int = 0
    """Number of other tests that pass on the head and that no report names."""
    left_out: int = 0

    def of(self, *consequences: Consequence) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.consequence in consequences)

    @property
    def new_test_proves(self) -> bool:
        """Whether a new or changed test fails without the change. Unknown for a check that lists no test."""
        proofs = (case for case in self.of("proves") if case.fails_on_base)
        return any(not case.red_on_base or case.name == case.check for case in proofs)


class Grounds(Record):
    """The evidence of a verdict, and what was not examined, one line each."""

    rests_on: tuple[str, ...] = ()
    not_looked_at: tuple[str, ...] = ()


Verdict = Literal["verified", "not_verified", "inconclusive"]
"""`inconclusive`: cannot be decided; never a pass."""
EXIT_STATUS: Mapping[Verdict, int] = {"verified": 0, "not_verified": 1, "inconclusive": 2}


class Reason(Record):
    rule: str
    verdict: Verdict
    why: str
    remedy: str = ""


class Verification(Record):
    """The whole result, as `--json` prints it."""

    verdict: Verdict
    exit_status: int
    reasons: tuple[Reason, ...]
    base: str
    head: str
    files_changed: int = 0
    table: OutcomeTable = OutcomeTable()
    grounds: Grounds = Grounds()
    head_checks: CheckReport | None = None
    base_checks: CheckReport | None = None
    trusted_checks: CheckReport | None = None
    """On the head's source with the base's tests and settings; null if not run."""
    new_tests: CheckReport | None = None
    """On the base's source with the head's tests; null if not run."""
    hidden: tuple[CheckResult, ...] = ()
    probed: ProbeResult | None = None
    """Results of the test cases that a model wrote; null if none were requested."""
    hints: tuple[Finding, ...] = ()
    """Hints from the text of the diff; they decide nothing."""
    judgement: Judgement | None = None
    runs: int = 0
    seconds: float = 0.0
