"""Limits of a loop and their use, usage windows of the subscription, and the resulting alerts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from helmsman.config import LimitsConfig
from helmsman.config.goals import UsageLimitConfig
from helmsman.oversee.detector import Detection, Detector
from helmsman.plain import clean
from helmsman.records.agent import RateLimit, UsageWindow
from helmsman.records.decision import Alert, Severity
from helmsman.records.state import Spending
from helmsman.texts import format_duration, format_money

WARN_AT, ALARM_AT = 0.7, 0.9  # shares of a limit at which the loop logs and warns (E6)
MANY_ITERATIONS = 50  # warn at the start about a higher limit of iterations (E6)
NEARLY_USED_UP = 0.9
"""Share of a usage window from which people are notified and small work comes first; the CLI warns at the same share of its
5-hour window."""


@dataclass(frozen=True)
class Gauge:
    """One limit and its current use."""

    name: str
    used: float
    limit: float
    unit: str

    @property
    def share(self) -> float:
        return self.used / self.limit

    @property
    def text(self) -> str:
        """`$45.68 of $50.00`, `1.4 s of 12 hours`, `3 of 30 iterations`."""
        match self.name:
            case "cost_usd":
                return f"{format_money(self.used)} of {format_money(self.limit)}"
            case "wall_clock_hours":
                return f"{format_duration(self.used * 3600)} of {self.limit:g} hours"
            case _:
                return f"{self.used:,.0f} of {self.limit:,.0f} {self.unit}"


def gauges(limits: LimitsConfig, spending: Spending, iterations: int) -> tuple[Gauge, ...]:
    """All configured limits."""
    rows = (
        ("iterations", iterations, limits.iterations, "iterations"),
        ("wall_clock_hours", spending.seconds / 3600, limits.wall_clock_hours, "hours"),
        ("cost_usd", spending.cost_usd, limits.cost_usd, "US dollars"),
        ("tokens", spending.tokens, limits.tokens, "tokens"),
    )
    return tuple(Gauge(name, used, limit, unit) for name, used, limit, unit in rows if limit is not None)


def gauges_near(limits: LimitsConfig, spending: Spending, iterations: int) -> Iterator[Detection]:
    """Limits that are near or reached, each with its highest reached threshold."""
    steps = (1.0, "", Severity.ABORT), (ALARM_AT, ".alarm", Severity.WARN), (WARN_AT, ".warn", Severity.LOG)
    for gauge in gauges(limits, spending, iterations):
        for threshold, suffix, severity in steps:
            if gauge.share >= threshold:
                message = f"{gauge.text} used ({gauge.share:.0%})"
                yield Detection(message, gauge.used, gauge.limit * threshold, severity, f"{gauge.name}{suffix}")
                break


LIMITS = Detector("limits.", Severity.ABORT, gauges_near)


def reached_limits(limits: LimitsConfig, spending: Spending, iterations: int) -> tuple[Alert, ...]:
    """Alerts for reached limits, after which nothing may be spent."""
    return tuple(alert for alert in LIMITS.alerts(limits, spending, iterations) if alert.severity is Severity.ABORT)


def many_iterations_alert(limits: LimitsConfig) -> Alert | None:
    """A warning at the start about more iterations than work usually needs."""
    allowed, usual = limits.iterations, MANY_ITERATIONS
    if allowed <= usual:
        return None
    message = f"{allowed} iterations are allowed; split work that needs more than {usual}"
    return Alert(rule="limits.many_iterations", severity=Severity.WARN, message=message, value=allowed, threshold=usual)


NAMES: Mapping[str, str] = {
    "five_hour": "5-hour window",
    "seven_day": "weekly window",
    "seven_day_opus": "weekly window of Opus",
    "seven_day_sonnet": "weekly window of Sonnet",
}


def open_windows(limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Known windows; those that have reset since are unknown again."""
    windows = limit.windows if limit else ()
    return tuple(window for window in windows if window.resets_at is None or window.resets_at > now)


def nearly_used_windows(limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows that are nearly used up, fullest first."""
    windows = [window for window in open_windows(limit, now) if window.utilization >= NEARLY_USED_UP]
    return tuple(sorted(windows, key=lambda window: -window.utilization))


def newly_nearly_used(before: RateLimit | None, after: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows that were not near in the previous report: people are notified once per window."""
    earlier = {window.name for window in nearly_used_windows(before, now)}
    return tuple(window for window in nearly_used_windows(after, now) if window.name not in earlier)


def used_up_windows(config: UsageLimitConfig, limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows in which the loop has used its allowed share."""
    share = config.pause_at
    return () if share is None else tuple(window for window in open_windows(limit, now) if window.utilization >= share)


def describe_window(window: UsageWindow) -> str:
    reset = f", which resets at {window.resets_at:%Y-%m-%d %H:%M} UTC" if window.resets_at else ""
    return f"{window.utilization:.0%} of the {NAMES.get(window.name, clean(window.name) or 'usage window')} used{reset}"
