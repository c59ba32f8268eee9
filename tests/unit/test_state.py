"""How a state moves on, what it counts, and that it does not grow."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.allowance import session_to_resume
from helmsman.parsers.agent_ending import EndCause
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.advance import RESUMABLE, advance, interrupt, reopen
from helmsman.records.agent import AgentCall, AgentOutcome, ContextUse, InterruptedCall, KeptSession, LastCall, Salvage
from helmsman.records.base import Usage
from helmsman.records.checks import CheckReport, CheckResult, Judgement, JudgementOutcome, TestCounts
from helmsman.records.decision import Decision, Outcome
from helmsman.records.iteration import Choice, Completed, IterationRecord, WorkingMemory
from helmsman.records.proof import DoneSignals
from helmsman.records.state import LoopState, Spending, Waiting, failed_calls, recent_calls, spend
from tests.fakes.recordings import fold
from tests.unit.builders import (
    CONTINUE,
    HOUR,
    LIMIT_REACHED,
    MINUTE,
    NOW,
    WAIT,
    call,
    check,
    config,
    execution,
    record,
    report,
    state,
    usage_limited,
)

MOMENTS = st.datetimes(datetime(2001, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it
SALVAGE = Salvage(iteration=1, attempt=1, ref="refs/helmsman/mend-it/salvage/1-1", commit="e" * 40, files=2)
CUT_OFF = InterruptedCall(start="b" * 40, started_at=NOW, ended_at=NOW + MINUTE, usage=Usage(input_tokens=100, output_tokens=20))
DAY = timedelta(days=1)

WAITED = Waiting(until=NOW + HOUR, rule="agent.usage_limit", reason="usage limit")


def test_an_iteration_that_counts_moves_every_field_on() -> None:
    before = state(iteration=4, attempt=2, failed_calls=1, salvaged=(SALVAGE,), waiting=WAITED, notes=("limits.tokens.warn",))
    memory = WorkingMemory(remaining_gap="the parser")
    what = record(CONTINUE, lasted=MINUTE, memory=memory, signals=(LIMIT_REACHED,), execution=execution(commit="f" * 40))
    after = advance(before, what)
    assert after == before.model_copy(
        update={
            "head": "f" * 40,
            "iteration": 5,
            "attempt": 1,
            "spending": Spending(agent_calls=1, cost_usd=0.5, tokens=120, seconds=60),
            "recent_calls": (NOW,),
            "waiting": None,
            "checks": what.checks,
            "memory": memory,
            "failed_calls": 0,
            "salvaged": (),
            "done": DoneSignals(indicators=(False,)),
            "notes": ("limits.tokens.warn", "limits.cost_usd"),
        }
    )
    assert (after.due, after.outcome) == (6, None)


@pytest.mark.feature("E7")
def test_an_attempt_that_a_usage_limit_cut_off_waits_and_makes_the_same_iteration_due_again() -> None:
    before = state(iteration=4, failed_calls=2, salvaged=(SALVAGE,), checks=report(check(passed=False)))
    after = advance(before, record(WAIT, execution=execution(usage_limited(), files_changed=0), checks=None))
    assert (after.iteration, after.due, after.attempt) == (4, 5, 2)
    assert (after.failed_calls, after.salvaged, after.checks) == (2, (SALVAGE,), before.checks)
    assert (after.waiting, after.outcome, after.ending) == (WAITED, Outcome.WAITING, None)


def test_a_death_in_mid_call_makes_the_same_iteration_due_as_the_next_attempt() -> None:
    after = interrupt(state(iteration=4, attempt=2, waiting=WAITED), CUT_OFF, SALVAGE)
    assert (after.due, after.attempt, after.salvaged, after.waiting) == (5, 3, (SALVAGE,), None)
    assert interrupt(after, CUT_OFF, None).salvaged == (SALVAGE,)


@pytest.mark.feature("E2")
def test_a_death_leaves_the_session_and_a_person_s_resume_keeps_it() -> None:
    kept = state(session=KeptSession(id="s", used_at=NOW), last_call=LastCall(rotated="noise"), windows={"m": 9})
    after = interrupt(kept, CUT_OFF, None)
    assert (after.session, after.last_call, after.windows) == (None, kept.last_call, kept.windows)
    assert reopen(kept, config(claude={"session": "resume"}), NOW).session == kept.session


@pytest.mark.feature("E6")
def test_a_cycle_of_deaths_uses_up_the_budget_like_calls_that_end() -> None:
    after = state(spending=Spending(agent_calls=1, cost_usd=1, tokens=1, seconds=5))
    for _ in range(2):
        after = interrupt(after, CUT_OFF, None)
    assert after.spending == Spending(agent_calls=3, cost_usd=1, tokens=241, seconds=125)
    assert after.recent_calls == (CUT_OFF.ended_at, CUT_OFF.ended_at)


@pytest.mark.feature("E6")
def test_spending_adds_up_calls_dollars_tokens_and_time() -> None:
    before = state(spending=Spending(agent_calls=2, cost_usd=1, tokens=1000, seconds=100))
    assert spend(before, call().usage, NOW, NOW + MINUTE) == Spending(agent_calls=3, cost_usd=1.5, tokens=1120, seconds=160)


@pytest.mark.feature("E6")
def test_the_clock_counts_iterations_and_waits_but_not_the_time_that_nobody_drove() -> None:
    cases = {
        "nobody drove": (None, HOUR, 60),
        "waited": (WAITED, HOUR, 3660),
        "waited, then nobody drove": (WAITED, 10 * HOUR, 3660),
        "woken early": (WAITED, MINUTE, 120),
        "clock set back": (WAITED, -HOUR, 60),
    }
    for case, (waiting, resumed_after, seconds) in cases.items():
        started = NOW + resumed_after
        assert spend(state(waiting=waiting), call().usage, started, started + MINUTE).seconds == seconds, case


@pytest.mark.feature("E6")
@given(updated_at=MOMENTS, started_at=MOMENTS, now=MOMENTS, until=st.none() | MOMENTS)
def test_spending_never_shrinks_whatever_the_clock_does(
    updated_at: datetime, started_at: datetime, now: datetime, until: datetime | None
) -> None:
    waiting = until and Waiting(until=until, rule="r", reason="r")
    before = state(updated_at=updated_at, waiting=waiting, spending=Spending(agent_calls=1, cost_usd=1, tokens=1, seconds=5))
    after = spend(before, call().usage, started_at, now)
    assert after.seconds >= 5
    assert (after.agent_calls, after.cost_usd, after.tokens) == (2, 1.5, 121)


@pytest.mark.feature("E6", "X4")
@pytest.mark.parametrize(
    ("jump", "seconds"),
    [(timedelta(0), 60), (365 * DAY, 3 * 30 + 2 * 3600), (-365 * DAY, 30), (HOUR, 3660)],
    ids=["none", "a year on", "a year back", "an hour on, or nobody drove"],
)
def test_a_clock_that_jumps_while_the_agent_works_uses_up_no_budget_and_gives_none_away(jump: timedelta, seconds: float) -> None:
    assert spend(state(), call().usage, NOW, NOW + MINUTE + jump, at_work=30).seconds == seconds


@pytest.mark.feature("E6")
def test_calls_older_than_an_hour_are_forgotten() -> None:
    ends = tuple(NOW - minutes * MINUTE for minutes in (90, 60, 59, 1))
    assert recent_calls(state(recent_calls=ends), NOW) == (*ends[2:], NOW)


@given(st.lists(MOMENTS, max_size=50), MOMENTS)
def test_no_more_calls_are_remembered_than_an_hour_may_have(ends: list[datetime], now: datetime) -> None:
    kept = recent_calls(state(config(limits={"calls_per_hour": 7}), recent_calls=tuple(ends)), now)
    assert kept[-1:] == (now,)
    assert len(kept) <= 7


def test_a_call_comes_to_nothing_when_it_neither_ended_its_turn_nor_changed_a_file() -> None:
    for outcome in AgentOutcome:
        ended_its_turn = outcome in {AgentOutcome.FINISHED, AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET}
        before = state(failed_calls=2)
        assert failed_calls(before, execution(call(outcome), files_changed=0)) == (0 if ended_its_turn else 3)
        assert failed_calls(before, execution(call(outcome), files_changed=1)) == 0


def _after(iterations: int) -> LoopState:
    after = state()
    rules = [LIMIT_REACHED.model_copy(update={"rule": f"limits.cost_usd{suffix}"}) for suffix in ("", ".warn", ".alarm")]
    for number in range(iterations):
        decision = (WAIT if number % 3 == 0 else CONTINUE).model_copy(update={"at": NOW + number * MINUTE})
        what = record(decision, memory=WorkingMemory(remaining_gap="the parser"), signals=(rules[number % 3],))
        after = interrupt(advance(after, what), CUT_OFF, SALVAGE if number % 5 == 0 else None)
    return after


def test_a_state_is_as_large_after_ten_thousand_iterations_as_after_a_hundred() -> None:
    early, late = (len(_after(number).model_dump_json()) for number in (100, 10_000))
    assert abs(late - early) < 100  # digits of counters


TEXTS = st.text(max_size=20)
SOME_TEXTS = st.lists(TEXTS, max_size=2).map(tuple)
PERCENT = st.none() | st.integers(0, 100)
RESULTS = st.builds(
    CheckResult,
    exit_code=st.none() | st.integers(0, 255),
    seconds=st.floats(0, 1e6),
    head=TEXTS,
    counts=st.none() | st.builds(TestCounts, failing=SOME_TEXTS),
)
MEMORIES = st.builds(
    WorkingMemory,
    completed=st.lists(st.builds(Completed, text=TEXTS, confidence=PERCENT), max_size=2).map(tuple),
    decisions=st.lists(st.builds(Choice, chose=TEXTS, reason=TEXTS), max_size=2).map(tuple),
    uncertainties=SOME_TEXTS,
    confidence=PERCENT,
)


@st.composite
def states(draw: st.DrawFn) -> LoopState:
    """Any state in mid-life; what never changes after the start is as the builder makes it."""
    return state(
        updated_at=draw(MOMENTS),
        iteration=draw(st.integers(0)),
        spending=draw(st.builds(Spending, cost_usd=st.floats(0, 1e9), tokens=st.integers(0), seconds=st.floats(0, 1e9))),
        recent_calls=draw(st.lists(MOMENTS, max_size=3)),
        waiting=draw(st.none() | st.builds(Waiting, until=MOMENTS)),
        checks=draw(st.none() | st.builds(CheckReport, tree=TEXTS, results=st.lists(RESULTS, max_size=2).map(tuple))),
        memory=draw(MEMORIES),
        salvaged=draw(st.lists(st.builds(Salvage), max_size=2)),
        notes=draw(SOME_TEXTS),
        ending=draw(st.none() | st.builds(Decision, at=MOMENTS, outcome=st.sampled_from(Outcome))),
    )


@given(states())
def test_a_state_is_read_back_from_json_as_it_was_written(written: LoopState) -> None:
    assert LoopState.model_validate_json(written.model_dump_json()) == written


def test_a_state_of_a_newer_writer_is_read_without_the_fields_that_are_unknown() -> None:
    told = state().model_dump(mode="json")
    assert LoopState.model_validate({**told, "colour": "blue", "spending": {**told["spending"], "joules": 3}}) == state()


# Which session is kept and gone on with, and that nothing is charged twice for it


KEPT = KeptSession(id="4d4dac99-07da", used_at=NOW, total=Usage(cost_usd=1, input_tokens=100), calls=2)


REJECTED = Judgement(outcome=JudgementOutcome.REJECTED, cause="1 criterion is not met")


APPROVED = Judgement(outcome=JudgementOutcome.APPROVED, cause="")


def keeping(mode: str = "resume", *, used: ContextUse | None = None, rotated: str = "", **fields: Any) -> LoopState:
    claude = {"session": mode}
    of = config(claude=claude, context=fields.pop("context", {}))
    return state(of, **{"session": KEPT, "last_call": LastCall(context=used or ContextUse(), rotated=rotated), **fields})


@pytest.mark.feature("E2")
@pytest.mark.parametrize("mode", ["resume", "hybrid"])
def test_the_kept_session_is_resumed(mode: str) -> None:
    assert session_to_resume(keeping(mode), NOW + MINUTE) == KEPT


@pytest.mark.feature("E2")
@pytest.mark.parametrize(
    ("before", "later"),
    [
        (keeping("fresh"), MINUTE),
        (keeping(session=None), MINUTE),
        (keeping(), 24 * HOUR + MINUTE),
        (keeping(rotated="noise"), MINUTE),
        (keeping(used=ContextUse(tokens=10, peak=160, window=200)), MINUTE),
        (keeping(used=ContextUse(peak=160), context={"window": 200}), MINUTE),
    ],
)
def test_a_session_that_is_old_ended_or_full_is_not_resumed(before: LoopState, later: timedelta) -> None:
    assert session_to_resume(before, NOW + later) is None


@pytest.mark.feature("E2")
@pytest.mark.parametrize(
    ("before", "later"),
    [
        (keeping(), 24 * HOUR),
        (keeping(), -HOUR),
        (keeping(used=ContextUse(peak=159, window=200)), MINUTE),
        (keeping(used=ContextUse(peak=10**9)), MINUTE),
        (keeping(used=ContextUse(peak=160, window=200), context={"window": 1000}), MINUTE),
    ],
    ids=["just in time", "clock set back", "almost full", "no window known", "a window that was told is larger"],
)
def test_a_session_that_has_room_and_is_not_too_old_is_kept(before: LoopState, later: timedelta) -> None:
    assert session_to_resume(before, NOW + later) == KEPT


def record_ending(
    outcome: AgentOutcome = AgentOutcome.FINISHED, *, files: int = 1, session_id: str = "s1", **fields: Any
) -> IterationRecord:
    """An iteration whose call ended so, in a session."""
    about = {name: fields.pop(name) for name in ("resumed", "rotated", "usage", "context", "model") if name in fields}
    of = call(outcome, session_id=session_id, **about)
    return record(fields.pop("decision", CONTINUE), execution=execution(of, files_changed=files), **fields)


@pytest.mark.feature("E2")
def test_only_a_session_that_ended_in_good_order_is_kept() -> None:
    for outcome in AgentOutcome:
        kept = advance(keeping(), record_ending(outcome)).session
        assert (kept is not None) == (outcome in RESUMABLE)
        assert advance(keeping("fresh"), record_ending(outcome)).session is None


@pytest.mark.feature("E2")
def test_endings_after_which_a_session_is_never_resumed() -> None:
    outcomes = ("rotated", "context_full", "unknown_session", "crashed", "hung", "aborted", "rejected_request", "blocked_by_hook")
    assert not RESUMABLE & {AgentOutcome(outcome) for outcome in outcomes}
    assert advance(keeping(), record_ending(rotated="noise")).session is None


@pytest.mark.feature("E2")
def test_a_new_session_begins_with_its_own_account_and_a_resumed_one_adds_to_it() -> None:
    used = Usage(cost_usd=0.25, input_tokens=7)
    new = advance(keeping(), record_ending(usage=used)).session
    assert new == KeptSession(id="s1", used_at=NOW, total=used, calls=1)
    more = advance(keeping(), record_ending(usage=used, resumed=True)).session
    assert more == KeptSession(id="s1", used_at=NOW, total=Usage(cost_usd=1.25, input_tokens=107), calls=3)


@pytest.mark.feature("E2")
@pytest.mark.parametrize("name", ["", "--model", "a b", "x" * 101, "a\nb", "../other"])
def test_an_invalid_session_id_never_reaches_a_command_line(name: str) -> None:
    assert advance(keeping(), record_ending(session_id=name)).session is None


@pytest.mark.feature("E2")
def test_a_usage_limit_keeps_the_session() -> None:
    after = advance(keeping(), record_ending(AgentOutcome.USAGE_LIMIT, files=0, decision=WAIT, resumed=True, usage=Usage()))
    assert (after.due, after.attempt) == (1, 2)
    assert session_to_resume(after, NOW + HOUR) == KeptSession(id="s1", used_at=NOW, total=KEPT.total, calls=3)


def result_of(account: Usage, **fields: Any) -> dict[str, Any]:
    """A result event with this account, by model."""
    tokens = {"inputTokens": account.input_tokens, "outputTokens": account.output_tokens}
    tokens |= {"cacheCreationInputTokens": account.cache_creation_tokens, "cacheReadInputTokens": account.cache_read_tokens}
    dollars = {"total_cost_usd": account.cost_usd}
    return {"type": "result", "subtype": "success", "session_id": "s1", "modelUsage": {"m": tokens}, **dollars, **fields}


BEGUN = {"type": "system", "subtype": "init", "session_id": "s1"}


def call_with(resumed: KeptSession | None, *stream: dict[str, Any], ended_by: EndCause = "itself") -> AgentCall:
    return fold(*stream, by=ended_by, reader=ClaudeReader(resumed))


@pytest.mark.feature("E2")
def test_only_the_added_usage_of_a_resumed_session_is_charged() -> None:
    used = call_with(KEPT, result_of(Usage(cost_usd=1.5, input_tokens=130, output_tokens=4)))
    assert used.usage == Usage(cost_usd=0.5, input_tokens=30, output_tokens=4)
    assert used.resumed


@pytest.mark.feature("E2")
def test_a_smaller_total_is_a_new_account() -> None:
    assert call_with(KEPT, result_of(Usage(cost_usd=0.5, input_tokens=30))).usage == Usage(cost_usd=0.5, input_tokens=30)


ONE_CALL = st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.booleans())
"""Tokens, cents, and whether its time was up: then it tells tokens and no dollars."""


@pytest.mark.feature("E2")
@given(st.lists(st.lists(ONE_CALL, min_size=1, max_size=4), max_size=4))
def test_a_loop_is_charged_what_the_command_line_accounts_for_in_total(sessions: list[list[tuple[int, int, bool]]]) -> None:
    after, total = keeping(session=None), Usage()
    for calls in sessions:
        account, session = Usage(), None
        for number, (tokens, cents, time_is_up) in enumerate(calls, 1):
            account = account.plus(Usage(input_tokens=tokens, cost_usd=cents / 100))
            said = {"type": "assistant", "message": {"id": f"m{number}", "usage": {"input_tokens": tokens}}}
            told = [BEGUN, said] if time_is_up and number < len(calls) else [BEGUN, said, result_of(account)]
            made = call_with(session, *told, ended_by="itself" if len(told) > 2 else "deadline")
            after = advance(after, record(execution=execution(made)))
            session = session_to_resume(after, NOW)
            assert session
        total = total.plus(account)
    assert after.spending.tokens == total.tokens
    assert after.spending.cost_usd == pytest.approx(total.cost_usd)
