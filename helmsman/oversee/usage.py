"""Before the limit: how full the subscription's windows are, as the CLI tells it, and what follows from that."""

from collections.abc import Mapping
from datetime import datetime

from helmsman.config.limits import UsageLimitConfig
from helmsman.plain import clean
from helmsman.records.evidence import RateLimit, UsageWindow

WEEKLY = "seven_day"
"""How the names of weekly windows begin."""
NAMES: Mapping[str, str] = {
    "five_hour": "5-hour window",
    "seven_day": "weekly window",
    "seven_day_opus": "weekly window of Opus",
    "seven_day_sonnet": "weekly window of Sonnet",
}


def open_windows(limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """What is known of the windows; one that has been reset since says nothing any more."""
    known = limit.windows if limit else ()
    return tuple(one for one in known if one.resets_at is None or one.resets_at > now)


def near(config: UsageLimitConfig, limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows that are nearly used up, the fullest first."""
    found = [one for one in open_windows(limit, now) if one.utilization >= config.warn_at]
    return tuple(sorted(found, key=lambda one: -one.utilization))


def newly_near(
    config: UsageLimitConfig, before: RateLimit | None, after: RateLimit | None, now: datetime
) -> tuple[UsageWindow, ...]:
    """Those that were not near when last heard of: a person is told once a window."""
    known = {one.name for one in near(config, before, now)}
    return tuple(one for one in near(config, after, now) if one.name not in known)


def used_up(config: UsageLimitConfig, limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows of which the loop has used the share that it may."""
    return tuple(one for one in open_windows(limit, now) if one.utilization >= _share(config, one))


def _share(config: UsageLimitConfig, window: UsageWindow) -> float:
    share = config.pause_at_weekly if window.name.startswith(WEEKLY) else config.pause_at
    return float("inf") if share is None else share


def in_words(window: UsageWindow) -> str:
    reset = f", which resets at {window.resets_at:%Y-%m-%d %H:%M} UTC" if window.resets_at else ""
    return f"{window.utilization:.0%} of the {NAMES.get(window.name, clean(window.name) or 'usage window')} used{reset}"
