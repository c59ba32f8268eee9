"""Limits of a loop and usage windows of the subscription."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from helmsman.config import LimitsConfig
from helmsman.orient.brief import brief
from helmsman.oversee.decide import decide
from helmsman.oversee.limits import LIMITS, many_iterations_alert
from helmsman.oversee.signals import ITERATION_DETECTORS
from helmsman.parsers.plan_order import due_item, pick_item, small_item
from helmsman.parsers.usage_limits import read_limit
from helmsman.records.agent import RateLimit, UsageWindow
from helmsman.records.decision import Severity
from helmsman.records.plan import Plan, PlanItem
from helmsman.records.state import Spending
from tests.unit.builders import (
    HOUR,
    MINUTE,
    NOW,
    call,
    config,
    execution,
    iteration_view,
    orientation,
    situation,
    state,
    usage_limited,
)

NAMES = ("iterations", "wall_clock_hours", "cost_usd", "tokens")


def used_up(name: str, units: int) -> tuple[Spending, int]:
    """Spending and iterations of a loop that has used so many units of one limit."""
    spending = {
        "wall_clock_hours": Spending(seconds=units * 3600),
        "cost_usd": Spending(cost_usd=units),
        "tokens": Spending(tokens=units),
    }
    return spending.get(name, Spending()), units if name == "iterations" else 0


def limits_of(**fields: Any) -> LimitsConfig:
    unlimited = {"iterations": 10**6, "wall_clock_hours": None, "cost_usd": None, "tokens": None}
    return LimitsConfig.model_validate({**unlimited, **fields})


@pytest.mark.feature("E6")
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
            found = [(signal.rule, signal.severity) for signal in LIMITS.alerts(limits_of(**{name: 100}), spending, iterations)]
            assert found == ([(f"limits.{name}{suffix}", severity)] if severity else [])


@pytest.mark.feature("E6")
def test_a_signal_says_how_much_is_used_in_numbers() -> None:
    signal = next(LIMITS.alerts(limits_of(cost_usd=50), Spending(cost_usd=45.678), 0))
    assert signal.message == "$45.68 of $50.00 used (91%)"
    assert (signal.value, signal.threshold) == (45.678, 45)


@pytest.mark.feature("E6")
def test_more_iterations_than_usual_are_warned_of_at_the_start() -> None:
    warning = many_iterations_alert(limits_of(iterations=51))
    assert warning
    assert (warning.rule, warning.severity, warning.value, warning.threshold) == ("limits.many_iterations", Severity.WARN, 51, 50)
    assert many_iterations_alert(limits_of(iterations=50)) is None


def window(share: float, name: str = "five_hour", reset: datetime | None = NOW + HOUR) -> UsageWindow:
    return UsageWindow(name=name, utilization=share, resets_at=reset)


def limit(*windows: UsageWindow) -> RateLimit:
    return RateLimit(status="allowed_warning", window="five_hour", windows=windows)


def after_a_call(*windows: UsageWindow, **usage_limit: Any) -> Any:
    of = state(config(usage_limit=usage_limit))
    return decide(situation(state=of, execution=execution(call(rate_limit=limit(*windows)))))


@pytest.mark.feature("E13")
@pytest.mark.parametrize(
    ("info", "shares"),
    [
        ({"status": "allowed"}, []),
        ({"rateLimitType": "five_hour", "utilization": 0.5}, [("five_hour", 0.5)]),
        ({"rateLimitType": "five_hour", "surpassedThreshold": 0.75}, [("five_hour", 0.75)]),
        (
            {"unifiedWindows": {"seven_day": {"utilization": 7}, "x": {"utilization": "no"}, "y": 3, "z": {"utilization": -1}}},
            [("seven_day", 1.0)],
        ),
        ({"unifiedWindows": [1, 2]}, []),
    ],
)
def test_windows_are_read_as_far_as_they_make_sense(info: dict[str, Any], shares: list[tuple[str, float]]) -> None:
    assert [(one.name, one.utilization) for one in read_limit(info).windows] == shares


@pytest.mark.feature("E13")
def test_at_its_share_of_a_window_the_loop_waits_for_the_reset_and_says_so() -> None:
    decision = after_a_call(window(0.85), pause_at=0.8)
    assert (decision.kind, decision.rule, decision.until) == ("wait", "usage_limit.pause_at", NOW + HOUR + MINUTE)
    assert decision.reason == (
        "85% of the 5-hour window used, which resets at 2026-11-22 13:00 UTC; the loop leaves the rest to people "
        "(usage_limit.pause_at); waiting until 2026-11-22 13:01:00 UTC"
    )
    assert not decision.repeat, "the iteration was made, and counts"


@pytest.mark.feature("E13")
def test_it_waits_where_it_is_told_to_and_no_longer_than_it_may() -> None:
    cases: dict[str, tuple[tuple[UsageWindow, ...], dict[str, float], timedelta | None]] = {
        "not asked for": ((window(0.99), window(0.99, "seven_day")), {}, None),
        "room": ((window(0.79),), {"pause_at": 0.8}, None),
        "reset": ((window(0.9, reset=NOW),), {"pause_at": 0.8}, None),
        "weekly": ((window(0.9, "seven_day_opus", NOW + 48 * HOUR),), {"pause_at": 0.8}, 48 * HOUR + MINUTE),
        "the later": (
            (window(0.9), window(0.9, "seven_day", NOW + 48 * HOUR)),
            {"pause_at": 0.8},
            48 * HOUR + MINUTE,
        ),
        "at most": ((window(0.9, reset=NOW + 999 * HOUR),), {"pause_at": 0.8}, 192 * HOUR),
        "unknown reset": ((window(0.9, reset=None),), {"pause_at": 0.8}, HOUR),
    }
    for case, (windows, settings, waits) in cases.items():
        decision = after_a_call(*windows, **settings)
        assert decision.until == (None if waits is None else NOW + waits), case


@pytest.mark.feature("E13")
def test_people_are_told_once_a_window_and_again_of_the_next_one() -> None:
    def signals(before: RateLimit | None, now: RateLimit) -> list[str]:
        seen = iteration_view(state=state(usage=before), execution=execution(call(rate_limit=now)))
        found = (one for source in ITERATION_DETECTORS for one in source.alerts(seen) if one.rule == "usage_limit.near")
        return [f"{one.severity} {one.message}" for one in found]

    first, later = limit(window(0.91)), limit(window(0.97), window(0.95, "seven_day"))
    told = "WARN 91% of the 5-hour window used, which resets at 2026-11-22 13:00 UTC; smaller items come first until then"
    assert signals(None, first) == [told]
    assert [one.split("% of the ")[1].split(" used")[0] for one in signals(first, later)] == ["weekly window"]
    assert signals(limit(window(0.99, reset=NOW - HOUR)), first) == [told]
    assert signals(None, limit(window(0.5))) == []
    seen = iteration_view(state=state(), execution=execution(usage_limited(NOW + HOUR)))
    assert not [one for source in ITERATION_DETECTORS for one in source.alerts(seen) if one.rule == "usage_limit.near"]


@pytest.mark.feature("E13")
def test_the_agent_is_told_to_take_small_work_as_long_as_the_window_is_not_reset() -> None:
    scarce = state(usage=limit(window(0.92)))
    assert "# This session may be cut off: a usage limit is nearly reached\n" in brief(scarce, orientation()).prompt
    assert "nearly reached" not in brief(scarce, orientation(started_at=NOW + 2 * HOUR)).prompt
    assert "nearly reached" not in brief(state(), orientation()).prompt


def item(name: str, words: int = 1, **fields: Any) -> PlanItem:
    return PlanItem.model_validate({"id": name, "title": "x" * words, **fields})


@pytest.mark.feature("E13")
def test_of_the_items_that_may_come_next_the_smallest_comes_first() -> None:
    plan = Plan(
        kind="toml",
        items=(item("large", 90), item("small", 5), item("needs", 1, needs=("large",)), item("long", 3, acceptance=("a", "b"))),
    )
    assert (due_item(plan), small_item(plan)) == (plan.items[0], plan.items[1])
    assert pick_item(plan, small=True).item == plan.items[1]
    assert pick_item(plan, small=True, begun="large").item == plan.items[0], "what is begun is not left half done"
    assert pick_item(plan, small=True, begun="needs").item == plan.items[1]
    assert pick_item(plan, "large", small=True).item == plan.items[0]
