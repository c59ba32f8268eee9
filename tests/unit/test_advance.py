"""State kept about verdicts, claims and requests, and its bounds."""

from typing import Any

import pytest

from helmsman.records.advance import (
    NOTES_KEPT,
    REJECTIONS_KEPT,
    done_signals,
    last_call,
    most_tests,
    remember_verdict,
    trust,
    windows,
)
from helmsman.records.agent import ContextUse, Drift, ErrorVector, FailureClass, LastCall
from helmsman.records.checks import CriterionVerdict, Judgement, JudgementOutcome, TestCounts
from helmsman.records.claims import Contradiction, Trust
from helmsman.records.decision import Outcome
from helmsman.records.proof import Denial, DoneSignals, JudgeMemory, Proof
from helmsman.records.result import CheckSummary, exit_code, result_of
from helmsman.records.state import Spending, Waiting
from tests.unit.builders import ASKED as WANTS
from tests.unit.builders import HOUR, NOW, SILENT, STOP, WAIT, call, check, execution, record, report, state

ASKED = Proof(asked=True, green=True, looks_complete=True)
DENIED = ASKED.model_copy(update={"denied": (Denial(rule="invariants", why="a test is gone"),)})


def verdict(criterion: str, *, met: bool) -> CriterionVerdict:
    return CriterionVerdict(
        criterion=criterion, met=met, votes_met=int(met), votes_cast=1, reason="no refusal", evidence="a.py:3"
    )


def rejected(*criteria: str) -> Judgement:
    cause = f"{len(criteria)} criteria are not met"
    unmet = tuple(verdict(name, met=False) for name in criteria)
    return Judgement(
        outcome=JudgementOutcome.REJECTED, cause=cause, criteria=(*unmet, verdict("fine", met=True)), principle="look"
    )


APPROVED = Judgement(outcome=JudgementOutcome.APPROVED, cause="", criteria=(verdict("fine", met=True),), principle="trust")


def remembered(before: JudgeMemory, *judgements: Judgement | None, limit: int = 5, reset: bool = False) -> JudgeMemory:
    for number, judgement in enumerate(judgements, 1):
        before = remember_verdict(before, record(iteration=number, judgement=judgement, proof=ASKED), limit, reset=reset)
    return before


@pytest.mark.feature("V8")
def test_a_rejection_is_kept_with_what_was_not_met_and_where_the_judge_looked() -> None:
    (kept,) = remembered(JudgeMemory(), rejected("refusal")).feedback
    assert (kept.iteration, kept.consecutive, kept.criteria, kept.repeated) == (1, 1, ("refusal",), 0)
    assert kept.reason == "1 criteria are not met\n- refusal: no refusal"


@pytest.mark.feature("V8")
def test_a_rejection_for_the_same_criterion_is_marked_as_repeated() -> None:
    memory = remembered(JudgeMemory(), rejected("a"), rejected("b"), rejected("a", "c"), rejected("a"))
    assert [kept.repeated for kept in memory.feedback] == [0, 0, 1, 2]


@pytest.mark.feature("V7")
def test_an_undecided_verdict_is_remembered_and_is_no_rejection() -> None:
    untold = verdict("a", met=False).model_copy(update={"cannot_tell": True})
    undecided = Judgement(outcome=JudgementOutcome.UNDECIDED, cause="?", criteria=(untold,))
    memory = remembered(JudgeMemory(), rejected("a"), undecided)
    assert (memory.rejections, len(memory.feedback), memory.verdicts[-1].given) == (1, 1, "cannot_tell")


@pytest.mark.feature("M3", "E8")
def test_an_approval_sets_the_count_of_rejections_back() -> None:
    assert remembered(JudgeMemory(), rejected("a"), rejected("a")).rejections == 2
    assert remembered(JudgeMemory(), rejected("a"), rejected("a"), APPROVED).rejections == 0


@pytest.mark.feature("V8")
def test_the_memory_stays_bounded() -> None:
    memory = remembered(JudgeMemory(), *[rejected("a")] * 200)
    assert (len(memory.feedback), len(memory.notes)) == (REJECTIONS_KEPT, NOTES_KEPT)
    assert memory.feedback[-1].iteration == 200
    assert memory.rejections == 200


@pytest.mark.feature("V6")
def test_only_contradictions_lower_the_trust() -> None:
    untrue = Contradiction(layer="contradiction", said="x", found="y", source="last message")
    unticked = untrue.model_copy(update={"layer": "unticked"})
    after = trust(trust(Trust(), (untrue, unticked), 4), (), 6)
    assert (after.checked, after.contradicted, after.score) == (10, 1, 0.9)
    assert Trust().score is None


@pytest.mark.feature("V9")
def test_objections_to_a_claim_are_kept_until_the_next_iteration() -> None:
    red = report(check(passed=False))
    asked = record(iteration=1, claims=WANTS, checks=red, proof=Proof(asked=True))
    refused = done_signals(DoneSignals(), asked)
    assert [(one.rule, one.why) for one in refused.refused] == [("checks", "the check fails")]
    assert not done_signals(refused, record(iteration=2, claims=SILENT, checks=red, proof=Proof())).refused


def test_the_largest_number_of_tests_is_kept_for_each_check() -> None:
    many = report(
        check(passed=True, command="a", counts=TestCounts(passed=5, failed=1, skipped=2)), check(passed=True, command="b")
    )
    few = report(
        check(passed=True, command="a", counts=TestCounts(passed=3)), check(passed=True, command="c", counts=TestCounts(passed=1))
    )
    assert most_tests(most_tests({}, many), few) == {"a": 6, "c": 1}
    assert most_tests({"a": 8}, None) == {"a": 8}


@pytest.mark.feature("V9")
def test_denied_requests_in_a_row_are_counted_until_one_is_granted_or_none_is_made() -> None:
    after = DoneSignals()
    for _ in range(3):
        after = done_signals(after, record(proof=DENIED))
    assert after.asked_in_row == 3
    assert done_signals(after, record(proof=ASKED)).asked_in_row == 0
    assert done_signals(after, record(proof=Proof(green=True))).asked_in_row == 0


@pytest.mark.feature("V9")
@pytest.mark.parametrize(("proof", "in_row"), [(Proof(test_only=True, green=True), 3), (Proof(green=True), 0)])
def test_iterations_that_change_tests_only_are_counted_in_a_row(proof: Proof, in_row: int) -> None:
    assert done_signals(DoneSignals(test_only_in_row=2), record(proof=proof)).test_only_in_row == in_row


@pytest.mark.feature("E7", "V9")
@pytest.mark.parametrize("fields", [{"proof": ASKED}, {"proof": Proof(test_only=True, green=True)}])
def test_an_attempt_that_does_not_count_changes_no_signal(fields: dict[str, Any]) -> None:
    before = DoneSignals(asked_in_row=2, test_only_in_row=1, indicators=(True,))
    assert done_signals(before, record(WAIT, **fields)) == before


@pytest.mark.feature("E2")
def test_context_windows_are_kept_by_model_as_last_reported() -> None:
    told: dict[str, int] = {}
    for model, window in (("a", 200), ("b", 1000), ("a", 0), ("", 500), ("a", 300)):
        told = windows(told, call(model=model, context=ContextUse(window=window)))
    assert list(told.items()) == [("b", 1000), ("a", 300)]


@pytest.mark.feature("E2", "S9")
def test_of_the_last_call_errors_drift_and_context_are_kept() -> None:
    seen: dict[str, Any] = {"errors": (ErrorVector(kind=FailureClass.LINT),), "context": ContextUse(peak=5, window=9)}
    drift = Drift(deeds=2, related=1)
    kept = last_call(LastCall(), record(execution=execution(call(rotated="noise", **seen)), drift=drift), {})
    assert kept == LastCall(drift=drift, rotated="noise", **seen)


# What a loop tells when nobody drives it any more


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
        (Outcome.BLOCKED, "", 8),
        (Outcome.CANCELLED, "", 130),
    ],
)
def test_the_exit_status_says_how_the_loop_ended_and_whose_turn_it_is(outcome: Outcome, fault: str, expected: int) -> None:
    assert exit_code(state(ending=STOP.model_copy(update={"outcome": outcome, "fault": fault}))) == expected


def test_a_loop_left_waiting_or_unfinished_does_not_exit_with_success() -> None:
    assert exit_code(state(waiting=Waiting(until=NOW, rule="r", reason="r"))) == 4
    assert exit_code(state()) == 1
