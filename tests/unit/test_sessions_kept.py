"""Which session is kept and gone on with, and that nothing is charged twice for it."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.orient.allowance import session_to_resume, why_fresh
from helmsman.parsers.agent_ending import EndedBy
from helmsman.parsers.claude_stream import ClaudeReader
from helmsman.records.advance import GOES_ON, advance
from helmsman.records.agent import AgentCall, AgentOutcome, ContextUse, KeptSession, LastCall
from helmsman.records.base import Usage
from helmsman.records.checks import Judgement, JudgementOutcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from tests.fakes.recordings import RECORDED
from tests.unit.builders import CONTINUE, HOUR, MINUTE, NOW, WAIT, call, config, execution, record, state

pytestmark = pytest.mark.feature("E2")

KEPT = KeptSession(id="4d4dac99-07da", used_at=NOW, total=Usage(cost_usd=1, input_tokens=100), calls=2)
REJECTED = Judgement(outcome=JudgementOutcome.REJECTED, cause="1 criterion is not met")
APPROVED = Judgement(outcome=JudgementOutcome.APPROVED, cause="")


def keeping(mode: str = "resume", *, used: ContextUse | None = None, rotated: str = "", **fields: Any) -> LoopState:
    claude = {"session": mode}
    of = config(claude=claude, context=fields.pop("context", {}))
    return state(of, **{"session": KEPT, "last_call": LastCall(context=used or ContextUse(), rotated=rotated), **fields})


@pytest.mark.parametrize("mode", ["resume", "hybrid"])
def test_the_kept_session_is_gone_on_with(mode: str) -> None:
    assert session_to_resume(keeping(mode), NOW + MINUTE) == KEPT
    assert why_fresh(keeping(mode), NOW + MINUTE) == ""


@pytest.mark.parametrize(
    ("before", "later", "why"),
    [
        (keeping("fresh"), MINUTE, "every iteration begins"),
        (keeping(session=None), MINUTE, "no session is kept"),
        (keeping(), 24 * HOUR + MINUTE, "too long ago"),
        (keeping(rotated="noise"), MINUTE, "for the sake of a fresh one"),
        (keeping(used=ContextUse(tokens=10, peak=160, window=200)), MINUTE, "full"),
        (keeping(used=ContextUse(peak=160), context={"window": 200}), MINUTE, "full"),
    ],
)
def test_a_session_is_left_with_the_reason(before: LoopState, later: timedelta, why: str) -> None:
    assert session_to_resume(before, NOW + later) is None
    assert why in why_fresh(before, NOW + later)


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


def ended(
    outcome: AgentOutcome = AgentOutcome.FINISHED, *, files: int = 1, session_id: str = "s1", **fields: Any
) -> IterationRecord:
    """An iteration whose call ended so, in a session."""
    about = {name: fields.pop(name) for name in ("resumed", "rotated", "usage", "context", "model") if name in fields}
    of = call(outcome, session_id=session_id, **about)
    return record(fields.pop("decision", CONTINUE), execution=execution(of, files_changed=files), **fields)


def test_only_a_session_that_ended_in_good_order_is_kept() -> None:
    for outcome in AgentOutcome:
        kept = advance(keeping(), ended(outcome)).session
        assert (kept is not None) == (outcome in GOES_ON)
        assert advance(keeping("fresh"), ended(outcome)).session is None


def test_what_a_session_must_never_be_gone_on_with_after() -> None:
    outcomes = ("rotated", "context_full", "unknown_session", "crashed", "hung", "aborted", "rejected_request", "blocked_by_hook")
    assert not GOES_ON & {AgentOutcome(outcome) for outcome in outcomes}
    assert advance(keeping(), ended(rotated="noise")).session is None


def test_a_new_session_begins_with_its_own_account_and_a_resumed_one_adds_to_it() -> None:
    used = Usage(cost_usd=0.25, input_tokens=7)
    new = advance(keeping(), ended(usage=used)).session
    assert new == KeptSession(id="s1", used_at=NOW, total=used, calls=1)
    more = advance(keeping(), ended(usage=used, resumed=True)).session
    assert more == KeptSession(id="s1", used_at=NOW, total=Usage(cost_usd=1.25, input_tokens=107), calls=3)


@pytest.mark.parametrize("name", ["", "--model", "a b", "x" * 101, "a\nb", "../other"])
def test_what_is_no_id_is_never_put_on_a_command_line(name: str) -> None:
    assert advance(keeping(), ended(session_id=name)).session is None


def test_an_iteration_that_a_usage_limit_cut_off_goes_on_with_its_session() -> None:
    after = advance(keeping(), ended(AgentOutcome.USAGE_LIMIT, files=0, decision=WAIT, resumed=True, usage=Usage()))
    assert (after.due, after.attempt) == (1, 2)
    assert session_to_resume(after, NOW + HOUR) == KeptSession(id="s1", used_at=NOW, total=KEPT.total, calls=3)


def result_of(account: Usage, **fields: Any) -> dict[str, Any]:
    """A result event with this account, by model."""
    tokens = {"inputTokens": account.input_tokens, "outputTokens": account.output_tokens}
    tokens |= {"cacheCreationInputTokens": account.cache_creation_tokens, "cacheReadInputTokens": account.cache_read_tokens}
    dollars = {"total_cost_usd": account.cost_usd}
    return {"type": "result", "subtype": "success", "session_id": "s1", "modelUsage": {"m": tokens}, **dollars, **fields}


BEGUN = {"type": "system", "subtype": "init", "session_id": "s1"}


def heard(
    resumed: KeptSession | None, *stream: dict[str, Any], exit_code: int = 0, ended_by: EndedBy = "itself", stderr: str = ""
) -> AgentCall:
    reader = ClaudeReader(resumed)
    for event in stream:
        reader.feed(event)
    return reader.conclude(exit_code=exit_code, ended_by=ended_by, stderr=stderr, seconds=1, now=RECORDED)


def test_of_a_resumed_session_only_what_this_call_added_is_charged() -> None:
    used = heard(KEPT, result_of(Usage(cost_usd=1.5, input_tokens=130, output_tokens=4)))
    assert used.usage == Usage(cost_usd=0.5, input_tokens=30, output_tokens=4)
    assert used.resumed


def test_an_account_that_holds_less_than_before_has_begun_anew() -> None:
    assert heard(KEPT, result_of(Usage(cost_usd=0.5, input_tokens=30))).usage == Usage(cost_usd=0.5, input_tokens=30)


ONE_CALL = st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.booleans())
"""Tokens, cents, and whether its time was up: then it tells tokens and no dollars."""


@given(st.lists(st.lists(ONE_CALL, min_size=1, max_size=4), max_size=4))
def test_a_loop_is_charged_what_the_command_line_accounts_for_in_total(sessions: list[list[tuple[int, int, bool]]]) -> None:
    after, total = keeping(session=None), Usage()
    for calls in sessions:
        account, session = Usage(), None
        for number, (tokens, cents, time_is_up) in enumerate(calls, 1):
            account = account.plus(Usage(input_tokens=tokens, cost_usd=cents / 100))
            said = {"type": "assistant", "message": {"id": f"m{number}", "usage": {"input_tokens": tokens}}}
            told = [BEGUN, said] if time_is_up and number < len(calls) else [BEGUN, said, result_of(account)]
            made = heard(session, *told, ended_by="itself" if len(told) > 2 else "deadline")
            after = advance(after, record(execution=execution(made)))
            session = session_to_resume(after, NOW)
            assert session
        total = total.plus(account)
    assert after.spending.tokens == total.tokens
    assert after.spending.cost_usd == pytest.approx(total.cost_usd)
