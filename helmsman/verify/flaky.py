"""Tests that fail and then pass on the same tree: neither a pass nor a failure, and told apart from both."""

from collections.abc import Sequence

from helmsman.records.checks import CheckReport, CheckResult

LARGEST = 5  # failing tests that are run again at most; more of them do not fail by chance


def suspects(results: Sequence[CheckResult], before: CheckReport | None = None) -> list[int]:
    """Places of the results that are worth running again on the same tree.

    So few named tests failed that chance may be to blame, and one of them did not fail in the report before: what fails again
    and again is broken, and running it twice would double the time of every check. A timeout or a missing command is not
    run again.
    """
    known = {name for result in before.results for name in _failing(result)} if before else set[str]()
    ended = [not (one.passed or one.timed_out or one.error) for one in results]
    few = [one.counts is not None and one.counts.failed <= LARGEST for one in results]
    return [at for at, one in enumerate(results) if ended[at] and few[at] and not known.issuperset(_failing(one))]


def _failing(result: CheckResult) -> tuple[str, ...]:
    return result.counts.failing if result.counts else ()


def after_rerun(first: CheckResult, again: CheckResult, *, tolerate: bool) -> CheckResult:
    """The first result, with the names of the tests that passed when it was run again. It passes only where that is tolerated."""
    still = set(_failing(again))
    flaky = tuple(name for name in _failing(first) if name not in still) if again.passed or still else ()
    passed = tolerate and again.passed
    return first.model_copy(update={"flaky": flaky, "passed": passed, "seconds": first.seconds + again.seconds})
