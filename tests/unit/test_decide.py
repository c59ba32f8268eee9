"""Decisions after an iteration, with the numbers behind them."""

from datetime import timedelta
from typing import Any

import pytest

from helmsman.oversee.decide import decide
from helmsman.records.agent import AgentOutcome
from helmsman.records.checks import CheckReport, CriterionVerdict, Finding, Judgement, JudgementOutcome, Weight
from helmsman.records.decision import Decision, DecisionKind, Outcome, Severity
from helmsman.records.iteration import Completed, WorkingMemory
from helmsman.records.proof import DoneSignals, JudgeMemory
from tests.unit.builders import (
    ASKED,
    HOUR,
    LIMIT_REACHED,
    MINUTE,
    NOW,
    SILENT,
    call,
    check,
    config,
    execution,
    record,
    report,
    situation,
    state,
    usage_limited,
)

REPORTS: dict[str, CheckReport | None] = {
    "not run": None,
    "none configured": report(),
    "pass": report(check(passed=True), check(passed=True)),
    "fail": report(check(passed=True), check(passed=False)),
}
FULL_HOUR = tuple(NOW - minutes * MINUTE for minutes in (50, 40, 30))


STOP, CONTINUE = "stop", "continue"


def test_a_completion_without_checks_says_loudly_that_nothing_was_verified() -> None:
    decision = decide(situation(state=state(config(checks=())), checks=report(), claims=ASKED))
    assert (decision.rule, decision.outcome) == ("completion.unverified", Outcome.COMPLETED)
    assert "NOTHING WAS VERIFIED" in decision.reason


@pytest.mark.feature("V4")
@pytest.mark.parametrize("checks", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("claims", [SILENT, ASKED], ids=["silent", "asks"])
def test_the_agents_own_percentage_changes_no_decision(checks: CheckReport | None, claims: Any) -> None:
    sure = WorkingMemory(confidence=100, completed=(Completed(text="everything", confidence=100),))
    unsure = WorkingMemory(confidence=0, remaining_gap="everything")
    decisions = [decide(situation(state=state(memory=memory), checks=checks, claims=claims)) for memory in (sure, unsure)]
    assert decisions[0] == decisions[1]


@pytest.mark.feature("S6")
@pytest.mark.parametrize(("severity", "kind"), [(Severity.LOG, CONTINUE), (Severity.WARN, CONTINUE), (Severity.ABORT, STOP)])
def test_only_an_abort_stops_the_loop(severity: Severity, kind: DecisionKind) -> None:
    assert decide(situation(signals=(LIMIT_REACHED.model_copy(update={"severity": severity}),))).kind == kind


@pytest.mark.feature("E6", "S18")
def test_a_stop_at_a_limit_names_every_limit_and_how_far_the_work_is() -> None:
    tokens = LIMIT_REACHED.model_copy(update={"rule": "limits.tokens", "message": "9 of 8 tokens used (112%)"})
    decision = decide(situation(signals=(LIMIT_REACHED, tokens), checks=REPORTS["fail"], claims=ASKED))
    assert decision.reason == (
        "50 of 50 US dollars used (100%); 9 of 8 tokens used (112%); at the end 1 of 2 checks fails; "
        "the agent claimed completion anyway; pytest fails"
    )


def test_a_stop_for_the_operator_says_what_to_do_and_repeats_the_programs_words() -> None:
    decision = decide(situation(execution=execution(call(AgentOutcome.AUTHENTICATION, error="Invalid API key"))))
    assert "claude /login" in decision.reason
    assert decision.reason.endswith(": Invalid API key")


def test_a_stop_after_failing_calls_says_how_many_there_were_and_how_the_last_one_ended() -> None:
    broken = execution(call(AgentOutcome.HUNG, error="no output"), files_changed=0)
    decision = decide(situation(state=state(failed_calls=2), execution=broken))
    assert decision.reason == "3 agent calls in a row did nothing (3 are allowed), the last ended as hung: no output"


@pytest.mark.feature("E7")
def test_a_usage_limit_is_waited_for() -> None:
    cases = {
        "until the reset and a margin": (NOW + 2 * HOUR, 1, 2 * HOUR + MINUTE),
        "an hour when none is announced": (None, 1, HOUR),
        "a longest window at most": (NOW + timedelta(days=30), 1, timedelta(days=8)),
        "a margin when it has passed": (NOW - HOUR, 1, MINUTE),
        "an hour when it has passed and was waited for in vain": (NOW - HOUR, 2, HOUR),
    }
    for case, (resets_at, attempt, wait) in cases.items():
        decision = decide(situation(state=state(attempt=attempt), execution=execution(usage_limited(resets_at)), checks=None))
        assert decision.until == NOW + wait
        assert not record(decision).counts
        assert decision.reason.startswith("usage limit (five_hour) reached")
        assert ("no reset was announced" in decision.reason) == (resets_at is None)
        assert f"{decision.until:%Y-%m-%d %H:%M:%S} UTC" in decision.reason, case


@pytest.mark.feature("E6", "E7")
def test_a_usage_limit_cannot_keep_a_loop_waiting_beyond_its_own_limits_and_is_not_counted_then_either() -> None:
    decision: Decision = decide(situation(execution=execution(usage_limited()), checks=None, signals=(LIMIT_REACHED,)))
    assert (decision.kind, decision.outcome) == (STOP, Outcome.STOPPED)
    assert not record(decision).counts


@pytest.mark.feature("E6")
def test_a_full_hour_of_calls_is_waited_for_until_its_first_call_is_an_hour_old() -> None:
    of = config(limits={"calls_per_hour": 4})
    decision = decide(situation(state=state(of, recent_calls=FULL_HOUR)))
    assert decision.until == FULL_HOUR[0] + HOUR
    until = f"{decision.until:%Y-%m-%d} 12:10:00 UTC"
    assert decision.reason == f"4 agent calls in the last hour (4 are allowed); waiting until {until}"
    assert record(decision).counts


REJECTED = Judgement(
    outcome=JudgementOutcome.REJECTED,
    cause="1 of 2 criteria is not met",
    criteria=(
        CriterionVerdict(criterion="names", met=False, votes_met=0, votes_cast=1),
        CriterionVerdict(criterion="errors", met=True, votes_met=1, votes_cast=1),
    ),
)
APPROVED = Judgement(outcome=JudgementOutcome.APPROVED, cause="", criteria=(REJECTED.criteria[1],))
JUDGED = {"judge": {"criteria": ["every error is told"], "rejections": 3}}
GONE = Finding(rule="tests.deleted", weight=Weight.BLOCK, path="t.py", message="test_a was deleted", honest="keep it")


def decide_on_claim(sections: dict[str, Any] | None = None, **fields: Any) -> Decision:
    before = state(config(**(sections or {})), **fields.pop("before", {}))
    return decide(situation(state=before, claims=ASKED, checks=REPORTS["pass"], **fields))


@pytest.mark.feature("M3", "V9")
def test_with_a_judge_only_its_approval_completes() -> None:
    assert decide_on_claim(JUDGED, judgement=APPROVED).reason.endswith("and the judge agrees on 1 criterion on cccccccccc")
    rejected = decide_on_claim(JUDGED, judgement=REJECTED)
    assert (rejected.kind, rejected.rule) == (CONTINUE, "continue")
    assert "the judge did not approve: 1 of 2 criteria is not met" in rejected.reason


@pytest.mark.feature("V7")
def test_only_an_approval_completes_a_loop() -> None:
    for outcome in JudgementOutcome:
        decision = decide_on_claim(JUDGED, judgement=REJECTED.model_copy(update={"outcome": outcome}))
        assert (decision.outcome is Outcome.COMPLETED) == (outcome is JudgementOutcome.APPROVED)


@pytest.mark.feature("M3")
def test_rejections_in_a_row_wait_for_a_person_with_the_whole_picture() -> None:
    third = decide_on_claim(JUDGED, judgement=REJECTED, before={"judge": JudgeMemory(rejections=2)})
    assert (third.kind, third.rule, third.outcome) == (STOP, "judge.rejections", Outcome.WAITING)
    assert third.reason.startswith(
        "the judge rejected the work 3 times in a row, 3 are allowed: 1 of 2 criteria is not met (not met: names)"
    )
    assert decide_on_claim(JUDGED, judgement=REJECTED, before={"judge": JudgeMemory(rejections=1)}).kind == CONTINUE


@pytest.mark.feature("V7")
def test_an_undecided_judge_asks_a_person_and_does_not_reject() -> None:
    untold = CriterionVerdict(criterion="names", met=False, cannot_tell=True, votes_met=0, votes_cast=1, reason="Not shown.")
    undecided = Judgement(
        outcome=JudgementOutcome.UNDECIDED, cause="1 of 1 criteria cannot be decided: names", criteria=(untold,)
    )
    decision = decide_on_claim(JUDGED, judgement=undecided, before={"judge": JudgeMemory(rejections=2)})
    assert (decision.kind, decision.rule, decision.outcome) == (STOP, "judge.cannot_tell", Outcome.WAITING)
    assert decision.reason == "the judge cannot tell whether the work is done, so a person has to decide: names: Not shown."


@pytest.mark.feature("M3")
def test_where_another_approach_is_demanded_instead_nobody_is_waited_for() -> None:
    sections = {**JUDGED, "merge": {"into": "main"}}
    assert decide_on_claim(sections, judgement=REJECTED, before={"judge": JudgeMemory(rejections=2)}).kind == CONTINUE


@pytest.mark.feature("V5", "V9")
def test_a_finding_that_blocks_is_the_reason_to_go_on() -> None:
    decision = decide_on_claim(findings=(GONE,))
    assert (decision.kind, decision.outcome) == (CONTINUE, None)
    assert decision.reason == "the agent claimed completion, but test_a was deleted (tests.deleted, t.py)"


@pytest.mark.feature("V9")
def test_the_fifth_denied_request_in_a_row_ends_the_loop_with_what_stands_against_it() -> None:
    fifth = decide_on_claim(findings=(GONE,), before={"done": DoneSignals(asked_in_row=4)})
    assert (fifth.rule, fifth.outcome) == ("completion.denied", Outcome.STOPPED)
    assert "claimed completion 5 times in a row with passing checks" in fifth.reason
    assert fifth.reason.endswith("""helmsman resume mend-it --set 'invariants.allow=["t.py"]'""")
    assert decide_on_claim(findings=(GONE,), before={"done": DoneSignals(asked_in_row=3)}).kind == CONTINUE


FORCED: dict[str, Any] = {"completion": {"force_max": True}}


@pytest.mark.feature("E8")
def test_with_force_max_a_proven_completion_is_acknowledged_and_the_loop_goes_on() -> None:
    decision = decide_on_claim(FORCED)
    assert (decision.kind, decision.rule) == (CONTINUE, "completion.acknowledged")
    assert "force_max continues improving it" in decision.reason


@pytest.mark.feature("E8")
def test_with_force_max_the_last_iteration_completes_where_it_is_proven_or_an_earlier_one_was() -> None:
    assert decide_on_claim(FORCED, signals=(LIMIT_REACHED,)).outcome is Outcome.COMPLETED
    before = state(config(**FORCED), verified="a" * 40)
    silent = decide(situation(state=before, claims=SILENT, checks=REPORTS["pass"], signals=(LIMIT_REACHED,)))
    assert (silent.outcome, silent.rule) == (Outcome.COMPLETED, "completion.force_max")
