"""Decisions from the behaviour of the loop: one for each combination of alerts, with its path."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from helmsman.oversee.decide import QUESTIONS, Situation, decide
from helmsman.oversee.decide.questions import OPERATOR_FAULTS, PAUSES
from helmsman.records.agent import AgentOutcome
from helmsman.records.control import (
    Checkpoint,
    Conflict,
    EscalationLevel,
    Imperative,
    Issue,
    IterationSummary,
    Ladder,
    Movement,
    Oversight,
)
from helmsman.records.decision import Alert, Outcome, Severity
from helmsman.records.state import MOST_KILLED
from tests.unit.builders import ASKED, HOUR, LIMIT_REACHED, NOW, SILENT, call, check, config, execution, report, situation, state

pytestmark = pytest.mark.feature("S18")

PAIN = Alert(rule="pain.secret", severity=Severity.ABORT, message="the diff holds an AWS key in a.py:3")
REGRESSING = Alert(rule="regressing", severity=Severity.REDIRECT, message="two falls in a row")
CRITICAL = Issue(rule="validation.blind", critical=True, message="nothing can be verified")
BEST = Checkpoint(iteration=2, commit="a" * 40, tree="e" * 40, completion=0.8)


def summary_of(commit: str, start: str = "") -> IterationSummary:
    return IterationSummary(
        iteration=1, at=NOW, outcome=AgentOutcome.FINISHED, movement=Movement.SIDEWAYS, completion=0.5, start=start, commit=commit
    )


FELL = state(history=(summary_of(BEST.commit), summary_of("b" * 40, start=BEST.commit)))
GREEN, RED = report(check(passed=True)), report(check(passed=False))


def oversight(rung: EscalationLevel = EscalationLevel.PATCH, **fields: Any) -> Oversight:
    ladder = Ladder(rung=rung, reason="3 iterations gained 0 %")
    return Oversight(ladder=ladder, **fields)


CALLS = {
    AgentOutcome.FINISHED: "",
    AgentOutcome.AUTHENTICATION: "agent.authentication",
    AgentOutcome.USAGE_LIMIT: "agent.usage_limit",
    AgentOutcome.OVERLOADED: "breaker.open",
    AgentOutcome.HUNG: "limits.agent_failures",
}
"""One outcome of each kind, and what follows where it comes to nothing for the third time."""
REPORTS = {"fails": RED, "passes": GREEN, "empty": report(), "not run": None}
BOTH = (False, True)
KINDS: dict[str, Sequence[Any]] = {
    "pain": BOTH,
    "call": tuple(CALLS),
    "asks": BOTH,
    "checks": tuple(REPORTS),
    "limit": BOTH,
    "third": BOTH,
    "critical": BOTH,
    "human": BOTH,
    "act": BOTH,
    "full": BOTH,
}
"""All that decides, each in its few kinds."""


def expected_rule(case: dict[str, Any]) -> str:
    """The order of precedence, said once more and without the table."""
    outcome, third = case["call"], CALLS[case["call"]]
    operator, limited = outcome is AgentOutcome.AUTHENTICATION, outcome is AgentOutcome.USAGE_LIMIT
    steps = (
        ("pain.secret", case["pain"]),
        (third, operator),
        ("completion.verified", case["asks"] and case["checks"] == "passes"),
        ("completion.unverified", case["asks"] and case["checks"] == "empty"),
        ("limits.cost_usd", case["limit"]),
        (third, limited or (case["third"] and third)),
        ("validation.blind", case["act"] and case["critical"]),
        ("ladder.human", case["act"] and case["human"]),
        ("limits.calls_per_hour", case["full"]),
    )
    return next((rule for rule, holds in steps if holds), "continue")


def situation_of(case: dict[str, Any]) -> Situation:
    of = config(
        ladder={"act": case["act"]}, limits={"calls_per_hour": 3}, checks=() if case["checks"] == "empty" else ("pytest",)
    )
    calls = (NOW - HOUR / 2, NOW - HOUR / 3)[: 1 + case["full"]]
    return situation(
        state=state(of, failed_calls=2 if case["third"] else 1, recent_calls=calls),
        execution=execution(call(case["call"]), files_changed=0),
        checks=REPORTS[case["checks"]],
        claims=ASKED if case["asks"] else SILENT,
        signals=(*([PAIN] if case["pain"] else ()), *([LIMIT_REACHED] if case["limit"] else ())),
        oversight=oversight(
            EscalationLevel.HUMAN if case["human"] else EscalationLevel.PATCH, issues=(CRITICAL,) * case["critical"]
        ),
    )


@pytest.mark.feature("S6", "S8", "S13", "E6", "E7", "V9")
def test_every_combination_has_exactly_one_decision_and_only_a_request_under_green_checks_completes() -> None:
    for values in product(*KINDS.values()):
        case = dict(zip(KINDS, values, strict=True))
        decision, rule = decide(situation_of(case)), expected_rule(case)
        ends = {"pain": Outcome.EJECTED, "agent": Outcome.FAILED, "completion": Outcome.COMPLETED, "ladder": Outcome.WAITING}
        waits = rule in {"agent.usage_limit", "breaker.open", "limits.calls_per_hour"}
        failed = Outcome.FAILED if rule == "limits.agent_failures" else ends.get(rule.partition(".")[0], Outcome.STOPPED)
        assert decision.rule == rule, case
        assert (decision.kind == "wait", decision.until is not None) == (waits, waits), case
        assert decision.outcome is (None if waits or rule == "continue" else failed), case
        assert [step.held for step in decision.path] == [False] * (len(decision.path) - 1) + [True], case
        assert [step.rule for step in decision.path] == [question.rule for question in QUESTIONS[: len(decision.path)]], case


@pytest.mark.feature("E7")
def test_every_outcome_that_only_the_operator_can_fix_and_no_other_ends_for_the_operator_and_counts_as_nothing() -> None:
    for outcome in AgentOutcome:
        decision = decide(situation(execution=execution(call(outcome), files_changed=0)))
        assert (decision.fault == "operator") == (outcome in OPERATOR_FAULTS)
        assert decision.repeat == (outcome in {*OPERATOR_FAULTS, AgentOutcome.USAGE_LIMIT})


def test_each_step_of_the_way_says_what_it_rests_on_and_what_would_have_changed_it() -> None:
    decision = decide(situation(checks=RED))
    assert len(decision.path) == len(QUESTIONS)
    for step in decision.path:
        assert step.question.endswith("?"), step
        assert step.because, step
        assert step.otherwise, step
    assert "the check fails" in decision.path[-1].because


@pytest.mark.feature("S13")
def test_a_critical_event_ejects_to_the_best_earlier_commit() -> None:
    before = state(oversight=Oversight(best=BEST), history=(summary_of(BEST.commit), summary_of("b" * 40, start=BEST.commit)))
    ejected = decide(situation(state=before, signals=(PAIN,), claims=ASKED, checks=GREEN))
    assert (ejected.kind, ejected.outcome, ejected.back_to) == ("stop", Outcome.EJECTED, BEST.commit)
    assert "AWS key in a.py:3" in ejected.reason
    assert "aaaaaaaaaa" in ejected.reason
    first = decide(situation(signals=(PAIN,)))
    assert first.back_to == "b" * 40  # where the loop began
    unchanged = decide(situation(signals=(PAIN,), execution=execution(commit="b" * 40)))
    assert unchanged.back_to == ""


@pytest.mark.feature("S8", "S11")
def test_a_person_is_asked_with_both_sentences_and_the_choices() -> None:
    never = Imperative(source="AGENTS.md", line=4, text="Never change src/api.py.", modality="must_not")
    must = Imperative(source="goal", text="change src/api.py", modality="must")
    bind = Conflict(kind="scope", first=never, second=must, about="src/api.py")
    asked = decide(situation(oversight=oversight(EscalationLevel.HUMAN, conflicts=(bind,))))
    assert (asked.kind, asked.outcome) == ("stop", Outcome.WAITING)
    assert "AGENTS.md:4 says 'Never change src/api.py.' and goal says 'change src/api.py'" in asked.reason
    assert "helmsman approve mend-it" in asked.reason
    assert asked.reason.startswith("two instructions contradict each other: about src/api.py")
    stuck = decide(situation(oversight=oversight(EscalationLevel.HUMAN)))
    assert stuck.reason.startswith("the check fails; ")
    assert "; E-III human: 3 iterations gained 0 %; a person has to choose" in stuck.reason


@pytest.mark.feature("S7")
@pytest.mark.parametrize(
    ("outcome", "exit_code"), [(AgentOutcome.CRASHED, -9), (AgentOutcome.CRASHED, 137), (AgentOutcome.ABORTED, -15)]
)
def test_an_agent_that_is_killed_before_it_did_anything_is_called_again_a_few_times_without_counting(
    outcome: AgentOutcome, exit_code: int
) -> None:
    killed = {"execution": execution(call(outcome, exit_code=exit_code), files_changed=0), "checks": RED}
    for attempt in range(1, MOST_KILLED + 1):
        again = decide(situation(state=state(attempt=attempt), **killed))
        assert (again.kind, again.rule, again.repeat) == ("wait", "agent.killed", True)
    assert not decide(situation(state=state(attempt=MOST_KILLED + 1), **killed)).repeat
    assert not decide(situation(state=state(failed_calls=1), **killed)).repeat


def test_an_agent_that_did_something_or_was_not_killed_counts_as_an_iteration() -> None:
    cases = {
        "used a tool": execution(call(AgentOutcome.CRASHED, exit_code=-9, tools=(("Bash", 1),)), files_changed=0),
        "changed a file": execution(call(AgentOutcome.CRASHED, exit_code=-9), files_changed=1),
        "ended by itself": execution(call(AgentOutcome.CRASHED, exit_code=1), files_changed=0),
    }
    for case, execution_ in cases.items():
        assert not decide(situation(execution=execution_, checks=RED)).repeat, case


@pytest.mark.parametrize("outcome", PAUSES)
def test_repeated_transient_failures_cause_a_pause_that_costs_no_iteration(outcome: AgentOutcome) -> None:
    broken = {"execution": execution(call(outcome), files_changed=0), "checks": RED}
    waits = decide(situation(state=state(failed_calls=2), **broken))
    assert (waits.kind, waits.rule, waits.until, waits.repeat) == ("wait", "breaker.open", NOW + HOUR / 2, True)
    assert decide(situation(state=state(failed_calls=1), **broken)).rule == "continue"
    ends = decide(situation(state=state(failed_calls=2, attempt=PAUSES[outcome] + 1), **broken))
    assert (ends.kind, ends.rule) == ("stop", "limits.agent_failures")


@pytest.mark.feature("S17")
def test_work_that_got_worse_is_rolled_back_to_the_best_commit() -> None:
    back = decide(situation(state=FELL, signals=(REGRESSING,), oversight=oversight(best=BEST)))
    assert (back.kind, back.back_to) == ("continue", BEST.commit)
    assert "the branch is reset to aaaaaaaaaa and the work kept on a ref" in back.reason


@pytest.mark.feature("S17")
def test_work_is_rolled_back_before_a_wait_too() -> None:
    full = FELL.model_copy(update={"config": config(limits={"calls_per_hour": 1})})
    back = decide(situation(state=full, signals=(REGRESSING,), oversight=oversight(best=BEST)))
    assert (back.kind, back.back_to) == ("wait", BEST.commit)


@pytest.mark.feature("S17")
def test_otherwise_the_branch_stays_where_it_is() -> None:
    cases = {
        "no fall": {"signals": ()},
        "nothing better": {"oversight": oversight()},
        "it is the best": {"oversight": oversight(best=BEST.model_copy(update={"commit": "c" * 40}))},
        "no worse than the best": {"oversight": oversight(best=BEST.model_copy(update={"completion": 0.0}))},
        "two tests of many": {"oversight": oversight(best=BEST.model_copy(update={"completion": 0.009}))},
        "only watching": {"state": state(config(ladder={"act": False}), history=FELL.history)},
        "a person committed in between": {"state": state(history=(FELL.history[0], summary_of("b" * 40, start="9" * 40)))},
    }
    fell: dict[str, Any] = {"state": FELL, "signals": (REGRESSING,), "oversight": oversight(best=BEST)}
    for why, fields in cases.items():
        assert decide(situation(**fell | fields)).back_to == "", why


@pytest.mark.feature("S17", "S13")
def test_a_person_s_commits_are_not_rolled_back() -> None:
    theirs = state(oversight=Oversight(best=BEST), history=(summary_of(BEST.commit), summary_of("8" * 40, start="9" * 40)))
    ejected = decide(situation(state=theirs, signals=(PAIN,)))
    assert ejected.back_to == "b" * 40  # where this iteration began


@pytest.mark.feature("S13")
def test_an_exceeded_budget_is_no_evidence_against_the_work() -> None:
    blown = Alert(rule="pain.budget", severity=Severity.ABORT, message="150 % used")
    now = BEST.model_copy(update={"commit": "c" * 40})
    kept = decide(situation(state=FELL, signals=(blown,), oversight=oversight(best=now)))
    assert (kept.outcome, kept.back_to) == (Outcome.EJECTED, "")


@pytest.mark.feature("E8")
def test_force_max_ends_completed_where_nothing_can_be_improved_any_more() -> None:
    forced = state(config(completion={"force_max": True}))
    proven = {"state": forced, "checks": GREEN, "claims": ASKED}
    assert decide(situation(**proven, oversight=oversight(EscalationLevel.REDESIGN))).kind == "continue"
    assert decide(situation(**proven, oversight=oversight(EscalationLevel.HUMAN))).outcome is Outcome.COMPLETED
