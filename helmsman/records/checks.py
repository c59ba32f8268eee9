"""What the checks found on one committed tree."""

from helmsman.records.base import Record

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
    """One command, run once."""

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
    """Why it could not run, where that is so."""
    remark: str = ""
    """What a person should know of it although it ran."""
    counts: TestCounts | None = None
    flaky: tuple[str, ...] = ()
    """Tests that failed and then passed on the same tree; the command's name where it names no tests. Empty: none did."""
    ran: tuple[str, ...] = ()
    """Of the required tests those that it ran, unskipped."""
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
    """All commands on one committed tree."""

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


class TrustedCopy(Record):
    """A second run of the checks, with what is protected as it was when the loop began."""

    put_back: tuple[str, ...] = ()
    """Paths that were as at the start; none where nothing protected has changed, and then nothing was run. 200 at most."""
    report: CheckReport | None = None
    """None where nothing was run."""
