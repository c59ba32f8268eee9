"""Results of checks, scans, probes and the judge on one committed tree."""

from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record, Usage

HIDDEN_RESULT = "a hidden check: its command and output are not shown"


class TestCounts(Record):
    """Numbers read from a test report or a runner's summary."""

    __test__ = False  # not a pytest class

    passed: int = 0
    failed: int = 0
    """Failures and errors together."""
    skipped: int = 0
    failing: tuple[str, ...] = ()
    """Names of failing tests as printed by the runner, 50 at most."""
    partial: bool = False
    """Whether tests that passed may be missing in these numbers: go test without -v counts none, and long output is cut."""

    @property
    def executed(self) -> int:
        return self.passed + self.failed


class CheckResult(Record):
    name: str
    command: str
    passed: bool
    exit_code: int | None
    """None if the command was killed or could not be started."""
    seconds: float
    head: str = ""
    tail: str = ""
    """First and last part of the output, bounded; tail is empty if head contains all of it."""
    listed: tuple[str, ...] = ()
    """Failures, one line each, 30 at most; the last lines of the output if its format is unknown."""
    timed_out: bool = False
    error: str = ""
    remark: str = ""
    counts: TestCounts | None = None
    flaky: tuple[str, ...] = ()
    """Tests that failed and then passed on the same tree; the command's name if it names no tests."""
    ran: tuple[str, ...] = ()
    """Required tests that ran and were not skipped."""
    collected: tuple[str, ...] = ()
    """Files with tests in its report although they are not named like tests, 100 at most."""
    passing: tuple[str, ...] = ()
    """Tests that passed, by name in its report; only if every case is requested, which loops do not do."""

    @property
    def for_agent(self) -> "CheckResult":
        """The part of a hidden check that the agent may know: its name and whether it passes."""
        shown = {"name", "passed", "exit_code", "seconds", "timed_out"}
        listed = () if self.passed else (HIDDEN_RESULT,)
        return CheckResult.model_validate({"command": "", "listed": listed, **self.model_dump(include=shown)})

    @property
    def ran_no_test(self) -> bool:
        """Whether it passed and its summary counts no executed test: there is none, or all were skipped."""
        return self.passed and self.counts is not None and not self.counts.executed

    @property
    def is_flaky(self) -> bool:
        """Whether it failed only because of flaky tests, which passed again on the same tree."""
        failing = self.counts.failing if self.counts else ()
        return not self.passed and bool(self.flaky) and set(failing) <= set(self.flaky)


def checks_fail(failed: int, total: int) -> str:
    """Failing checks as a clause: the check fails, 1 of 2 checks fails, 2 of 3 checks fail."""
    if total == 1 and failed:
        return "the check fails"
    return f"{failed} of {total} checks {'fails' if failed == 1 else 'fail'}"


class CheckReport(Record):
    tree: str
    results: tuple[CheckResult, ...] = ()
    left_behind: tuple[str, ...] = ()
    """Paths that the checks changed or created in the worktree, restored afterwards; 20 at most."""
    clean: bool | None = None
    """Whether the checks ran in a clean checkout; False for the agent's folder, None if not recorded."""

    @property
    def passed(self) -> bool:
        """Whether at least one check ran and all exited with 0."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def collected(self) -> tuple[str, ...]:
        """Collected paths of all checks."""
        return tuple(dict.fromkeys(path for result in self.results for path in result.collected))

    @property
    def is_conclusive(self) -> bool:
        """Whether a rerun on the same tree would be pointless: nothing timed out or failed to start."""
        return not any(result.timed_out or result.error for result in self.results)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        return tuple(result for result in self.results if not result.passed)

    @property
    def without_output(self) -> "CheckReport":
        """The report without the output of the commands."""
        cleared = {"head": "", "tail": "", "listed": ()}
        return self.model_copy(update={"results": tuple(result.model_copy(update=cleared) for result in self.results)})


class TrustedRun(Record):
    """A second run of the checks, with protected files from the start of the loop."""

    put_back: tuple[str, ...] = ()
    """Paths that were restored to their state at the start, 200 at most; empty if nothing protected changed, and then there was
    no run."""
    data: tuple[str, ...] = ()
    """Those of them that are no tests by their names: data that, as far as text tells, only tests or programs of checks read."""
    report: CheckReport | None = None


SHOWN = 200
"""Stored characters of a line before and after a change."""


class Weight(StrEnum):
    """Effect of a finding on a claim of completion."""

    BLOCK = "block"
    HINT = "hint"
    """It is only shown to people and to the judge: honest work does it too."""

    @classmethod
    def _missing_(cls, value: object) -> "Weight | None":
        return cls.HINT if value == "warn" else None  # as stored by loops of 0.1


class Finding(Record):
    rule: str
    weight: Weight
    path: str
    line: int | None = None
    """Counted from 1, in the current file; in the old file if the line is gone."""
    before: str = ""
    """The old line, 200 characters at most."""
    after: str = ""
    message: str
    """What was changed, in a clause without a full stop: `test_adds was deleted`."""
    honest: str
    """What an honest change would have been, as an instruction to the agent."""

    @property
    def where(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


MOST_LEAKS = 50
MOST_WEAKNESSES = 200


class Leak(Record):
    """An added line that contains a secret."""

    path: str
    line: int
    kind: str
    """As the detector calls it, for example `AWS Access Key`."""
    digest: str
    """Six hexadecimal digits: enough to recognise the same secret, too few to confirm a guess."""
    weight: Weight
    doubt: str = ""


ScanSeverity = Literal["high", "medium", "low"]


class Weakness(Record):
    """A finding of a security scan, without its text, because scanners quote passwords."""

    rule: str
    """Its name in the scanner, 100 characters at most."""
    path: str
    """Relative to the worktree, 300 characters at most."""
    line: int = 0
    severity: ScanSeverity
    digest: str = ""
    """Digest of the line, independent of its number and spacing, eight hexadecimal digits."""


class Scan(Record):
    commit: str = ""
    findings: tuple[Weakness, ...] = ()
    """Most severe first, 200 at most."""
    left_out: int = 0
    error: str = ""


CriterionOutcome = Literal["met", "not_met", "cannot_tell"]
"""Possible verdicts of the judge on a criterion."""


class JudgementOutcome(StrEnum):
    """An unreadable answer is neither: the operator must resolve it, and it says nothing about the work."""

    APPROVED = "approved"
    """Every criterion is met. Only this lets a loop complete."""
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    """None is unmet, and at least one cannot be decided, even with the files that the judge asked for."""

    @classmethod
    def _missing_(cls, value: object) -> "JudgementOutcome | None":
        """Accept reasons for an unreadable answer from records of older versions, which counted as a rejection."""
        return cls.REJECTED if value in {"unreadable", "partial", "refused"} else None


class CriterionVerdict(Record):
    criterion: str
    met: bool
    cannot_tell: bool = False
    """Whether undecided votes would change the result: the criterion counts neither as met nor as unmet."""
    votes_met: int = 0
    votes_cast: int = 0
    votes_needed: int = 1
    reason: str = ""
    """Reason of the deciding vote, 1,000 characters at most."""
    fix: str = ""
    """For an unmet criterion: the smallest change that would meet it, 500 characters at most."""
    need: tuple[str, ...] = ()
    """For an undecided criterion: files that would decide it, 10 at most."""
    evidence: str = ""
    """Earlier versions noted the first place that the reason names."""

    @property
    def unmet(self) -> bool:
        return not self.met and not self.cannot_tell

    @property
    def given(self) -> CriterionOutcome:
        """The verdict as the judge gives it."""
        return "met" if self.met else "cannot_tell" if self.cannot_tell else "not_met"


class Judgement(Record):
    """The verdict on one committed tree."""

    outcome: JudgementOutcome
    cause: str
    criteria: tuple[CriterionVerdict, ...] = ()
    principle: str = ""
    """What the judge learned for its next verdict, one line of 300 characters at most."""
    score: float | None = None
    """Weighted share of met criteria, 0 to 1; None if the answer could not be read."""
    model: str = ""
    way: str = ""
    usage: Usage = Usage()
    calls: int = 0
    seconds: float = 0.0

    @property
    def approved(self) -> bool:
        return self.outcome is JudgementOutcome.APPROVED

    @property
    def rejected(self) -> bool:
        return self.outcome is JudgementOutcome.REJECTED


class Probe(Record):
    """A case that a model wrote without seeing the new source. It is stored outside of the repository, hidden from the agent."""

    says: str
    """Its requirement, in a sentence without its values; the agent sees only this."""
    code: str
    right: bool = False


class ProbeResult(Record):
    """Results of the probes at one claim of completion, without their content."""

    written: int = 0
    again: bool = False
    passing: int = 0
    failing: tuple[str, ...] = ()
    """Descriptions of failing, correct cases, which block."""
    unclear: tuple[str, ...] = ()
    dropped: int = 0
    """Cases that fail and are wrong, or could not run."""
    reason: str = ""
    usage: Usage = Usage()
