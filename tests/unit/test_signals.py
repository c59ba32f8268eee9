"""What the overseer notices after an iteration."""

import pytest

from helmsman.oversee.signals import ITERATION_DETECTORS, IterationView
from helmsman.records.agent import AgentCall, AgentOutcome, Drift, ErrorVector, FailureClass
from helmsman.records.base import Usage
from helmsman.records.decision import Alert, Severity
from helmsman.records.state import Spending
from tests.unit.builders import ASKED, call, check, config, execution, report, sight, state, usage_limited


def signals(seen: IterationView) -> tuple[Alert, ...]:
    return tuple(signal for source in ITERATION_DETECTORS for signal in source.alerts(seen))


def found(**fields: object) -> list[tuple[str, Severity]]:
    return [(signal.rule, signal.severity) for signal in signals(sight(**fields))]


def test_an_ordinary_iteration_raises_no_signal() -> None:
    assert found() == []


@pytest.mark.feature("E6")
def test_the_call_that_has_just_ended_is_counted() -> None:
    nearly = state(config(limits={"cost_usd": 10}), spending=Spending(cost_usd=9.5))
    assert found(state=nearly, execution=execution(call())) == [("limits.cost_usd", Severity.ABORT)]


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


@pytest.mark.feature("A3")
def test_failures_in_a_row_inside_a_session_are_told_with_their_classes() -> None:
    errors = tuple(ErrorVector(kind=kind) for kind in (FailureClass.TEST, FailureClass.BUILD, FailureClass.TEST))
    assert found(execution=execution(call(failures_in_row=4, errors=errors))) == []
    (signal,) = signals(sight(execution=execution(call(failures_in_row=5, errors=errors))))
    assert (signal.rule, signal.value, signal.threshold) == ("session.failures", 5, 5)
    assert signal.message.endswith("classes of failure: test, build")


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
    assert "(timed_out) did not report its usage" in raised.message
    assert found(state=state(config(limits={"tokens": None, "cost_usd": None})), execution=silent) == []
