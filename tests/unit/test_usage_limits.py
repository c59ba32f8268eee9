"""When a usage limit resets."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmsman.parsers.usage_limits import STALE, ahead, names_a_limit, reached, read_limit, reset_in_words
from helmsman.records.agent import AgentOutcome, RateLimit
from tests.fakes.recordings import RECORDED, replay

pytestmark = pytest.mark.feature("E7")
NOW = datetime(2026, 11, 22, 4, 50, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2001, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


def at(month: int, day: int, hour: int, minute: int = 0, *, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


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


def test_a_reset_that_has_passed_is_kept_and_the_words_are_not_asked_for_tomorrow() -> None:
    call = replay("usage_limit_five_hour", 1, now=RECORDED + timedelta(hours=5))
    assert call.outcome is AgentOutcome.USAGE_LIMIT
    assert call.rate_limit
    assert call.rate_limit.resets_at is not None
    assert call.rate_limit.resets_at < RECORDED + timedelta(hours=5)


def test_the_words_of_every_known_version_name_the_reset() -> None:
    for words, reset in [
        ("You've hit your session limit · resets 7:42am (UTC)", at(11, 22, 7, 42)),
        ("You've hit your limit · resets 1pm (Europe/Lisbon)", at(11, 22, 13)),
        ("You've hit your limit · resets 1pm (America/New_York)", at(11, 22, 18)),
        ("You're out of extra usage · resets 5:30pm (Asia/Kolkata)", at(11, 22, 12)),
        ("Claude usage limit reached. Your limit will reset at 3pm (America/Los_Angeles).", at(11, 22, 23)),
        ("You've hit your limit · resets 1pm (../../etc/passwd)", at(11, 22, 13)),
        ("You've hit your limit · resets 1pm", at(11, 22, 13)),
        ("resets 12am (UTC)", at(11, 23, 0)),
        ("resets 12pm (UTC)", at(11, 22, 12)),
        ("You've hit your weekly limit · resets Nov 25, 12:53pm (UTC)", at(11, 25, 12, 53)),
        ("You've hit your weekly limit · resets Nov 25, 12pm (Asia/Tokyo)", at(11, 25, 3)),
        ("You've hit your weekly limit · resets Jan 2, 2027, 9am (UTC)", at(1, 2, 9, year=2027)),
        ("spend limit reached · resets Dec 1", at(12, 1, 0)),
        ("Claude AI usage limit reached|1795333374", datetime.fromtimestamp(1795333374, UTC)),
        ("Claude AI usage limit reached|1795333374000", datetime.fromtimestamp(1795333374, UTC)),
    ]:
        assert reset_in_words(words, NOW) == reset


def test_words_that_name_no_reset_or_one_in_the_past_give_none() -> None:
    for words in [
        "",
        "resets soon",
        "resets 13pm (UTC)",
        "resets 3:75am (UTC)",
        "resets Feb 30, 3am (UTC)",
        "resets Nov 21, 12:53pm (UTC)",
        "resets 4:50am (UTC)",
        "resets 4:46am (UTC)",
        "Claude AI usage limit reached|1695333374",
        "Claude AI usage limit reached|17953333740001",
    ]:
        assert reset_in_words(words, NOW) is None


def test_a_date_without_a_year_is_the_nearest_one_across_new_year() -> None:
    assert reset_in_words("resets Jan 2, 9am (UTC)", at(12, 30, 9)) == at(1, 2, 9, year=2027)
    assert reset_in_words("resets Dec 30, 9am (UTC)", at(1, 2, 9, year=2027)) is None


def test_a_clock_without_a_zone_is_the_reader_s_own() -> None:
    assert reset_in_words("resets 1pm", NOW.astimezone(timezone(timedelta(hours=2)))) == at(11, 22, 13)


@pytest.mark.parametrize("epoch", [1795333374, 1795333374.0, 1795333374000])
def test_seconds_and_milliseconds_name_the_same_reset(epoch: float) -> None:
    assert read_limit({"status": "rejected", "resetsAt": epoch}).resets_at == datetime.fromtimestamp(1795333374, UTC)


@pytest.mark.parametrize("epoch", [None, True, "1795333374", -5, 0, 10**30, float("nan"), float("inf"), [], {}])
def test_what_is_no_epoch_is_no_reset(epoch: object) -> None:
    assert read_limit({"status": "rejected", "resetsAt": epoch}).resets_at is None


def test_a_limit_known_only_by_its_words_counts_as_rejected_whatever_was_said_before() -> None:
    before = RateLimit(status="allowed", window="seven_day", resets_at=at(11, 28, 0))
    assert reached(before, "resets 7:42am (UTC)", NOW) == RateLimit(status="rejected", resets_at=at(11, 22, 7, 42))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("Claude AI usage limit reached|1749924000", True),
        ("You've hit your session limit · resets 3:59am (UTC)", True),
        ("Opus limit · resets 3am", True),
        ("API Error: Server is temporarily limiting requests (not your usage limit) · slow down", False),
        ("API Error: Server is temporarily limiting requests (not your usage limit) · resets", False),
        ("API Error: 529 Overloaded", False),
        ("Reached maximum number of turns (2)", False),
    ],
)
def test_the_words_of_a_usage_limit_are_told_from_those_of_other_limits(words: str, meant: bool) -> None:
    assert names_a_limit(words) is meant


@pytest.mark.parametrize("hostile", ["limit " * 400_000, "resets " * 400_000, "hit your " * 300_000, "resets 1" * 300_000])
def test_hostile_words_are_read_at_once(hostile: str) -> None:
    start = time.perf_counter()
    names_a_limit(hostile)
    reset_in_words(hostile, NOW)
    assert time.perf_counter() - start < 1


@settings(deadline=None)
@given(st.text(), MOMENTS)
def test_any_words_give_no_reset_or_one_ahead(words: str, now: datetime) -> None:
    reset = reset_in_words(f"resets {words}", now)
    assert reset is None or reset > now


@settings(deadline=None)
@given(MOMENTS, st.integers(1, 12), st.integers(0, 59), st.sampled_from("ap"))
def test_a_clock_time_is_never_more_than_a_day_ahead(now: datetime, hour: int, minute: int, half: str) -> None:
    reset = reset_in_words(f"resets {hour}:{minute:02}{half}m (UTC)", now)
    if reset is None:
        today = now.replace(hour=hour % 12 + 12 * (half == "p"), minute=minute, second=0, microsecond=0)
        assert timedelta(0) <= now - today < STALE
    else:
        assert timedelta(0) < reset - now <= timedelta(days=1)
        assert (reset.hour % 12, reset.minute) == (hour % 12, minute)


@settings(deadline=None)
@given(MOMENTS, st.timedeltas(timedelta(minutes=1), timedelta(days=150)))
def test_a_reset_that_the_cli_prints_is_read_back(now: datetime, wait: timedelta) -> None:
    reset = (now + wait).replace(second=0, microsecond=0) + timedelta(minutes=1)
    printed = reset.strftime("%b %d, %I:%M%p").replace("AM", "am").replace("PM", "pm")
    assert reset_in_words(f"You've hit your weekly limit · resets {printed} (UTC)", now) == reset


@settings(deadline=None)
@given(MOMENTS, MOMENTS)
def test_a_reset_is_kept_just_when_it_lies_ahead(reset: datetime, now: datetime) -> None:
    kept = ahead(RateLimit(status="allowed", resets_at=reset), now)
    assert kept
    assert kept.resets_at == (reset if reset > now else None)
