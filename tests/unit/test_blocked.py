"""BLOCKED counts only if the judge or a fresh session confirms it; then a person is asked."""

from typing import Any

import pytest

from helmsman.oversee.decide import decide
from helmsman.oversee.gates import due_gate
from helmsman.records.advance import advance, reopen
from helmsman.records.checks import CriterionVerdict, Judgement, JudgementOutcome
from helmsman.records.claims import Claims
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import Choice
from helmsman.records.proof import DoneSignals, SinceStart
from tests.unit.builders import ASKED, NOW, check, config, record, report, situation, state
from tests.unit.test_prompt import prompt

pytestmark = pytest.mark.feature("V17")

GREEN, RED = report(check(passed=True)), report(check(passed=False))
SAYS = Claims(blocked="two checks contradict each other")
ONCE = DoneSignals(blocked=1, blocked_by="two checks contradict each other")


def judgement_of(outcome: JudgementOutcome) -> Judgement:
    met, cannot_tell = outcome is JudgementOutcome.APPROVED, outcome is JudgementOutcome.UNDECIDED
    one = CriterionVerdict(
        criterion="agent.blocked", met=met, cannot_tell=cannot_tell, votes_met=met, votes_cast=1, reason="They do not."
    )
    return Judgement(outcome=outcome, cause="", criteria=(one,))


def decision_after(before: DoneSignals, **found: Any) -> Decision:
    return decide(situation(state=state(done=before), **{"checks": RED, "claims": SAYS, **found}))


SEES, REFUTES, CANNOT_TELL = (judgement_of(outcome) for outcome in JudgementOutcome)


def test_the_judge_or_a_second_session_in_a_row_confirms_it() -> None:
    cases: dict[str, tuple[DoneSignals, dict[str, Any], Outcome | None]] = {
        "first": (DoneSignals(), {}, None),
        "judge sees": (DoneSignals(), {"block_judged": SEES}, Outcome.BLOCKED),
        "judge refutes": (DoneSignals(), {"block_judged": REFUTES}, None),
        "judge cannot tell": (DoneSignals(), {"block_judged": CANNOT_TELL}, None),
        "again": (ONCE, {}, Outcome.BLOCKED),
        "again, and every check passes": (ONCE, {"checks": GREEN}, Outcome.UNPROVEN),
        "again, and nothing changed": (ONCE, {"checks": GREEN, "since_start": SinceStart(unchanged=True)}, Outcome.BLOCKED),
        "judge sees, and every check passes": (DoneSignals(), {"checks": GREEN, "block_judged": SEES}, Outcome.BLOCKED),
        "not again": (ONCE, {"claims": Claims()}, None),
        "done after all": (ONCE, {"claims": ASKED, "checks": GREEN}, Outcome.COMPLETED),
    }
    for case, (before, found, outcome) in cases.items():
        decision = decision_after(before, **found)
        assert (decision.outcome, decision.kind) == (outcome, "stop" if outcome else "continue"), case


def test_the_end_says_who_confirms_it_why_it_is_blocked_and_what_comes_next() -> None:
    decision = decision_after(ONCE)
    assert decision.rule == "agent.blocked"
    for told in ("a fresh session", "two checks contradict each other", "the work is kept on", "--guidance TEXT"):
        assert told in decision.reason
    assert "the judge confirms it" in decision_after(DoneSignals(), block_judged=SEES).reason


def test_where_every_check_passes_the_agent_is_told_and_then_a_person_may_accept_the_work() -> None:
    first = decision_after(DoneSignals(), checks=GREEN)
    assert first.reason == "all checks pass, but the agent says that it is blocked"
    assert "Every check passes. If what is missing" in prompt(state(done=ONCE, checks=GREEN))
    assert "Every check passes. If what is missing" not in prompt(state(done=ONCE, checks=RED))
    ended = state(done=ONCE, checks=GREEN, ending=decision_after(ONCE, checks=GREEN))
    gate = due_gate(ended, NOW)
    assert gate is not None
    assert Choice.ACCEPT in gate.choices
    expected = "Every check passes, but the agent says that it is blocked (two checks contradict each other). Is the work done?"
    assert gate.question == expected


def test_blocks_count_in_a_row_and_restart_after_a_person() -> None:
    first = advance(state(), record(checks=RED, claims=SAYS, block_judged=REFUTES))
    assert (first.done.blocked, first.done.blocked_by, first.done.blocked_seen) == (1, SAYS.blocked, "They do not.")
    assert advance(first, record(checks=RED, claims=SAYS)).done.blocked == 2
    assert advance(first, record(checks=RED)).done == DoneSignals(indicators=(False, False))
    assert reopen(first, first.config, NOW).done == DoneSignals()


def test_the_next_session_is_a_fresh_one_that_is_told_what_was_said_and_what_the_judge_saw() -> None:
    resuming = state(config(claude={"session": "resume"}))
    call = record().execution.call.model_copy(update={"session_id": "abc"})
    execution = record().execution.model_copy(update={"call": call})
    assert advance(resuming, record(checks=RED, execution=execution)).session is not None
    assert advance(resuming, record(checks=RED, execution=execution, claims=SAYS)).session is None
    told = prompt(state(done=ONCE.model_copy(update={"blocked_seen": "They do not."})))
    assert "The last session said that it is blocked" in told
    assert (
        "```\ntwo checks contradict each other\n```\nThe reviewer looked as well and disagrees:\n```\nThey do not.\n```" in told
    )
