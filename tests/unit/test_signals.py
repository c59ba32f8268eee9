"""Alerts about a single iteration, and validation before and after it."""

from typing import Any

import pytest

from helmsman.oversee.signals import ITERATION_DETECTORS, IterationView, issues_after, issues_before
from helmsman.records.agent import AgentCall, AgentOutcome, Drift, ErrorVector, FailureClass
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport
from helmsman.records.control import EscalationLevel, Ladder, Learning, Oversight, Progress, RolledBack
from helmsman.records.decision import Alert, Severity
from helmsman.records.proof import Proof
from helmsman.records.state import LoopState, Spending
from tests.unit.builders import ASKED, call, check, config, evidence, execution, iteration_view, report, state, usage_limited


def all_alerts(seen: IterationView) -> tuple[Alert, ...]:
    return tuple(signal for source in ITERATION_DETECTORS for signal in source.alerts(seen))


def alerts_of(**fields: object) -> list[tuple[str, Severity]]:
    return [(signal.rule, signal.severity) for signal in all_alerts(iteration_view(**fields))]


def test_an_ordinary_iteration_raises_no_signal() -> None:
    assert alerts_of() == []


@pytest.mark.feature("E6")
def test_the_call_that_has_just_ended_is_counted() -> None:
    nearly = state(config(limits={"cost_usd": 10}), spending=Spending(cost_usd=9.5))
    assert alerts_of(state=nearly, execution=execution(call())) == [("limits.cost_usd", Severity.ABORT)]


@pytest.mark.feature("E6")
def test_the_last_iteration_that_is_allowed_reaches_the_limit() -> None:
    last = state(config(limits={"iterations": 30}), iteration=29)
    assert alerts_of(state=last) == [("limits.iterations", Severity.ABORT)]


@pytest.mark.feature("E7")
@pytest.mark.parametrize("ended", [usage_limited(), call(AgentOutcome.AUTHENTICATION)], ids=["usage limit", "no credentials"])
def test_an_attempt_in_which_the_agent_never_got_to_work_is_not_counted_as_an_iteration(ended: AgentCall) -> None:
    last = state(config(limits={"iterations": 30}), iteration=29)
    assert alerts_of(state=last, execution=execution(ended), checks=None) == [("limits.iterations.alarm", Severity.WARN)]


@pytest.mark.feature("V9")
def test_a_request_to_be_done_while_checks_fail_is_noticed_with_their_names() -> None:
    mixed = report(check(passed=True, name="lint"), check(passed=False, name="unit"), check(passed=False, name="types"))
    raised = all_alerts(iteration_view(claims=ASKED, checks=mixed))
    assert [(signal.rule, signal.severity) for signal in raised] == [("completion.unproven", Severity.WARN)]
    assert raised[0].message.endswith("these checks fail: unit, types")


@pytest.mark.parametrize("checks", [None, report(), report(check(passed=True))], ids=["unchecked", "no checks", "passing"])
def test_a_request_to_be_done_that_no_check_contradicts_raises_no_signal(checks: object) -> None:
    assert alerts_of(claims=ASKED, checks=checks) == []


@pytest.mark.feature("A3")
def test_failures_in_a_row_inside_a_session_are_told_with_their_classes() -> None:
    errors = tuple(ErrorVector(kind=kind) for kind in (FailureClass.TEST, FailureClass.BUILD, FailureClass.TEST))
    assert alerts_of(execution=execution(call(failures_in_row=4, errors=errors))) == []
    (signal,) = all_alerts(iteration_view(execution=execution(call(failures_in_row=5, errors=errors))))
    assert (signal.rule, signal.value, signal.threshold) == ("session.failures", 5, 5)
    assert signal.message.endswith("classes of failure: test, build")


@pytest.mark.feature("S16")
def test_a_drift_is_told_from_three_strangers_on() -> None:
    assert alerts_of(drift=Drift(deeds=4, related=1, strangers=("a.md", "b.md"))) == []
    (signal,) = all_alerts(iteration_view(drift=Drift(deeds=4, strangers=("a.md", "b.md", "c.md"))))
    assert (signal.rule, signal.severity, signal.value) == ("drift.strangers", Severity.LOG, 3)
    assert "a.md, b.md, c.md" in signal.message


@pytest.mark.feature("A5")
def test_unreported_usage_of_a_limited_budget_is_a_warning() -> None:
    limited = state(config(limits={"tokens": 100, "cost_usd": None}))
    silent = execution(call(AgentOutcome.TIMED_OUT, usage=Usage(), untold=("tokens", "cost")))
    (raised,) = all_alerts(iteration_view(state=limited, execution=silent))
    assert (raised.rule, raised.severity) == ("limits.tokens.untold", Severity.WARN)
    assert "(timed_out) did not report its usage" in raised.message
    assert alerts_of(state=state(config(limits={"tokens": None, "cost_usd": None})), execution=silent) == []


FAILS = ErrorVector(kind=FailureClass.TEST, where="tests/test_a.py::test_b", message="assert 1 == 2")
GREEN, RED = report(check(passed=True)), report(check(passed=True), check(passed=False))


def issues_of(of: LoopState | None = None, **fields: Any) -> list[tuple[str, bool]]:
    issues = issues_before(of or state(), Oversight.model_validate(fields))
    return [(issue.rule, issue.critical) for issue in issues]


@pytest.mark.feature("O7")
def test_required_checks_of_which_there_are_none_stop_the_loop_and_other_gaps_are_told() -> None:
    assert issues_of() == []
    assert issues_of(state(config(checks=()))) == [("validation.no_channel", True)]
    assert issues_of(state(config(checks=(), allow_no_checks=True))) == [("validation.unverified", False)]
    assert issues_of(state(config(steering={"hooks": False}))) == [("validation.no_hooks", False)]


@pytest.mark.feature("O7")
def test_persisting_while_a_redesign_is_due_is_an_issue() -> None:
    (issue,) = issues_before(state(), Oversight(ladder=Ladder(rung=EscalationLevel.REDESIGN)))
    assert (issue.rule, issue.critical) == ("validation.strategy", False)
    assert "E-II redesign" in issue.message


@pytest.mark.feature("O7")
def test_a_class_of_failure_in_two_iterations_without_progress_is_a_blocker() -> None:
    learning = (Learning(kind=FailureClass.TEST, seen=4, in_row=2), Learning(kind=FailureClass.LINT, seen=4, in_row=1))
    (issue,) = issues_before(state(), Oversight(learning=learning))
    assert (issue.rule, issue.critical) == ("validation.blocker", False)
    assert issue.message == "test failures in 2 iterations in a row without progress"
    taken_off = RolledBack(iteration=1, ref="refs/x", commit="f" * 40, back_to="a" * 40, why="it fell", rule="regressing")
    assert issues_of(state(failed=taken_off), learning=learning) == []


@pytest.mark.feature("O7")
@pytest.mark.parametrize(
    ("completion", "checks", "asked", "expected"),
    [
        (0.95, GREEN, False, True),
        (0.94, GREEN, False, False),
        (0.95, RED, False, False),
        (0.95, GREEN, True, False),
        (0.95, None, False, False),
    ],
)
def test_near_the_end_under_green_checks_a_missing_request_is_told(
    completion: float, checks: CheckReport | None, *, asked: bool, expected: bool
) -> None:
    brought = evidence(checks=checks, proof=Proof(asked=asked, green=True))
    rules = [issue.rule for issue in issues_after(brought, Progress(completion=completion))]
    assert rules == (["validation.no_request"] if expected else [])


@pytest.mark.feature("O7")
@pytest.mark.parametrize(("times", "expected"), [(5, 0), (6, 1)])
def test_more_than_five_errors_in_a_session_are_told_with_their_classes(times: int, expected: int) -> None:
    errors = (ErrorVector(kind=FailureClass.EDIT, times=times - 1), ErrorVector(kind=FailureClass.BUILD))
    issues = issues_after(evidence(execution=execution(call(errors=errors))), Progress())
    assert [issue.message for issue in issues] == [f"{times} tool calls failed in the session: build, edit"][:expected]
