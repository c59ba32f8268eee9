"""Near a limit, at a limit, beyond it."""

from typing import Any

import pytest

from helmsman.config import LimitsConfig
from helmsman.oversee.limits import LIMITS, many_iterations_alert
from helmsman.records.decision import Severity
from helmsman.records.state import Spending

pytestmark = pytest.mark.feature("E6")
NAMES = ("iterations", "wall_clock_hours", "cost_usd", "tokens")


def used_up(name: str, units: int) -> tuple[Spending, int]:
    """Spending and iterations of a loop that has used so many units of one limit."""
    spending = {
        "wall_clock_hours": Spending(seconds=units * 3600),
        "cost_usd": Spending(cost_usd=units),
        "tokens": Spending(tokens=units),
    }
    return spending.get(name, Spending()), units if name == "iterations" else 0


def limits(**fields: Any) -> LimitsConfig:
    unlimited = {"iterations": 10**6, "wall_clock_hours": None, "cost_usd": None, "tokens": None}
    return LimitsConfig.model_validate({**unlimited, **fields})


def test_a_limit_warns_at_70_alarms_at_90_and_stops_at_100_percent() -> None:
    for used, suffix, severity in [
        (69, None, None),
        (70, ".warn", Severity.LOG),
        (89, ".warn", Severity.LOG),
        (90, ".alarm", Severity.WARN),
        (99, ".alarm", Severity.WARN),
        (100, "", Severity.ABORT),
        (250, "", Severity.ABORT),
    ]:
        for name in NAMES:
            spending, iterations = used_up(name, used)
            found = [(signal.rule, signal.severity) for signal in LIMITS.alerts(limits(**{name: 100}), spending, iterations)]
            assert found == ([(f"limits.{name}{suffix}", severity)] if severity else [])


def test_a_signal_says_how_much_is_used_in_numbers() -> None:
    signal = next(LIMITS.alerts(limits(cost_usd=50), Spending(cost_usd=45.678), 0))
    assert signal.message == "$45.68 of $50.00 used (91%)"
    assert (signal.value, signal.threshold) == (45.678, 45)


def test_more_iterations_than_usual_are_warned_of_at_the_start() -> None:
    warning = many_iterations_alert(limits(iterations=51))
    assert warning
    assert (warning.rule, warning.severity, warning.value, warning.threshold) == ("limits.many_iterations", Severity.WARN, 51, 50)
    assert many_iterations_alert(limits(iterations=50)) is None
