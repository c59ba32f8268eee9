"""How far the work is, by evidence alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.progress import UNPROVEN, progress_of
from helmsman.records.checks import CheckReport, CheckResult, Judgement, JudgementOutcome, TestCounts
from helmsman.records.claims import Claims
from helmsman.records.control import Progress
from tests.unit.builders import ASKED, check, evidence, execution, report, usage_limited

pytestmark = pytest.mark.feature("V4")
NOTHING = Progress()
COUNTS = st.builds(TestCounts, passed=st.integers(0, 50), failed=st.integers(0, 50))
RESULTS = st.builds(
    check,
    passed=st.booleans(),
    counts=st.none() | COUNTS,
    timed_out=st.booleans(),
    error=st.sampled_from(["", "no such program"]),
)
REPORTS = st.lists(RESULTS, max_size=5).map(lambda results: report(*results))
SHARES = st.none() | st.floats(0, 1)
BEFORE = st.builds(Progress, checks=SHARES, tests=SHARES, criteria=SHARES, completion=st.floats(0, 1))
SCORES = st.none() | st.floats(0, 1)


def counted(passed: int, failed: int) -> CheckResult:
    return check(passed=failed == 0, counts=TestCounts(passed=passed, failed=failed))


def after(checks: CheckReport | None, before: Progress = NOTHING, most: int = 0, **fields: Any) -> Progress:
    return progress_of(evidence(checks=checks, **fields), before, {"pytest": most})


def judged(score: float | None) -> Judgement:
    return Judgement(outcome=JudgementOutcome.REJECTED, cause="a criterion is not met", score=score)


def test_shares_are_counted_from_results() -> None:
    progress = after(report(counted(30, 10), check(passed=True, name="lint", command="ruff check")))
    assert (progress.checks, progress.tests, progress.criteria, progress.items) == (0.5, 0.75, None, None)
    assert progress.completion == pytest.approx(UNPROVEN * (5 * 0.75 + 3 * 0.5) / 8)


def test_tests_weigh_more_than_checks_and_checks_more_than_a_judge() -> None:
    tests = after(report(counted(9, 1)), judgement=judged(0)).completion
    checks = after(report(check(passed=False, counts=TestCounts(failed=10)), check(passed=True)), judgement=judged(0)).completion
    criteria = after(report(check(passed=False, counts=TestCounts(failed=10))), judgement=judged(1)).completion
    assert tests > checks + 0.1
    assert criteria == pytest.approx(UNPROVEN * 2 / 10)


def test_what_is_proven_is_all() -> None:
    assert after(report(counted(10, 0)), claims=ASKED).completion == 1


def test_nothing_is_there_where_nothing_is_checked() -> None:
    assert after(report()).completion == 0


@given(before=BEFORE)
def test_an_iteration_that_checked_nothing_leaves_everything_as_it_was(before: Progress) -> None:
    assert after(None, before) == before
    assert after(report(counted(5, 0)), before, execution=execution(usage_limited())) == before


def test_what_fails_by_chance_takes_nothing_away() -> None:
    counts = TestCounts(passed=9, failed=1, failing=("test_sum",))
    before = after(report(counted(10, 0)))
    wavering = check(passed=False, counts=counts, flaky=("test_sum",))
    assert after(report(wavering), before, most=10).checks == before.checks == 1
    assert after(report(check(passed=False, counts=counts)), before, most=10).checks == 0


def test_deleted_tests_do_not_raise_the_share() -> None:
    assert after(report(counted(6, 4)), most=10).tests == 0.6
    assert after(report(counted(6, 0)), most=10).tests == 0.6
    assert after(report(counted(6, 4)), most=10).tests == after(report(counted(6, 3)), most=10).tests


@pytest.mark.parametrize("fields", [{"timed_out": True}, {"error": "no such program"}], ids=["timed out", "could not run"])
def test_a_check_that_says_nothing_neither_helps_nor_harms(fields: dict[str, object]) -> None:
    silent, before = check(passed=False, exit_code=None, **fields), Progress(checks=0.5, tests=0.6)
    steady = after(report(silent, check(passed=True, name="lint", command="ruff check")), before, most=10)
    assert (steady.checks, steady.tests) == (0.5, 0.6)
    lost = after(report(silent, check(passed=False, name="lint", command="ruff check")), Progress(checks=1), most=10)
    assert lost.checks == 0.5
    assert after(report(silent)).checks == 0


def test_a_verdict_holds_until_the_next_one_that_can_be_read() -> None:
    before = after(report(counted(1, 0)), judgement=judged(0.25))
    assert before.criteria == 0.25
    assert after(report(counted(1, 0)), before).criteria == 0.25
    assert after(report(counted(1, 0)), before, judgement=judged(None)).criteria == 0.25
    assert after(report(counted(1, 0)), before, judgement=judged(0.5)).criteria == 0.5


def test_the_first_verdict_takes_nothing_away_where_a_judge_was_to_be_asked() -> None:
    found = evidence(checks=report(counted(10, 0)))
    unasked = progress_of(found, NOTHING, {}, judged=True)
    rejected = progress_of(found.model_copy(update={"judgement": judged(0.25)}), unasked, {}, judged=True)
    assert (unasked.criteria, rejected.criteria) == (0, 0.25)
    assert unasked.completion < rejected.completion < UNPROVEN


@given(checks=REPORTS, before=BEFORE, most=st.integers(0, 100), score=SCORES, asks=st.booleans(), will=st.booleans())
def test_every_share_is_between_nothing_and_all_and_all_only_where_it_is_proven(
    checks: CheckReport, before: Progress, most: int, score: float | None, asks: bool, will: bool
) -> None:
    found = evidence(checks=checks, judgement=None if score is None else judged(score), claims=ASKED if asks else Claims())
    progress = progress_of(found, before, {"pytest": most}, judged=will)
    assert all(share is None or 0 <= share <= 1 for share in (progress.checks, progress.tests, progress.criteria))
    assert 0 <= progress.completion <= 1
    assert (progress.completion == 1) == found.proven
