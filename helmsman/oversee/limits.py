"""What a loop may spend and how much it has spent, and how full the windows of the subscription are, with what follows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from helmsman.config import LimitsConfig
from helmsman.config.goals import UsageLimitConfig
from helmsman.oversee.detector import Detector, Found
from helmsman.plain import clean
from helmsman.records.agent import RateLimit, UsageWindow
from helmsman.records.decision import Alert, Severity
from helmsman.records.state import Spending
from helmsman.texts import duration, money

WARN_AT, ALARM_AT = 0.7, 0.9  # shares of a limit at which the loop warns and alarms (E6)
MANY_ITERATIONS = 50  # a limit of iterations above this is warned of at the start (E6)
NEARLY_USED_UP = 0.9
"""Share of a usage window from which people are told and small work comes first; the CLI itself warns there of its 5-hour one."""


@dataclass(frozen=True)
class Gauge:
    """One limit with what is used of it."""

    name: str
    used: float
    limit: float
    unit: str

    @property
    def share(self) -> float:
        return self.used / self.limit

    @property
    def told(self) -> str:
        """`$45.68 of $50.00`, `1.4 s of 12 hours`, `3 of 30 iterations`."""
        match self.name:
            case "cost_usd":
                return f"{money(self.used)} of {money(self.limit)}"
            case "wall_clock_hours":
                return f"{duration(self.used * 3600)} of {self.limit:g} hours"
            case _:
                return f"{self.used:,.0f} of {self.limit:,.0f} {self.unit}"


def gauges(limits: LimitsConfig, spending: Spending, iterations: int) -> tuple[Gauge, ...]:
    """Every limit that is set."""
    rows = (
        ("iterations", iterations, limits.iterations, "iterations"),
        ("wall_clock_hours", spending.seconds / 3600, limits.wall_clock_hours, "hours"),
        ("cost_usd", spending.cost_usd, limits.cost_usd, "US dollars"),
        ("tokens", spending.tokens, limits.tokens, "tokens"),
    )
    return tuple(Gauge(name, used, limit, unit) for name, used, limit, unit in rows if limit is not None)


def gauges_near(limits: LimitsConfig, spending: Spending, iterations: int) -> Iterator[Found]:
    """The limits that are near or reached, each by the highest of its thresholds that is."""
    steps = (1.0, "", Severity.ABORT), (ALARM_AT, ".alarm", Severity.WARN), (WARN_AT, ".warn", Severity.LOG)
    for gauge in gauges(limits, spending, iterations):
        for threshold, suffix, severity in steps:
            if gauge.share >= threshold:
                message = f"{gauge.told} used ({gauge.share:.0%})"
                yield Found(message, gauge.used, gauge.limit * threshold, severity, f"{gauge.name}{suffix}")
                break


LIMITS = Detector("limits.", Severity.ABORT, gauges_near)


def reached(limits: LimitsConfig, spending: Spending, iterations: int) -> tuple[Alert, ...]:
    """Of these signals, the limits beyond which nothing may be spent."""
    return tuple(signal for signal in LIMITS.alerts(limits, spending, iterations) if signal.severity is Severity.ABORT)


def many_iterations(limits: LimitsConfig) -> Alert | None:
    """A warning for the start: more iterations than usual work needs."""
    given, most = limits.iterations, MANY_ITERATIONS
    if given <= most:
        return None
    message = f"{given} iterations are allowed; loops that need more than {most} are better split"
    return Alert(rule="limits.many_iterations", severity=Severity.WARN, message=message, value=given, threshold=most)


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


def near(limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows that are nearly used up, the fullest first."""
    found = [one for one in open_windows(limit, now) if one.utilization >= NEARLY_USED_UP]
    return tuple(sorted(found, key=lambda one: -one.utilization))


def newly_near(before: RateLimit | None, after: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Those that were not near when last heard of: a person is told once a window."""
    known = {one.name for one in near(before, now)}
    return tuple(one for one in near(after, now) if one.name not in known)


def used_up(config: UsageLimitConfig, limit: RateLimit | None, now: datetime) -> tuple[UsageWindow, ...]:
    """Windows of which the loop has used the share that it may."""
    share = config.pause_at
    return () if share is None else tuple(one for one in open_windows(limit, now) if one.utilization >= share)


def in_words(window: UsageWindow) -> str:
    reset = f", which resets at {window.resets_at:%Y-%m-%d %H:%M} UTC" if window.resets_at else ""
    return f"{window.utilization:.0%} of the {NAMES.get(window.name, clean(window.name) or 'usage window')} used{reset}"
