"""The tree that a loop begins with: known to what compares, and nobody's work."""

import pytest

from bench.modelled.kinds import BY_NAME, character
from bench.modelled.rendering import config
from bench.modelled.steered import BASE, fresh, run
from helmsman.oversee.detectors import detect
from helmsman.oversee.summary import with_baseline
from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.control import IterationSummary
from helmsman.records.state import LoopState
from tests.unit.histories import BACK, SIDEWAYS, green, history, red, step

pytestmark = pytest.mark.feature("S4", "S8")


def report(passed: int, failed: int) -> CheckReport:
    counts = TestCounts(passed=passed, failed=failed, failing=tuple(f"test_{number}" for number in range(failed)))
    result = CheckResult(name="pytest", command="pytest", passed=not failed, exit_code=int(failed > 0), seconds=1, counts=counts)
    return CheckReport(tree="base", results=(result,))


def unbegun() -> LoopState:
    of = character(BY_NAME["steady"], 1)
    return fresh(of, config(of)).state.model_copy(update={"history": (), "checks": None})


def begun_with(*steps: object, base: CheckReport) -> tuple[IterationSummary, ...]:
    return (*with_baseline(unbegun(), base).history, *history(*steps))  # pyright: ignore[reportArgumentType]


def rules(moments: tuple[IterationSummary, ...]) -> set[str]:
    return {signal.rule for signal in detect(moments, unbegun().config.detect)[0]}


def test_a_loop_knows_what_it_began_with_and_has_spent_nothing() -> None:
    state, began = with_baseline(unbegun(), report(6, 2)), unbegun()
    (moment,) = state.history
    assert (moment.iteration, moment.commit, moment.tree, moment.failing_tests) == (0, BASE, "base", 2)
    assert state.checks == state.best_checks == report(6, 2)
    assert state.oversight.best is not None
    assert state.oversight.best.commit == BASE
    assert state.oversight.progress.completion == moment.completion > 0
    assert state.most_tests == {"pytest": 8}
    assert (state.due, state.spending, state.head) == (began.due, began.spending, began.head)


def test_it_can_be_told_again_before_the_first_iteration_and_never_after_it() -> None:
    first, second = report(6, 2), report(7, 1)
    assert with_baseline(with_baseline(unbegun(), first), second) == with_baseline(unbegun(), second)
    worked = unbegun().model_copy(update={"history": history(green())})
    assert with_baseline(worked, first) is worked
    later = unbegun().model_copy(update={"iteration": 1})
    assert with_baseline(later, first) is later


A = red(SIDEWAYS, "test_0", "test_1")
B = red(SIDEWAYS, "test_0", "test_2")


def test_a_trade_of_failures_is_seen_in_the_second_iteration() -> None:
    assert "limit_cycle" in rules(begun_with(B, A, base=report(20, 2)))
    assert "limit_cycle" not in rules(history(B, A))


def test_the_base_is_no_iteration_that_got_nowhere() -> None:
    assert not rules(begun_with(A, A, base=report(20, 2))) & {"stuck", "empty_sessions", "plateau", "same_error", "regressing"}
    assert "regressing" not in rules(begun_with(step(BACK), base=report(20, 2)))
    assert rules(begun_with(base=report(20, 2))) == set()


@pytest.mark.parametrize("seed", range(4))
def test_work_that_only_gets_worse_goes_back_to_the_base_where_nothing_was_better(seed: int) -> None:
    of = character(BY_NAME["regressing"], seed)
    _, seen = run(BY_NAME["regressing"], seed)
    back = {one.record.failed.back_to for one in seen if one.record.failed}
    assert of.onset > 0 or of.check not in {"pytest", "typed"} or not back or back == {BASE}
