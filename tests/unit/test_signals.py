"""What the overseer notices after an iteration."""

import pytest

from helmsman.oversee.signals import signals
from helmsman.records.evidence import AgentCall, AgentOutcome
from helmsman.records.state import Spending
from helmsman.records.verdict import Severity
from tests.unit.builders import ASKED, HOUR, NOW, call, check, config, execution, report, sight, state, usage_limited


def found(**fields: object) -> list[tuple[str, Severity]]:
    return [(signal.rule, signal.severity) for signal in signals(sight(**fields))]


def test_an_ordinary_iteration_raises_no_signal() -> None:
    assert found() == []


@pytest.mark.feature("E6")
def test_the_call_that_has_just_ended_is_counted() -> None:
    nearly = state(config(limits={"cost_usd": 10}), spending=Spending(cost_usd=9.5))
    assert found(state=nearly, execution=execution(call())) == [("limits.cost_usd", Severity.ABORT)]


@pytest.mark.feature("E6")
def test_the_time_of_the_iteration_itself_counts() -> None:
    nearly = state(config(limits={"wall_clock_hours": 2}), spending=Spending(seconds=3600))
    assert found(state=nearly, started_at=NOW - HOUR) == [("limits.wall_clock_hours", Severity.ABORT)]


@pytest.mark.feature("E6")
def test_the_last_iteration_that_is_allowed_reaches_the_limit() -> None:
    last = state(config(limits={"iterations": 30}), iteration=29)
    assert found(state=last) == [("limits.iterations", Severity.ABORT)]


@pytest.mark.feature("E7")
@pytest.mark.parametrize("ended", [usage_limited(), call(AgentOutcome.AUTHENTICATION)], ids=["usage limit", "no credentials"])
def test_an_attempt_in_which_the_agent_never_got_to_work_is_not_counted_as_an_iteration(ended: AgentCall) -> None:
    last = state(config(limits={"iterations": 30}), iteration=29)
    assert found(state=last, execution=execution(ended), checks=None) == [("limits.iterations.alarm", Severity.WARN)]


@pytest.mark.feature("V9")
def test_a_request_to_be_done_while_checks_fail_is_noticed_with_their_names() -> None:
    mixed = report(check(passed=True, name="lint"), check(passed=False, name="unit"), check(passed=False, name="types"))
    raised = signals(sight(claims=ASKED, checks=mixed))
    assert [(signal.rule, signal.severity) for signal in raised] == [("completion.unproven", Severity.WARN)]
    assert raised[0].message.endswith("these checks fail: unit, types")


@pytest.mark.parametrize("checks", [None, report(), report(check(passed=True))], ids=["unchecked", "no checks", "passing"])
def test_a_request_to_be_done_that_no_check_contradicts_raises_no_signal(checks: object) -> None:
    assert found(claims=ASKED, checks=checks) == []


def test_files_that_checks_leave_behind_are_named() -> None:
    left = tuple(f"out/{number}" for number in range(7))
    raised = signals(sight(checks=report(check(passed=True), left_behind=left)))
    assert [(signal.rule, signal.severity, signal.value) for signal in raised] == [("checks.left_behind", Severity.LOG, 7)]
    assert raised[0].message.endswith("out/0, out/1, out/2, out/3, out/4")
