"""Before the limit: what the CLI tells of the subscription's windows steers the loop."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from helmsman.orient.brief import brief
from helmsman.oversee.decide import decide
from helmsman.oversee.signals import ITERATION_DETECTORS
from helmsman.parsers.plan_order import due_item, pick_item, small_item
from helmsman.parsers.usage_limits import read_limit
from helmsman.records.agent import RateLimit, UsageWindow
from helmsman.records.plan import Plan, PlanItem
from tests.unit.builders import (
    HOUR,
    MINUTE,
    NOW,
    call,
    config,
    execution,
    orientation,
    sight,
    situation,
    state,
    usage_limited,
)

pytestmark = pytest.mark.feature("E13")


def window(share: float, name: str = "five_hour", reset: datetime | None = NOW + HOUR) -> UsageWindow:
    return UsageWindow(name=name, utilization=share, resets_at=reset)


def limit(*windows: UsageWindow) -> RateLimit:
    return RateLimit(status="allowed_warning", window="five_hour", windows=windows)


def after_a_call(*windows: UsageWindow, **usage_limit: Any) -> Any:
    of = state(config(usage_limit=usage_limit))
    return decide(situation(state=of, execution=execution(call(rate_limit=limit(*windows)))))


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


def test_at_its_share_of_a_window_the_loop_waits_for_the_reset_and_says_so() -> None:
    decision = after_a_call(window(0.85), pause_at=0.8)
    assert (decision.kind, decision.rule, decision.until) == ("wait", "usage_limit.pause_at", NOW + HOUR + MINUTE)
    assert decision.reason == (
        "85% of the 5-hour window used, which resets at 2026-11-22 13:00 UTC; the loop leaves the rest to people "
        "(usage_limit.pause_at); waiting until 2026-11-22 13:01:00 UTC"
    )
    assert not decision.repeat, "the iteration was made, and counts"


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


def test_people_are_told_once_a_window_and_again_of_the_next_one() -> None:
    def signals(before: RateLimit | None, now: RateLimit) -> list[str]:
        seen = sight(state=state(usage=before), execution=execution(call(rate_limit=now)))
        found = (one for source in ITERATION_DETECTORS for one in source.alerts(seen) if one.rule == "usage_limit.near")
        return [f"{one.severity} {one.message}" for one in found]

    first, later = limit(window(0.91)), limit(window(0.97), window(0.95, "seven_day"))
    told = "WARN 91% of the 5-hour window used, which resets at 2026-11-22 13:00 UTC; smaller items come first until then"
    assert signals(None, first) == [told]
    assert [one.split("% of the ")[1].split(" used")[0] for one in signals(first, later)] == ["weekly window"]
    assert signals(limit(window(0.99, reset=NOW - HOUR)), first) == [told]
    assert signals(None, limit(window(0.5))) == []
    seen = sight(state=state(), execution=execution(usage_limited(NOW + HOUR)))
    assert not [one for source in ITERATION_DETECTORS for one in source.alerts(seen) if one.rule == "usage_limit.near"]


def test_the_agent_is_told_to_take_small_work_as_long_as_the_window_is_not_reset() -> None:
    scarce = state(usage=limit(window(0.92)))
    assert "# This session may be cut off: a usage limit is nearly reached\n" in brief(scarce, orientation()).prompt
    assert "nearly reached" not in brief(scarce, orientation(started_at=NOW + 2 * HOUR)).prompt
    assert "nearly reached" not in brief(state(), orientation()).prompt


def item(name: str, words: int = 1, **fields: Any) -> PlanItem:
    return PlanItem.model_validate({"id": name, "title": "x" * words, **fields})


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
