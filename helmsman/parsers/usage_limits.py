"""Determine when a usage limit resets: from the CLI's events, else from the messages of older versions."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from helmsman.parsers.loose import amount, mapping, text
from helmsman.records.agent import RateLimit, UsageWindow

REJECTED = "rejected"
STALE = timedelta(minutes=5)
"""A clock time without a date that passed this recently means now, not tomorrow at the same time."""
_MILLISECONDS_FROM = 1e11  # as seconds, this is the year 5138
_WORDS_READ = 2000
_WINDOWS = 10
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_NAMES_A_LIMIT = re.compile(
    r"usage limit reached|(?:hit|reached) your .{0,80}limit|out of (?:extra usage|usage credits)"
    r"|(?<!not your usage )limit .{0,80}resets",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{9,13})(?!\d)", re.IGNORECASE)
_DATE = r"(?P<month>[a-z]{3})[a-z]* (?P<day>\d{1,2})(?:, (?P<year>\d{4}))?"
_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s?(?P<half>[ap])m"
_ZONE = r"(?: \((?P<zone>[^)]{1,64})\))?"
_RESET = re.compile(rf"resets? (?:(?:at|on) )?(?:{_DATE}(?:,| at)? ?)?(?:{_CLOCK})?{_ZONE}", re.IGNORECASE)


def read_limit(info: Mapping[str, Any]) -> RateLimit:
    """Parse a rate_limit_event; its reset may be in the past. A warning without utilization has at least a passed threshold."""
    window, windows = text(info.get("rateLimitType")), dict[str, UsageWindow]()
    for name, value in [(window, info), *mapping(info.get("unifiedWindows")).items()][: _WINDOWS + 1]:
        fields = mapping(value)
        shares = (amount(fields.get("utilization")), amount(fields.get("surpassedThreshold")))
        share = next((number for number in shares if number is not None), None)
        if share is not None:
            resets = _from_epoch(amount(fields.get("resetsAt")))
            windows[text(name)] = UsageWindow(name=text(name), utilization=min(share, 1.0), resets_at=resets)
    own = windows.get(window)
    return RateLimit(
        status=text(info.get("status")),
        window=window,
        resets_at=_from_epoch(amount(info.get("resetsAt"))),
        utilization=own.utilization if own else None,
        windows=tuple(windows.values())[:_WINDOWS],
    )


def is_limit_message(message: str) -> bool:
    """Whether an error message of the CLI is about the subscription's limit."""
    return _NAMES_A_LIMIT.search(message[:_WORDS_READ]) is not None


def without_past_reset(limit: RateLimit | None, now: datetime) -> RateLimit | None:
    """Return the limit without a reset in the past."""
    if limit is None or limit.resets_at is None or limit.resets_at > now:
        return limit
    return limit.model_copy(update={"resets_at": None})


def rejected_limit(limit: RateLimit | None, message: str, now: datetime) -> RateLimit:
    """Return the limit that stopped a call. The event's reset, even if just passed, is more reliable than the message."""
    rejected = limit if limit and limit.status == REJECTED else RateLimit(status=REJECTED)
    if rejected.resets_at is None:
        rejected = rejected.model_copy(update={"resets_at": parse_reset(message, now)})
    return rejected


def parse_reset(message: str, now: datetime) -> datetime | None:
    """Return the reset time in a message; None if it names none or one in the past."""
    message = message[:_WORDS_READ]
    if epoch := _EPOCH.search(message):
        moment = _from_epoch(float(epoch[1]))
    else:
        moments = (_parse_moment(match, now) for match in _RESET.finditer(message))
        moment = next((moment for moment in moments if moment), None)
    return moment if moment and moment > now else None


def _from_epoch(epoch: float | None) -> datetime | None:
    seconds = (epoch or 0) / (1000 if (epoch or 0) >= _MILLISECONDS_FROM else 1)
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < _MILLISECONDS_FROM else None


def _parse_moment(match: re.Match[str], now: datetime) -> datetime | None:
    """Return the named time, in the named or else the nearest year; a date without time means midnight."""
    hour, minute = int(match["hour"] or 12), int(match["minute"] or 0)
    if not (match["hour"] or match["month"]) or not (1 <= hour <= 12 and minute < 60):  # noqa: PLR2004 - the face of a clock
        return None
    zone = UTC
    with suppress(KeyError, ValueError, OSError):  # an unknown or malformed zone, or a folder of zones
        zone = ZoneInfo(match["zone"]) if match["zone"] else UTC
    hour = hour % 12 + (12 if (match["half"] or "a") in "pP" else 0)
    local_time = now.astimezone(zone).replace(hour=hour, minute=minute, second=0, microsecond=0)
    if not match["month"]:
        return (local_time if local_time > now - STALE else local_time + timedelta(days=1)).astimezone(UTC)
    days = list[datetime]()
    for year in [int(match["year"])] if match["year"] else [local_time.year - 1, local_time.year, local_time.year + 1]:
        with suppress(ValueError, OverflowError):  # no such month or day
            day = local_time.replace(year=year, month=_MONTHS.index(match["month"].lower()) + 1, day=int(match["day"]))
            days.append(day.astimezone(UTC))
    return min(days, key=lambda day: abs(day - now), default=None)
