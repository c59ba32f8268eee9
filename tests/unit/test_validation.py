"""Sanity before and after an iteration."""

import pytest

from helmsman.oversee.signals import issues_after, issues_before
from helmsman.records.agent import AgentOutcome, ErrorVector, FailureClass
from helmsman.records.checks import CheckReport
from helmsman.records.control import (
    EscalationLevel,
    Failed,
    IterationSummary,
    Ladder,
    Movement,
    Oversight,
    Progress,
)
from helmsman.records.proof import Proof
from helmsman.records.state import LoopState
from tests.unit.builders import NOW, call, check, config, evidence, execution, report, state

pytestmark = pytest.mark.feature("O7")
FAILS = ErrorVector(kind=FailureClass.TEST, where="tests/test_a.py::test_b", message="assert 1 == 2")
GREEN, RED = report(check(passed=True)), report(check(passed=True), check(passed=False))


def moment(movement: Movement = Movement.SIDEWAYS, *errors: ErrorVector, iteration: int = 1) -> IterationSummary:
    fields = {"iteration": iteration, "at": NOW, "outcome": AgentOutcome.FINISHED, "completion": 0.4}
    return IterationSummary.model_validate({**fields, "movement": movement, "errors": errors})


def found(of: LoopState | None = None, oversight: Oversight | None = None, *history: IterationSummary) -> list[tuple[str, bool]]:
    return [(issue.rule, issue.critical) for issue in issues_before(of or state(), oversight or Oversight(), history)]


def test_required_checks_of_which_there_are_none_stop_the_loop_and_other_gaps_are_told() -> None:
    assert found() == []
    assert found(state(config(checks=()))) == [("validation.no_channel", True)]
    assert found(state(config(checks=(), allow_no_checks=True))) == [("validation.unverified", False)]
    assert found(state(config(steering={"hooks": False}))) == [("validation.no_hooks", False)]


def test_to_persist_where_a_redesign_is_due_is_incoherent() -> None:
    (issue,) = issues_before(state(), Oversight(ladder=Ladder(rung=EscalationLevel.REDESIGN)), ())
    assert (issue.rule, issue.critical) == ("validation.strategy", False)
    assert "E-II redesign" in issue.message


def test_a_failure_that_two_iterations_left_as_it_was_is_named() -> None:
    (issue,) = issues_before(state(), Oversight(), (moment(Movement.SIDEWAYS, FAILS), moment(Movement.STILL, FAILS)))
    assert issue.message == "the same test failure at tests/test_a.py::test_b after 2 iterations without progress"


@pytest.mark.parametrize(
    "history",
    [
        (),
        (moment(Movement.SIDEWAYS, FAILS),),
        (moment(Movement.FORWARD, FAILS), moment(Movement.SIDEWAYS, FAILS)),
        (moment(Movement.SIDEWAYS, FAILS), moment(Movement.FORWARD, FAILS)),
        (moment(Movement.SIDEWAYS, FAILS), moment(Movement.WAITED, FAILS)),
        (moment(Movement.BACK, FAILS), moment(Movement.SIDEWAYS)),
        (moment(Movement.STILL, FAILS), moment(Movement.STILL, FAILS.model_copy(update={"where": "tests/test_c.py"}))),
        (moment(Movement.SIDEWAYS), moment(Movement.SIDEWAYS)),
    ],
    ids=["first", "one", "research", "got on", "waited", "gone", "elsewhere", "green"],
)
def test_what_is_no_standstill_is_not_called_one(history: tuple[IterationSummary, ...]) -> None:
    assert found(None, None, *history) == []


def test_waiting_in_between_does_not_hide_a_standstill() -> None:
    stuck = moment(Movement.STILL, FAILS)
    assert found(None, None, stuck, moment(Movement.WAITED), stuck) == [("validation.blocker", False)]


def test_a_failure_that_the_tree_does_not_have_any_more_is_no_blocker() -> None:
    stands = moment(Movement.BACK, FAILS), moment(Movement.STILL, FAILS)
    taken_off = Failed(iteration=1, ref="refs/x", commit="f" * 40, back_to="a" * 40, why="it fell", rule="regressing")
    red = report(check(passed=False))
    assert [len(found(given, None, *stands)) for given in (state(checks=red), state(checks=GREEN), state(failed=taken_off))] == [
        1,
        0,
        0,
    ]


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


@pytest.mark.parametrize(("times", "expected"), [(5, 0), (6, 1)])
def test_more_than_five_errors_in_a_session_are_told_with_their_classes(times: int, expected: int) -> None:
    errors = (ErrorVector(kind=FailureClass.EDIT, times=times - 1), ErrorVector(kind=FailureClass.BUILD))
    issues = issues_after(evidence(execution=execution(call(errors=errors))), Progress())
    assert [issue.message for issue in issues] == [f"{times} tool calls failed in the session: build, edit"][:expected]
