"""What a loop tells when nobody drives it any more."""

import pytest

from helmsman.records.checks import TestCounts
from helmsman.records.decision import Outcome
from helmsman.records.result import CheckSummary, exit_code, result_of
from helmsman.records.state import Spending, Waiting
from tests.unit.builders import HOUR, NOW, STOP, check, report, state

REF = "refs/helmsman/mend-it"


def test_a_result_sums_up_where_the_work_is_and_what_it_cost() -> None:
    spending = Spending(agent_calls=4, cost_usd=0.1 + 0.2, tokens=500, seconds=61.23456)
    result = result_of(state(iteration=3, spending=spending, ending=STOP), REF)
    assert (result.outcome, result.rule, result.reason) == (Outcome.COMPLETED, "completion.verified", "done")
    assert (result.iterations, result.agent_calls, result.cost_usd, result.tokens, result.seconds) == (3, 4, 0.3, 500, 61.235)
    assert (result.branch, result.commit, result.state_ref) == ("helmsman/mend-it", "b" * 40, REF)


def test_a_waiting_loop_tells_what_it_waits_for() -> None:
    result = result_of(state(waiting=Waiting(until=NOW + HOUR, rule="agent.usage_limit", reason="until 13:00")), REF)
    assert (result.outcome, result.rule, result.reason) == (Outcome.WAITING, "agent.usage_limit", "until 13:00")


def test_test_numbers_are_told_where_the_output_named_them() -> None:
    counted = check(passed=False, counts=TestCounts(passed=3, failed=1, skipped=2))
    uncounted = check(passed=True, command="make lint")
    assert result_of(state(checks=report(counted, uncounted)), REF).checks == (
        CheckSummary(command="pytest", passed=False, exit_code=1, tests_passed=3, tests_failed=1, tests_skipped=2),
        CheckSummary(command="make lint", passed=True, exit_code=0),
    )


@pytest.mark.parametrize(
    ("outcome", "fault", "expected"),
    [
        (Outcome.COMPLETED, "", 0),
        (Outcome.FAILED, "agent", 1),
        (Outcome.FAILED, "operator", 2),
        (Outcome.STOPPED, "", 3),
        (Outcome.CANCELLED, "", 130),
    ],
)
def test_the_exit_status_says_how_the_loop_ended_and_whose_turn_it_is(outcome: Outcome, fault: str, expected: int) -> None:
    assert exit_code(state(ending=STOP.model_copy(update={"outcome": outcome, "fault": fault}))) == expected


def test_a_loop_left_waiting_or_unfinished_does_not_exit_with_success() -> None:
    assert exit_code(state(waiting=Waiting(until=NOW, rule="r", reason="r"))) == 4
    assert exit_code(state()) == 1
