"""What a loop may spend, how much it has spent, and what follows at 70, 90 and 100 %."""

from dataclasses import dataclass

from helmsman.config import LimitsConfig
from helmsman.records.state import Spending
from helmsman.records.verdict import Severity, Signal
from helmsman.texts import duration, money


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


def limit_signals(limits: LimitsConfig, spending: Spending, iterations: int) -> tuple[Signal, ...]:
    """One signal for each limit that is near or reached."""
    found = (_signal(gauge, limits) for gauge in gauges(limits, spending, iterations))
    return tuple(signal for signal in found if signal is not None)


def reached(limits: LimitsConfig, spending: Spending, iterations: int) -> tuple[Signal, ...]:
    """Of these signals, the limits beyond which nothing may be spent."""
    return tuple(signal for signal in limit_signals(limits, spending, iterations) if signal.severity is Severity.ABORT)


def many_iterations(limits: LimitsConfig) -> Signal | None:
    """A warning for the start: more iterations than usual work needs."""
    if limits.iterations <= limits.many_iterations:
        return None
    message = f"{limits.iterations} iterations are allowed; loops that need more than {limits.many_iterations} are better split"
    return Signal(
        rule="limits.many_iterations",
        severity=Severity.WARN,
        message=message,
        value=limits.iterations,
        threshold=limits.many_iterations,
    )


def _signal(gauge: Gauge, limits: LimitsConfig) -> Signal | None:
    steps = (
        (1.0, "", Severity.ABORT),
        (limits.alarm_at, ".alarm", Severity.WARN),
        (limits.warn_at, ".warn", Severity.LOG),
    )
    for threshold, suffix, severity in steps:
        if gauge.share >= threshold:
            message = f"{gauge.told} used ({gauge.share:.0%})"
            rule = f"limits.{gauge.name}{suffix}"
            return Signal(rule=rule, severity=severity, message=message, value=gauge.used, threshold=gauge.limit * threshold)
    return None
