"""How a call ended, read from recordings of the real CLI."""

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.parsers.agent_ending import EndCause
from helmsman.parsers.usage_limits import STALE, is_limit_message, parse_reset, read_limit, rejected_limit, without_past_reset
from helmsman.records.agent import AgentOutcome, RateLimit
from tests.fakes.recordings import FOLDER, RECORDED, events, fold, replay

ENDINGS = [
    ("success", 0, AgentOutcome.FINISHED, ""),
    ("subagent", 0, AgentOutcome.FINISHED, ""),
    ("failing_tool", 0, AgentOutcome.FINISHED, ""),
    ("permission_denied", 0, AgentOutcome.FINISHED, ""),
    ("refused_by_us", 0, AgentOutcome.FINISHED, ""),
    ("several_results", 0, AgentOutcome.FINISHED, ""),
    ("stop_hook_cap", 0, AgentOutcome.FINISHED, ""),
    ("compaction", 0, AgentOutcome.FINISHED, ""),
    ("retried_then_success", 0, AgentOutcome.FINISHED, ""),
    ("model_fallback", 0, AgentOutcome.FINISHED, ""),
    ("usage_limit_warning", 0, AgentOutcome.FINISHED, ""),
    ("max_turns", 1, AgentOutcome.MAX_TURNS, "Reached maximum number of turns (2)"),
    ("call_budget", 1, AgentOutcome.CALL_BUDGET, "Reached maximum budget ($0.03)"),
    ("older_call_budget", 1, AgentOutcome.CALL_BUDGET, "Reached maximum budget ($0.03)"),
    ("unauthorized_401", 1, AgentOutcome.AUTHENTICATION, "Invalid API key"),
    ("forbidden_403", 1, AgentOutcome.AUTHENTICATION, "Failed to authenticate. API Error: 403 nope"),
    ("oauth_403", 1, AgentOutcome.AUTHENTICATION, "Your organization has disabled Claude subscription access"),
    ("not_logged_in", 1, AgentOutcome.AUTHENTICATION, "Not logged in"),
    ("credit_balance", 1, AgentOutcome.BILLING, "Credit balance is too low"),
    ("older_credit_balance", 1, AgentOutcome.BILLING, "Credit balance is too low"),
    ("billing_402", 1, AgentOutcome.BILLING, "API Error: 402 billing"),
    ("model_404", 1, AgentOutcome.BAD_MODEL, "There's an issue with the selected model (no-such-model)"),
    ("bad_request_400", 1, AgentOutcome.REJECTED_REQUEST, "API Error: 400 bad thing"),
    ("too_large_413", 1, AgentOutcome.REJECTED_REQUEST, "Request too large (max 32MB)"),
    ("refusal", 1, AgentOutcome.REJECTED_REQUEST, "API Error: Opus 5.5's safeguards flagged this message"),
    ("max_tokens_forever", 1, AgentOutcome.REJECTED_REQUEST, "API Error: Claude's response exceeded"),
    ("overloaded_529", 1, AgentOutcome.OVERLOADED, "API Error: 529 Overloaded"),
    ("older_overloaded_529", 1, AgentOutcome.OVERLOADED, "API Error: 529 Overloaded"),
    ("server_error_500", 1, AgentOutcome.OVERLOADED, "API Error: 500 Internal server error"),
    ("connection_refused", 1, AgentOutcome.OVERLOADED, "API Error: Connection refused"),
    ("older_connection_refused", 1, AgentOutcome.OVERLOADED, "API Error: Unable to connect"),
    ("rate_limited_429", 1, AgentOutcome.RATE_LIMITED, "API Error: Request rejected (429)"),
    ("oauth_plain_429", 1, AgentOutcome.RATE_LIMITED, "API Error: Server is temporarily"),
    ("older_oauth_plain_429", 1, AgentOutcome.RATE_LIMITED, "API Error: Server is temporarily"),
    ("usage_limit_five_hour", 1, AgentOutcome.USAGE_LIMIT, "You've hit your 5-hour limit"),
    ("usage_limit_weekly", 1, AgentOutcome.USAGE_LIMIT, "You've hit your weekly limit"),
    ("older_usage_limit_five_hour", 1, AgentOutcome.USAGE_LIMIT, "You've hit your session"),
    ("older_usage_limit_weekly", 1, AgentOutcome.USAGE_LIMIT, "You've hit your weekly limit"),
    ("prompt_too_long", 1, AgentOutcome.CONTEXT_FULL, "Prompt is too long"),
    ("blocking_limit", 1, AgentOutcome.CONTEXT_FULL, "Prompt is too long"),
    ("refused_root", 1, AgentOutcome.REFUSED_START, "--dangerously-skip-permissions cannot be used with root"),
    ("bad_flag", 1, AgentOutcome.REFUSED_START, "error: unknown option '--no-such-flag'"),
    ("unknown_session", 1, AgentOutcome.UNKNOWN_SESSION, "No conversation found with session ID"),
    ("hook_blocks_prompt", 0, AgentOutcome.BLOCKED_BY_HOOK, "UserPromptSubmit operation blocked by hook"),
    ("older_hook_blocks_prompt", 0, AgentOutcome.BLOCKED_BY_HOOK, "UserPromptSubmit operation blocked by hook"),
    ("hook_stops", 0, AgentOutcome.BLOCKED_BY_HOOK, "hook_stopped"),
    ("sigterm", 143, AgentOutcome.ABORTED, ""),
    ("sigint_tool", 0, AgentOutcome.ABORTED, "[ede_diagnostic]"),
    ("older_sigint_tool", 1, AgentOutcome.ABORTED, "[ede_diagnostic]"),
    ("sigint_streaming", 0, AgentOutcome.ABORTED, "[ede_diagnostic]"),
    ("sigkill", -9, AgentOutcome.CRASHED, ""),
    ("usage_limit_warning_killed", 143, AgentOutcome.ABORTED, ""),
]


@pytest.mark.feature("E4", "E6", "E7")
def test_each_recorded_ending_has_its_outcome_and_its_words() -> None:
    for name, exit_code, outcome, words in ENDINGS:
        call = replay(name, exit_code)
        assert call.outcome is outcome, name
        assert call.error.startswith(words)
        assert bool(call.error) is bool(words)


def test_every_recording_is_classified_above() -> None:
    assert {name for name, *_ in ENDINGS} == {path.stem for path in FOLDER.glob("*.jsonl")}


@pytest.mark.feature("E7")
def test_a_timeout_is_never_a_usage_limit() -> None:
    outcomes: dict[EndCause, AgentOutcome] = {"deadline": AgentOutcome.TIMED_OUT, "idle": AgentOutcome.HUNG}
    for by, outcome in outcomes.items():
        for name in ["usage_limit_five_hour", "usage_limit_weekly", "usage_limit_warning_killed"]:
            assert replay(name, 143, by=by).outcome is outcome


def with_result(name: str, words: str) -> list[dict[str, Any]]:
    """The recording with another result."""
    return [{**event, "result": words} if event["type"] == "result" else event for event in events(name)]


def test_a_stop_on_request_is_an_abort_even_when_the_turn_was_over() -> None:
    assert replay("success", 143, by="stop").outcome is AgentOutcome.ABORTED


@pytest.mark.feature("E7")
@pytest.mark.parametrize(
    "words", ["You've hit your 5-hour limit · resets 3:33am (UTC)", "UserPromptSubmit operation blocked by hook"]
)
def test_an_agent_that_talks_of_a_limit_or_of_a_blocking_hook_has_finished_none_the_less(words: str) -> None:
    call = fold({"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "result": words})
    assert (call.outcome, call.rate_limit) == (AgentOutcome.FINISHED, None)


@pytest.mark.feature("E7")
def test_a_limit_of_a_version_with_unknown_words_is_known_by_its_event() -> None:
    call = fold(*with_result("older_usage_limit_five_hour", "Come back later"), exit_code=1)
    assert (call.outcome, call.error) == (AgentOutcome.USAGE_LIMIT, "Come back later")


@pytest.mark.feature("E7")
def test_a_limit_of_a_version_without_events_is_known_by_its_words() -> None:
    result = {"type": "result", "subtype": "success", "is_error": True, "num_turns": 1}
    call = fold({**result, "result": "Claude AI usage limit reached|1795333374"}, exit_code=1)
    assert call.outcome is AgentOutcome.USAGE_LIMIT
    assert isinstance(call.rate_limit, RateLimit)
    assert call.rate_limit.resets_at is not None


@pytest.mark.feature("E4")
def test_a_5xx_without_a_class_of_error_counts_as_overload() -> None:
    for status in [500, 502, 503, 504, 529, 599]:
        result = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": status, "result": "x"}
        assert fold(result, exit_code=1).outcome is AgentOutcome.OVERLOADED


@pytest.mark.parametrize(
    ("exit_code", "said", "outcome"),
    [
        (1, "error: unknown option '--x'\n", AgentOutcome.REFUSED_START),
        (1, "No conversation found with session ID: 1\n", AgentOutcome.UNKNOWN_SESSION),
        (1, "", AgentOutcome.CRASHED),
        (0, "", AgentOutcome.CRASHED),
        (None, "", AgentOutcome.CRASHED),
        (-9, "", AgentOutcome.CRASHED),
        (-15, "", AgentOutcome.ABORTED),
        (129, "", AgentOutcome.ABORTED),
    ],
)
def test_a_call_without_any_event_is_judged_by_exit_code_and_stderr(
    exit_code: int | None, said: str, outcome: AgentOutcome
) -> None:
    call = fold(exit_code=exit_code, said=said)
    assert (call.outcome, call.error) == (outcome, said.strip())


def test_a_call_that_spoke_and_then_died_was_not_refused_at_the_start() -> None:
    call = fold(events("model_404")[0], exit_code=1, said="fatal\n")
    assert (call.outcome, call.error) == (AgentOutcome.CRASHED, "fatal")


@pytest.mark.parametrize(
    ("api_error", "outcome"),
    [
        ("model_requires_usage_credits", AgentOutcome.BILLING),
        ("stream_idle_timeout", AgentOutcome.OVERLOADED),
        ("something_new", AgentOutcome.RATE_LIMITED),
    ],
)
def test_an_error_that_the_cli_types_is_believed_before_its_class_and_status(api_error: str, outcome: AgentOutcome) -> None:
    stream = ({**event, "api_error": api_error} for event in events("rate_limited_429"))
    assert fold(*stream, exit_code=1).outcome is outcome


@pytest.mark.feature("E7")
@pytest.mark.parametrize("name", ["bad_request_400", "overloaded_529", "forbidden_403", "connection_refused"])
def test_another_error_that_quotes_the_words_of_a_limit_is_no_usage_limit(name: str) -> None:
    assert fold(*with_result(name, "you've reached your limit"), exit_code=1).outcome is replay(name, 1).outcome


def test_an_error_that_the_call_recovered_from_does_not_decide_the_outcome() -> None:
    message = next(event for event in events("success") if event["type"] == "assistant")
    call = fold(events("credit_balance")[1], message, events("server_error_500")[2], exit_code=1)
    assert call.outcome is AgentOutcome.OVERLOADED


# When a usage limit resets


NOW = datetime(2026, 11, 22, 4, 50, tzinfo=UTC)


MOMENTS = st.datetimes(datetime(2001, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


def at(month: int, day: int, hour: int, minute: int = 0, *, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.feature("E7")
@pytest.mark.parametrize(
    ("name", "window", "reset"),
    [
        ("usage_limit_five_hour", "five_hour", 1795333374),
        ("usage_limit_weekly", "seven_day", 1795668174),
        ("older_usage_limit_five_hour", "five_hour", 1795333696),
        ("older_usage_limit_weekly", "seven_day", 1795668496),
    ],
)
def test_the_event_of_a_recorded_limit_names_window_and_reset(name: str, window: str, reset: int) -> None:
    limit = replay(name, 1).rate_limit
    assert limit
    assert (limit.status, limit.window, limit.resets_at) == ("rejected", window, datetime.fromtimestamp(reset, UTC))


@pytest.mark.feature("E7")
def test_a_reset_that_has_passed_is_kept_and_the_words_are_not_asked_for_tomorrow() -> None:
    call = replay("usage_limit_five_hour", 1, now=RECORDED + timedelta(hours=5))
    assert call.outcome is AgentOutcome.USAGE_LIMIT
    assert call.rate_limit
    assert call.rate_limit.resets_at is not None
    assert call.rate_limit.resets_at < RECORDED + timedelta(hours=5)


@pytest.mark.feature("E7")
def test_the_words_of_every_known_version_name_the_reset() -> None:
    for words, reset in [
        ("You've hit your session limit · resets 7:42am (UTC)", at(11, 22, 7, 42)),
        ("You've hit your limit · resets 1pm (America/New_York)", at(11, 22, 18)),
        ("Claude usage limit reached. Your limit will reset at 3pm (America/Los_Angeles).", at(11, 22, 23)),
        ("You've hit your limit · resets 1pm (../../etc/passwd)", at(11, 22, 13)),
        ("You've hit your limit · resets 1pm", at(11, 22, 13)),
        ("resets 12am (UTC)", at(11, 23, 0)),
        ("resets 12pm (UTC)", at(11, 22, 12)),
        ("You've hit your weekly limit · resets Nov 25, 12:53pm (UTC)", at(11, 25, 12, 53)),
        ("You've hit your weekly limit · resets Jan 2, 2027, 9am (UTC)", at(1, 2, 9, year=2027)),
        ("spend limit reached · resets Dec 1", at(12, 1, 0)),
        ("Claude AI usage limit reached|1795333374", datetime.fromtimestamp(1795333374, UTC)),
        ("Claude AI usage limit reached|1795333374000", datetime.fromtimestamp(1795333374, UTC)),
    ]:
        assert parse_reset(words, NOW) == reset


@pytest.mark.feature("E7")
def test_words_that_name_no_reset_or_one_in_the_past_give_none() -> None:
    for words in [
        "",
        "resets soon",
        "resets 13pm (UTC)",
        "resets 3:75am (UTC)",
        "resets Feb 30, 3am (UTC)",
        "resets Nov 21, 12:53pm (UTC)",
        "resets 4:50am (UTC)",
        "Claude AI usage limit reached|1695333374",
        "Claude AI usage limit reached|17953333740001",
    ]:
        assert parse_reset(words, NOW) is None


@pytest.mark.feature("E7")
def test_a_date_without_a_year_is_the_nearest_one_across_new_year() -> None:
    assert parse_reset("resets Jan 2, 9am (UTC)", at(12, 30, 9)) == at(1, 2, 9, year=2027)
    assert parse_reset("resets Dec 30, 9am (UTC)", at(1, 2, 9, year=2027)) is None


@pytest.mark.feature("E7")
def test_a_clock_without_a_zone_is_the_reader_s_own() -> None:
    assert parse_reset("resets 1pm", NOW.astimezone(timezone(timedelta(hours=2)))) == at(11, 22, 13)


@pytest.mark.feature("E7")
@pytest.mark.parametrize("epoch", [1795333374, 1795333374.0, 1795333374000])
def test_seconds_and_milliseconds_name_the_same_reset(epoch: float) -> None:
    assert read_limit({"status": "rejected", "resetsAt": epoch}).resets_at == datetime.fromtimestamp(1795333374, UTC)


@pytest.mark.feature("E7")
@pytest.mark.parametrize("epoch", [None, True, "1795333374", -5, 0, 10**30, float("nan"), float("inf"), [], {}])
def test_what_is_no_epoch_is_no_reset(epoch: object) -> None:
    assert read_limit({"status": "rejected", "resetsAt": epoch}).resets_at is None


@pytest.mark.feature("E7")
def test_a_limit_known_only_by_its_words_counts_as_rejected_whatever_was_said_before() -> None:
    before = RateLimit(status="allowed", window="seven_day", resets_at=at(11, 28, 0))
    assert rejected_limit(before, "resets 7:42am (UTC)", NOW) == RateLimit(status="rejected", resets_at=at(11, 22, 7, 42))


@pytest.mark.feature("E7")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("Claude AI usage limit reached|1749924000", True),
        ("You've hit your session limit · resets 3:59am (UTC)", True),
        ("Opus limit · resets 3am", True),
        ("API Error: Server is temporarily limiting requests (not your usage limit) · slow down", False),
        ("API Error: Server is temporarily limiting requests (not your usage limit) · resets", False),
        ("Reached maximum number of turns (2)", False),
    ],
)
def test_the_words_of_a_usage_limit_are_told_from_those_of_other_limits(words: str, meant: bool) -> None:
    assert is_limit_message(words) is meant


@pytest.mark.feature("E7")
@pytest.mark.parametrize("hostile", ["limit " * 400_000, "resets " * 400_000, "hit your " * 300_000, "resets 1" * 300_000])
def test_hostile_messages_are_parsed_in_bounded_time(hostile: str) -> None:
    start = time.perf_counter()
    is_limit_message(hostile)
    parse_reset(hostile, NOW)
    assert time.perf_counter() - start < 1


@pytest.mark.feature("E7")
@settings(deadline=None)
@given(st.text(), MOMENTS)
def test_any_words_give_no_reset_or_one_ahead(words: str, now: datetime) -> None:
    reset = parse_reset(f"resets {words}", now)
    assert reset is None or reset > now


@pytest.mark.feature("E7")
@settings(deadline=None)
@given(MOMENTS, st.integers(1, 12), st.integers(0, 59), st.sampled_from("ap"))
def test_a_clock_time_is_never_more_than_a_day_ahead(now: datetime, hour: int, minute: int, half: str) -> None:
    reset = parse_reset(f"resets {hour}:{minute:02}{half}m (UTC)", now)
    if reset is None:
        today = now.replace(hour=hour % 12 + 12 * (half == "p"), minute=minute, second=0, microsecond=0)
        assert timedelta(0) <= now - today < STALE
    else:
        assert timedelta(0) < reset - now <= timedelta(days=1)
        assert (reset.hour % 12, reset.minute) == (hour % 12, minute)


@pytest.mark.feature("E7")
@settings(deadline=None)
@given(MOMENTS, st.timedeltas(timedelta(minutes=1), timedelta(days=150)))
def test_a_reset_that_the_cli_prints_is_read_back(now: datetime, wait: timedelta) -> None:
    reset = (now + wait).replace(second=0, microsecond=0) + timedelta(minutes=1)
    printed = reset.strftime("%b %d, %I:%M%p").replace("AM", "am").replace("PM", "pm")
    assert parse_reset(f"You've hit your weekly limit · resets {printed} (UTC)", now) == reset


@pytest.mark.feature("E7")
@settings(deadline=None)
@given(MOMENTS, MOMENTS)
def test_a_reset_is_kept_just_when_it_lies_ahead(reset: datetime, now: datetime) -> None:
    kept = without_past_reset(RateLimit(status="allowed", resets_at=reset), now)
    assert kept
    assert kept.resets_at == (reset if reset > now else None)
