"""Tests that fail and then pass on the same tree: neither a pass nor a failure, and told apart from both."""

from collections.abc import Sequence

from helmsman.records.checks import CheckResult


def doubtful(results: Sequence[CheckResult], largest: int) -> list[int]:
    """Places of the results that are worth running again on the same tree."""
    return [place for place, result in enumerate(results) if may_be_flaky(result, largest)]


def may_be_flaky(result: CheckResult, largest: int) -> bool:
    """Whether so few named tests failed that chance may be to blame. A timeout or a missing command is not run again."""
    failing = result.counts.failing if result.counts else ()
    failed = result.counts.failed if result.counts else 0
    return not result.passed and not result.timed_out and not result.error and bool(failing) and failed <= largest


def second_opinion(first: CheckResult, again: CheckResult, *, tolerate: bool) -> CheckResult:
    """The first result, with the names of the tests that passed when it was run again. It passes only where that is tolerated."""
    still = set(again.counts.failing) if again.counts else set[str]()
    failing = first.counts.failing if first.counts else ()
    flaky = tuple(name for name in failing if name not in still) if again.passed or still else ()
    passed = tolerate and again.passed
    return first.model_copy(update={"flaky": flaky, "passed": passed, "seconds": first.seconds + again.seconds})
