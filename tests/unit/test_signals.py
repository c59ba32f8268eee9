"""What the overseer notices after an iteration."""

import pytest

from helmsman.oversee.signals import SOURCES, IterationView
from helmsman.records.agent import AgentCall, AgentOutcome, Drift, ErrorVector, FailureClass
from helmsman.records.base import Usage
from helmsman.records.decision import Alert, Severity
from helmsman.records.state import Spending
from tests.unit.builders import ASKED, HOUR, NOW, call, check, config, execution, report, sight, state, usage_limited


def signals(seen: IterationView) -> tuple[Alert, ...]:
    return tuple(signal for source in SOURCES for signal in source.alerts(seen))


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


@pytest.mark.feature("A3")
def test_failures_in_a_row_inside_a_session_are_told_with_their_classes() -> None:
    errors = tuple(ErrorVector(kind=kind) for kind in (FailureClass.TEST, FailureClass.BUILD, FailureClass.TEST))
    assert found(execution=execution(call(failures_in_row=4, errors=errors))) == []
    (signal,) = signals(sight(execution=execution(call(failures_in_row=5, errors=errors))))
    assert (signal.rule, signal.value, signal.threshold) == ("session.failures", 5, 5)
    assert signal.message.endswith("classes of failure: test, build")


@pytest.mark.feature("S9")
def test_a_session_that_the_loop_ended_is_told_with_the_reason() -> None:
    (signal,) = signals(sight(execution=execution(call(AgentOutcome.ROTATED, rotated="the context is 81 % full"))))
    assert (signal.rule, signal.severity) == ("session.rotated", Severity.LOG)
    assert signal.message.endswith("the context is 81 % full")


@pytest.mark.feature("S16")
def test_a_drift_is_told_from_three_strangers_on() -> None:
    assert found(drift=Drift(deeds=4, related=1, strangers=("a.md", "b.md"))) == []
    (signal,) = signals(sight(drift=Drift(deeds=4, strangers=("a.md", "b.md", "c.md"))))
    assert (signal.rule, signal.severity, signal.value) == ("drift.strangers", Severity.LOG, 3)
    assert "a.md, b.md, c.md" in signal.message


@pytest.mark.feature("A5")
def test_a_budget_does_not_fail_to_hold_in_silence() -> None:
    limited = state(config(limits={"tokens": 100, "cost_usd": None}))
    silent = execution(call(AgentOutcome.TIMED_OUT, usage=Usage(), untold=("tokens", "cost")))
    (raised,) = signals(sight(state=limited, execution=silent))
    assert (raised.rule, raised.severity) == ("limits.tokens.untold", Severity.WARN)
    assert "(timed_out) did not tell what it used" in raised.message
    assert found(state=state(config(limits={"tokens": None, "cost_usd": None})), execution=silent) == []
