"""What counts as progress, and how complete the work is."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.oversee.progress import BASE, TRUSTED, UNPROVEN, movement, progress_of
from helmsman.records.agent import CALL_FAILURES, NO_WORK_OUTCOMES, AgentOutcome, ErrorVector, FailureClass
from helmsman.records.checks import CheckReport, CheckResult, Judgement, JudgementOutcome, TestCounts
from helmsman.records.claims import Claims
from helmsman.records.control import IterationSummary, Movement, Progress
from tests.unit.builders import ASKED, NOW, check, evidence, execution, report, usage_limited

pytestmark = pytest.mark.feature("V4")

FORWARD, SIDEWAYS, STILL, BACK = Movement.FORWARD, Movement.SIDEWAYS, Movement.STILL, Movement.BACK
REMEMBERED = 50


def summary(tree: str = "t", **fields: Any) -> IterationSummary:
    usual = {"iteration": 1, "at": NOW, "outcome": AgentOutcome.FINISHED, "movement": STILL, "completion": 0.5}
    return IterationSummary.model_validate({**usual, "tree": tree, "files_changed": 1, **fields})


def error(where: str, message: str = "assert 1 == 2", kind: FailureClass = FailureClass.TEST, extent: int = 0) -> ErrorVector:
    return ErrorVector(kind=kind, where=where, message=message, extent=extent)


def failing(*wheres: str, extent: int = 0, kind: FailureClass = FailureClass.TEST) -> dict[str, Any]:
    return {"errors": tuple(error(where, kind=kind, extent=extent) for where in wheres)}


def counts(passing: int, failed: int) -> dict[str, Any]:
    """As `progress_of` would have it where one check runs tests."""
    return {"passing_tests": passing, "failing_tests": failed, "completion": passing / (passing + failed) / 2}


def movements(drafts: Sequence[IterationSummary], remembered: int = REMEMBERED) -> list[Movement]:
    """Movement by movement, each draft with its own tree where it has none."""
    history: list[IterationSummary] = []
    for number, draft in enumerate(drafts):
        one = draft.model_copy(update={"tree": f"t{number}"} if draft.tree == "t" else {})
        history.append(one.model_copy(update={"movement": movement(history[-remembered:], one)}))
    return [one.movement for one in history]


def last_movement(*drafts: IterationSummary) -> Movement:
    return movements(drafts)[-1]


def test_an_agent_that_never_got_to_work_waited() -> None:
    for outcome in sorted(NO_WORK_OUTCOMES):
        assert last_movement(summary(completion=0.2), summary(completion=0.9, outcome=outcome)) is Movement.WAITED


@pytest.mark.feature("S7")
def test_an_interrupted_call_counts_only_if_it_changed_files() -> None:
    for outcome in sorted(CALL_FAILURES):
        assert last_movement(summary(completion=0.2), summary(outcome=outcome, files_changed=0)) is Movement.WAITED
        assert last_movement(summary(completion=0.2), summary(outcome=outcome, completion=0.9)) is FORWARD


def test_what_waited_is_compared_with_nothing() -> None:
    waited = summary(outcome=AgentOutcome.USAGE_LIMIT, completion=0.9, passing_tests=99, checked=False, files_changed=0)
    assert movements([waited, summary(completion=0)]) == [Movement.WAITED, SIDEWAYS]
    assert last_movement(summary(completion=0.5), waited, summary(completion=0.6)) is FORWARD


BUILD, TYPES, NETWORK = FailureClass.BUILD, FailureClass.TYPES, FailureClass.NETWORK
GREEN_60, PROVEN = summary(**counts(60, 0), green=True), summary(completion=1, green=True, passing_tests=5)
RED = summary(**counts(10, 2), **failing("test_a"))
PADDED = counts(30, 2) | failing("test_a")
ALL_GREEN = summary(**counts(30, 0), green=True, test_only=True)
REFACTOR = [summary(**counts(100 - failed, failed), **failing("test_a", extent=failed)) for failed in (40, 30, 20, 10)]
FEWER_TESTS = [
    summary(completion=0.3, passing_tests=60, failing_tests=40, **failing("test_a", extent=40)),
    summary(completion=0.3, passing_tests=60, failing_tests=39, **failing("test_b", extent=39)),
    summary(completion=0.6, passing_tests=60, green=True),
]


def with_message(word: str) -> IterationSummary:
    return summary(errors=(error("t", f"no such {word}"),))


def broken_build(name: str) -> IterationSummary:
    return summary(completion=0, **failing(f"src/{name}.c:3", kind=BUILD))


BY_TESTS: dict[str, tuple[Sequence[IterationSummary], list[Movement]]] = {
    "more passing tests than ever, a smaller share": ([summary(**counts(90, 10)), summary(**counts(100, 100))], [FORWARD]),
    "new tests that fail": ([summary(**counts(10, 0), green=True), summary(**counts(10, 5), **failing("a"))], [SIDEWAYS]),
    "fewer failing tests after tests were added": (
        [summary(**counts(90, 0)), summary(**counts(60, 40)), *[summary(**counts(70, 30))] * 2],
        [FORWARD, BACK, FORWARD, SIDEWAYS],
    ),
    "fewer failing tests as fewer ran": (
        [summary(**counts(60, 40)), summary(completion=0.3, passing_tests=60, failing_tests=20)],
        [SIDEWAYS],
    ),
    "failing tests are deleted": (FEWER_TESTS, [FORWARD, SIDEWAYS, SIDEWAYS]),
    "tests are only added while the failure stays": ([RED, summary(**PADDED, test_only=True)], [SIDEWAYS]),
    "code and tests are added while the failure stays": ([RED, summary(**PADDED)], [FORWARD]),
    "one more passes, only tests changed": ([RED, summary(**counts(11, 1), **failing("test_a"), test_only=True)], [FORWARD]),
    "only tests changed and all pass": ([RED, ALL_GREEN], [FORWARD]),
    "tests are added to green ones": ([summary(**counts(20, 0), green=True), ALL_GREEN], [FORWARD]),
    "a long refactor, and a second one": (
        [summary(**counts(100, 0), green=True), *REFACTOR, summary(**counts(100, 0), green=True), *REFACTOR],
        [FORWARD, BACK, *[FORWARD] * 3, SIDEWAYS, BACK, *[FORWARD] * 3],
    ),
    "completion is not claimed again": ([PROVEN, summary(completion=0.95, green=True, passing_tests=5)], [SIDEWAYS]),
    "a test is lost after the proof": ([PROVEN, summary(completion=0.95, green=True, passing_tests=4)], [BACK]),
    "checks fail after the proof": ([PROVEN, summary(completion=0.6, passing_tests=5)], [BACK]),
}
BY_FAILURES: dict[str, tuple[Sequence[IterationSummary], list[Movement]]] = {
    "a fixed build error before tests run": ([GREEN_60, *map(broken_build, "abb")], [FORWARD, BACK, FORWARD, SIDEWAYS]),
    "a smaller extent, wherever the first failure is": (
        [summary(**failing(f"src/{name}.ts:1", extent=extent, kind=TYPES)) for name, extent in (("a", 20), ("b", 18), ("a", 19))],
        [FORWARD, FORWARD, SIDEWAYS],
    ),
    "a smaller extent on an earlier tree": ([summary("x", **failing("a", extent=n, kind=NETWORK)) for n in (5, 3)], [STILL]),
    "another place fails": ([summary(**failing("src/a.c:1")), summary(**failing("src/b.c:9"))], [FORWARD]),
    "another message": (
        [summary(**counts(0, 1), **failing("t")), summary(**counts(0, 1), errors=(error("t", "no such route"),))],
        [FORWARD],
    ),
    "lines and numbers move": (
        [summary(errors=(error(f"src/a.py:{line}", f"assert 0.{line} < 0.5"),)) for line in (3, 14, 15)],
        [FORWARD, SIDEWAYS, SIDEWAYS],
    ),
    "new failures": ([*map(with_message, "abc")], [FORWARD, FORWARD]),
    "a failure returns": ([*map(with_message, "abac")], [FORWARD, SIDEWAYS, FORWARD]),
    "trees return": ([*map(summary, "ababc")], [FORWARD, SIDEWAYS, STILL, STILL, SIDEWAYS]),
    "nothing is changed": ([summary("a", completion=0.9), summary("a", completion=0.2, files_changed=0)], [STILL]),
    "a change is worse": ([summary("a", completion=0.9), summary("b", completion=0.2)], [BACK]),
    "only more than the best": (
        [summary(completion=share) for share in (0.2, 0.6, 0.3, 0.5, 0.6, 0.61)],
        [FORWARD, FORWARD, BACK, SIDEWAYS, SIDEWAYS, FORWARD],
    ),
}


@pytest.mark.parametrize("case", BY_TESTS)
def test_progress_by_the_numbers_of_tests(case: str) -> None:
    drafts, expected = BY_TESTS[case]
    assert movements(drafts)[-len(expected) :] == expected


@pytest.mark.parametrize("case", BY_FAILURES)
def test_progress_by_failures_and_trees(case: str) -> None:
    drafts, expected = BY_FAILURES[case]
    assert movements(drafts)[-len(expected) :] == expected


def test_the_first_iteration_has_progress_if_anything_passes() -> None:
    cases = {
        "something passes": (summary(completion=0.1, files_changed=0), FORWARD),
        "a test passes": (summary(completion=0, passing_tests=1), FORWARD),
        "changed": (summary(completion=0), SIDEWAYS),
        "nothing": (summary(completion=0, files_changed=0), STILL),
    }
    for case, (draft, expected) in cases.items():
        assert movement((), draft) is expected, case


def test_the_first_iteration_is_compared_with_the_start() -> None:
    start = summary("base", iteration=BASE, movement=Movement.WAITED, **counts(5, 5))
    for expected, passed in ((SIDEWAYS, 5), (FORWARD, 6), (BACK, 4)):
        first = summary(**counts(passed, 10 - passed))
        assert movement([start], first) is expected
        assert movement([], first) is FORWARD


def test_a_build_that_breaks_where_tests_ran_hides_what_was_lost() -> None:
    before, deleted = summary(**counts(60, 5), **failing("test_a")), summary(**counts(50, 5), **failing("test_b"))
    assert last_movement(before, broken_build("a"), deleted) is not FORWARD


def test_rolled_back_iterations_are_not_compared_with_but_their_trees_are_known() -> None:
    first, undone = summary("a", completion=0.5), summary("b", completion=0.3, undone=True)
    record = summary("c", completion=0.9, undone=True)
    assert movement([first, undone], summary("d", completion=0.4)) is BACK
    assert movement([first, record], summary("d", completion=0.6)) is FORWARD
    assert movement([first, undone], summary("b", completion=0.5)) is STILL


def test_uncounted_failures_are_trusted_until_a_number_must_improve() -> None:
    endless = [summary(**failing(f"src/{chr(97 + number)}.c:1")) for number in range(15)]
    assert movements(endless) == [FORWARD] * (TRUSTED + 1) + [SIDEWAYS] * (14 - TRUSTED)
    better = [one.model_copy(update={"completion": 0.6}) if number >= 12 else one for number, one in enumerate(endless)]
    assert movements(better)[12:] == [FORWARD] * 3


def test_breaking_and_fixing_forever_is_not_progress_forever() -> None:
    found = movements([summary(**counts(100, 0)), *REFACTOR[:2]] * 40)
    assert all(found[at : at + REMEMBERED].count(FORWARD) <= TRUSTED + 1 for at in range(60))


@given(seed=st.integers(0, 2**32), broken=st.integers(1, 5), tests=st.integers(6, 1000))
def test_another_set_of_as_many_failing_tests_each_time_is_forward_once(seed: int, broken: int, tests: int) -> None:
    chance = Random(seed)
    sets = [chance.sample(range(tests), broken) for _ in range(60)]
    drafts = [summary(**counts(tests - broken, broken), **failing(f"test_{min(one)}", extent=broken)) for one in sets]
    assert movements(drafts)[1:].count(FORWARD) == 0


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


def progress_after(checks: CheckReport | None, before: Progress = NOTHING, most: int = 0, **fields: Any) -> Progress:
    return progress_of(evidence(checks=checks, **fields), before, {"pytest": most})


def judged(score: float | None) -> Judgement:
    return Judgement(outcome=JudgementOutcome.REJECTED, cause="a criterion is not met", score=score)


def test_shares_are_counted_from_results() -> None:
    progress = progress_after(report(counted(30, 10), check(passed=True, name="lint", command="ruff check")))
    assert (progress.checks, progress.tests, progress.criteria, progress.items) == (0.5, 0.75, None, None)
    assert progress.completion == pytest.approx(UNPROVEN * (5 * 0.75 + 3 * 0.5) / 8)


def test_tests_weigh_more_than_checks_and_checks_more_than_a_judge() -> None:
    tests = progress_after(report(counted(9, 1)), judgement=judged(0)).completion
    checks = progress_after(
        report(check(passed=False, counts=TestCounts(failed=10)), check(passed=True)), judgement=judged(0)
    ).completion
    criteria = progress_after(report(check(passed=False, counts=TestCounts(failed=10))), judgement=judged(1)).completion
    assert tests > checks + 0.1
    assert criteria == pytest.approx(UNPROVEN * 2 / 10)


def test_what_is_proven_is_all() -> None:
    assert progress_after(report(counted(10, 0)), claims=ASKED).completion == 1


def test_nothing_is_there_where_nothing_is_checked() -> None:
    assert progress_after(report()).completion == 0


@given(before=BEFORE)
def test_an_iteration_that_checked_nothing_leaves_everything_as_it_was(before: Progress) -> None:
    assert progress_after(None, before) == before
    assert progress_after(report(counted(5, 0)), before, execution=execution(usage_limited())) == before


def test_what_fails_by_chance_takes_nothing_away() -> None:
    counts = TestCounts(passed=9, failed=1, failing=("test_sum",))
    before = progress_after(report(counted(10, 0)))
    wavering = check(passed=False, counts=counts, flaky=("test_sum",))
    assert progress_after(report(wavering), before, most=10).checks == before.checks == 1
    assert progress_after(report(check(passed=False, counts=counts)), before, most=10).checks == 0


def test_deleted_tests_do_not_raise_the_share() -> None:
    assert progress_after(report(counted(6, 4)), most=10).tests == 0.6
    assert progress_after(report(counted(6, 0)), most=10).tests == 0.6
    assert progress_after(report(counted(6, 4)), most=10).tests == progress_after(report(counted(6, 3)), most=10).tests


@pytest.mark.parametrize("fields", [{"timed_out": True}, {"error": "no such program"}], ids=["timed out", "could not run"])
def test_a_check_that_says_nothing_neither_helps_nor_harms(fields: dict[str, object]) -> None:
    silent, before = check(passed=False, exit_code=None, **fields), Progress(checks=0.5, tests=0.6)
    steady = progress_after(report(silent, check(passed=True, name="lint", command="ruff check")), before, most=10)
    assert (steady.checks, steady.tests) == (0.5, 0.6)
    lost = progress_after(report(silent, check(passed=False, name="lint", command="ruff check")), Progress(checks=1), most=10)
    assert lost.checks == 0.5
    assert progress_after(report(silent)).checks == 0


def test_a_verdict_holds_until_the_next_one_that_can_be_read() -> None:
    before = progress_after(report(counted(1, 0)), judgement=judged(0.25))
    assert before.criteria == 0.25
    assert progress_after(report(counted(1, 0)), before).criteria == 0.25
    assert progress_after(report(counted(1, 0)), before, judgement=judged(None)).criteria == 0.25
    assert progress_after(report(counted(1, 0)), before, judgement=judged(0.5)).criteria == 0.5


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
