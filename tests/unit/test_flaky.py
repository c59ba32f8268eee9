"""A test that fails and then passes on the same tree is flaky, which is neither."""

import pytest

from helmsman.records.checks import CheckResult, TestCounts
from helmsman.verify.rerun import after_rerun, suspects
from tests.unit.builders import check, report

pytestmark = pytest.mark.feature("V3")


def failing(*names: str, failed: int = 0, **fields: object) -> CheckResult:
    return check(passed=False, counts=TestCounts(failed=failed or len(names), failing=names), **fields)


PASSES = check(passed=True, counts=TestCounts(passed=3))


@pytest.mark.parametrize(
    ("result", "again"),
    [
        (failing("a"), True),
        (failing(*"abcde"), True),
        (failing(*"abcdef"), False),
        (failing("a", failed=60), False),
        (failing("a", timed_out=True), False),
        (failing("a", error="no such command"), False),
        (check(passed=False), False),
        (PASSES, False),
    ],
    ids=["one", "five", "too many", "more than are named", "timeout", "not started", "unnamed", "passes"],
)
def test_only_a_small_set_of_named_failures_is_worth_running_again(result: CheckResult, again: bool) -> None:
    assert suspects([PASSES, result]) == ([1] if again else [])


def test_what_failed_on_the_tree_before_as_well_is_broken_and_not_run_twice() -> None:
    assert suspects([failing("a", "b")], report(failing("a"), failing("b"))) == []
    assert suspects([failing("a", "c")], report(failing("a"), failing("b"))) == [0]
    assert suspects([failing("a")], report(PASSES)) == [0]


def test_what_passes_the_second_time_is_flaky_and_still_no_pass() -> None:
    found = after_rerun(failing("a", "b"), PASSES, tolerate=False)
    assert (found.flaky, found.passed, found.seconds) == (("a", "b"), False, 2)


def test_an_operator_may_tolerate_it() -> None:
    assert after_rerun(failing("a"), PASSES, tolerate=True).passed


def test_a_second_run_that_breaks_altogether_proves_nothing() -> None:
    found = after_rerun(failing("a"), check(passed=False, error="no such command"), tolerate=True)
    assert (found.flaky, found.passed) == ((), False)
