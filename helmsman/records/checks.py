"""What checks, scans, probes and the judge found on one committed tree."""

from enum import StrEnum
from typing import Literal

from helmsman.records.base import Record, Usage

UNSEEN = "a hidden check: what it is, and what it prints, is not told"


class TestCounts(Record):
    """Numbers read from a test report or a runner's summary."""

    __test__ = False  # not a pytest class

    passed: int = 0
    failed: int = 0
    """Failures and errors together."""
    skipped: int = 0
    failing: tuple[str, ...] = ()
    """Names of failing tests as the runner prints them, 50 at most."""

    @property
    def executed(self) -> int:
        return self.passed + self.failed


class CheckResult(Record):
    name: str
    command: str
    passed: bool
    exit_code: int | None
    """None when the command was ended or could not be started."""
    seconds: float
    head: str = ""
    tail: str = ""
    """First and last part of the output, bounded; tail is empty when head holds all of it."""
    listed: tuple[str, ...] = ()
    """What failed, a line each, 30 at most; the last lines of the output where nothing in it is known."""
    timed_out: bool = False
    error: str = ""
    remark: str = ""
    counts: TestCounts | None = None
    flaky: tuple[str, ...] = ()
    """Tests that failed and then passed on the same tree; the command's name where it names no tests. Empty: none did."""
    ran: tuple[str, ...] = ()
    """The required tests that it ran, unskipped."""
    collected: tuple[str, ...] = ()
    """Files that its report has tests of although they are not named like tests, 100 at most."""
    passing: tuple[str, ...] = ()
    """Tests that passed, as its report names them; only where every case is asked for, as no loop does."""

    @property
    def unseen(self) -> "CheckResult":
        """Of a hidden check what the agent may know: its name, and whether it passes."""
        kept = {"name", "passed", "exit_code", "seconds", "timed_out"}
        listed = () if self.passed else (UNSEEN,)
        return CheckResult.model_validate({"command": "", "listed": listed, **self.model_dump(include=kept)})

    @property
    def ran_no_test(self) -> bool:
        """Whether it passed and its summary counts no test that ran: there is none, or all were skipped."""
        return self.passed and self.counts is not None and not self.counts.executed

    @property
    def by_chance(self) -> bool:
        """Whether it failed only by what then passed on the same tree."""
        failing = self.counts.failing if self.counts else ()
        return not self.passed and bool(self.flaky) and set(failing) <= set(self.flaky)


def checks_fail(failed: int, total: int) -> str:
    """That checks fail, in a clause: the check fails, 1 of 2 checks fails, 2 of 3 checks fail."""
    if total == 1 and failed:
        return "the check fails"
    return f"{failed} of {total} checks {'fails' if failed == 1 else 'fail'}"


class CheckReport(Record):
    tree: str
    results: tuple[CheckResult, ...] = ()
    left_behind: tuple[str, ...] = ()
    """Paths that the checks changed or made in the worktree, put back afterwards; 20 at most."""
    clean: bool | None = None
    """Whether it was a clean checkout that they ran in; False for the agent's folder, None in records that do not say."""

    @property
    def passed(self) -> bool:
        """Whether at least one check ran and all exited with 0."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def collected(self) -> tuple[str, ...]:
        """Of all its checks."""
        return tuple(dict.fromkeys(path for result in self.results for path in result.collected))

    @property
    def conclusive(self) -> bool:
        """Whether running again on the same tree would be pointless: nothing timed out or failed to start."""
        return not any(result.timed_out or result.error for result in self.results)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        return tuple(result for result in self.results if not result.passed)

    @property
    def without_output(self) -> "CheckReport":
        """What it found, without what the commands printed."""
        nothing = {"head": "", "tail": "", "listed": ()}
        return self.model_copy(update={"results": tuple(result.model_copy(update=nothing) for result in self.results)})


class TrustedRun(Record):
    """A second run of the checks, with what is protected as it was when the loop began."""

    put_back: tuple[str, ...] = ()
    """Paths that were as at the start; none where nothing protected has changed, and then nothing was run. 200 at most."""
    report: CheckReport | None = None


SHOWN = 200
"""Characters of a line that are kept as before and after."""


class Weight(StrEnum):
    """What a finding does to a request to be done."""

    BLOCK = "block"
    HINT = "hint"
    """It is shown to people and to the judge, and that is all: honest work does it too."""

    @classmethod
    def _missing_(cls, value: object) -> "Weight | None":
        return cls.HINT if value == "warn" else None  # as loops of 0.1 noted it


class Finding(Record):
    rule: str
    weight: Weight
    path: str
    line: int | None = None
    """Counted from 1, in the file as it is now; in the file as it was, where it is gone."""
    before: str = ""
    """What stood there, one line, 200 characters at most."""
    after: str = ""
    message: str
    """What was done, in a clause without a full stop: `test_adds was deleted`."""
    honest: str
    """What an honest change would have been, as an instruction to the agent."""

    @property
    def where(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


MOST_LEAKS = 50
MOST_WEAKNESSES = 200


class Leak(Record):
    """A line that was added and that holds a secret."""

    path: str
    line: int
    kind: str
    """As the detector calls it, for example `AWS Access Key`."""
    digest: str
    """Six hexadecimal digits: enough to know the same secret again, too few to confirm a guess at it."""
    weight: Weight
    doubt: str = ""


Harm = Literal["high", "medium", "low"]


class Weakness(Record):
    """What a security scan objects to. Its words are left out: scanners quote passwords."""

    rule: str
    """As the scanner names it, 100 characters at most."""
    path: str
    """Relative to the worktree, 300 characters at most."""
    line: int = 0
    severity: Harm
    digest: str = ""
    """Of the line it is about, whatever its number and spacing, eight hexadecimal digits."""


class Scan(Record):
    commit: str = ""
    findings: tuple[Weakness, ...] = ()
    """The severest first, 200 at most."""
    left_out: int = 0
    error: str = ""


Given = Literal["met", "not_met", "cannot_tell"]
"""What the judge may say of a criterion."""


class JudgementOutcome(StrEnum):
    """An answer that cannot be read is neither: it is the operator's to resolve, and says nothing about the work."""

    APPROVED = "approved"
    """Every criterion is met. Only this lets a loop complete."""
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    """None is unmet, and of one it cannot be told from what the judge was shown, also after what it asked for."""

    @classmethod
    def _missing_(cls, value: object) -> "JudgementOutcome | None":
        """Records of older versions name here why an answer could not be read, which counted as a rejection."""
        return cls.REJECTED if value in {"unreadable", "partial", "refused"} else None


class CriterionVerdict(Record):
    criterion: str
    met: bool
    cannot_tell: bool = False
    """Whether votes that could not tell would make the difference: it counts neither as met nor as unmet."""
    votes_met: int = 0
    votes_cast: int = 0
    votes_needed: int = 1
    reason: str = ""
    """In the words of the vote that decided, 1,000 characters at most."""
    fix: str = ""
    """For one that is unmet: the smallest change that would make it met, 500 characters at most."""
    need: tuple[str, ...] = ()
    """For one that cannot be told: files that would decide it, 10 at most."""
    evidence: str = ""
    """Earlier versions noted the first place that the reason names."""

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
    criteria: tuple[CriterionVerdict, ...] = ()
    principle: str = ""
    """What the judge learnt for its next verdict, one line of 300 characters at most."""
    score: float | None = None
    """Weighted share of criteria that are met, 0 to 1; None in records of answers that could not be read."""
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
    """A case that a model wrote without seeing the new source. It lies outside of the repository: the agent never sees it."""

    says: str
    """What it asks for, in a sentence without its values; this is what the agent is told."""
    code: str
    right: bool = False


class Probed(Record):
    """What came of the probes at one claim, without what they are."""

    written: int = 0
    again: bool = False
    passing: int = 0
    failing: tuple[str, ...] = ()
    """What those ask for that fail and are right: they block."""
    unclear: tuple[str, ...] = ()
    dropped: int = 0
    """Those that fail and are wrong, or could not be run."""
    reason: str = ""
    usage: Usage = Usage()
