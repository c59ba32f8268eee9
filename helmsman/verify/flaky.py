"""Tests that fail and then pass on the same tree: neither a pass nor a failure, and told apart from both."""

from collections.abc import Collection, Sequence

from helmsman.records.checks import CheckReport, CheckResult

LARGEST = 5
"""Failing tests that are run again at most; more of them do not fail by chance."""


def suspects(results: Sequence[CheckResult], before: CheckReport | None = None) -> list[int]:
    """Places of the results that are worth running again on the same tree.

    So few named tests failed that chance may be to blame, and one of them did not fail in the report before: what fails again
    and again is broken, and running it twice would double the time of every check. A timeout or a missing command is not
    run again.
    """
    known = {name for result in before.results for name in _failing(result)} if before else set[str]()
    return [place for place, result in enumerate(results) if _may_be_flaky(result, known)]


def _may_be_flaky(result: CheckResult, known: Collection[str]) -> bool:
    failing, failed = _failing(result), result.counts.failed if result.counts else 0
    ended = not result.passed and not result.timed_out and not result.error
    return ended and failed <= LARGEST and any(name not in known for name in failing)


def _failing(result: CheckResult) -> tuple[str, ...]:
    return result.counts.failing if result.counts else ()


def after_rerun(first: CheckResult, again: CheckResult, *, tolerate: bool) -> CheckResult:
    """The first result, with the names of the tests that passed when it was run again. It passes only where that is tolerated."""
    still = set(_failing(again))
    flaky = tuple(name for name in _failing(first) if name not in still) if again.passed or still else ()
    passed = tolerate and again.passed
    return first.model_copy(update={"flaky": flaky, "passed": passed, "seconds": first.seconds + again.seconds})
