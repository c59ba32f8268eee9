"""Warnings before the start of a goal that nothing can prove."""

from typing import Any

import pytest

from helmsman.oversee.summary import GREEN, NO_CHECK, NOTHING_ELSE, start_warnings
from helmsman.records.plan import PlanItem
from helmsman.render.lines import start_lines
from tests.unit.builders import check, config, report

JUDGE: dict[str, Any] = {"judge": {"criteria": ["it is good"]}}
ITEMS = tuple(PlanItem(id=f"T{number}", title="x") for number in range(1, 5))
WITH_CHECK = PlanItem(id="T0", title="x", check="make x")
DONE = PlanItem(id="T9", title="x", done=True)
PASSED, FAILED = report(check(passed=True)), report(check(passed=False))


@pytest.mark.parametrize(
    ("sections", "found", "items", "said"),
    [
        ({}, PASSED, (), [NOTHING_ELSE]),
        (JUDGE, PASSED, (), [GREEN]),
        ({}, PASSED, (WITH_CHECK,), [GREEN]),
        ({}, FAILED, (), []),
        ({}, None, (), []),
        ({"checks": (), "allow_no_checks": True}, None, (), [NO_CHECK]),
        ({"checks": (), **JUDGE}, None, (), []),
    ],
)
def test_a_goal_that_no_check_and_no_criterion_touches_is_warned_of(
    sections: dict[str, Any], found: Any, items: tuple[PlanItem, ...], said: list[str]
) -> None:
    assert list(start_warnings(config(**sections), found, items)) == said


@pytest.mark.feature("M8")
@pytest.mark.parametrize(
    ("sections", "items", "said"),
    [
        ({}, ITEMS, "4 of 4 items have no check: a person will be asked, unless a test names the item (T1, T2, T3 and 1 more)"),
        (JUDGE, ITEMS, "4 of 4 items have no check: they will be judged, unless a test names the item (T1, T2, T3 and 1 more)"),
        (
            {},
            (WITH_CHECK, ITEMS[0], DONE),
            "1 of 2 items has no check: a person will be asked, unless a test names the item (T1)",
        ),
    ],
)
def test_items_without_a_check_are_counted_and_named(sections: dict[str, Any], items: tuple[PlanItem, ...], said: str) -> None:
    assert list(start_warnings(config(**sections), FAILED, items)) == [said]
    assert list(start_lines(None, (said,))) == ["#0  before any work", f"    warn       {said}"]
