"""What is due of a plan, and what may be done side by side."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.errors import OperatorError
from helmsman.parsers.plan_order import due_item, open_needs, pick_item, rejection_reason, start_progress, with_done
from helmsman.records.plan import MOST_SKETCHED, Plan, PlanItem

pytestmark = pytest.mark.feature("M8")


def item(name: str, *needs: str, **fields: object) -> PlanItem:
    return PlanItem.model_validate({"id": name, "title": f"Do {name}", "needs": needs, "line": 1, **fields})


def plan(*items: PlanItem) -> Plan:
    return Plan(kind="toml", items=items)


def due(of: Plan, *ticked: str) -> str:
    found = due_item(with_done(of, ticked))
    return found.id if found else ""


def test_the_highest_priority_whose_prerequisites_are_done_is_due_and_the_order_of_the_file_breaks_ties() -> None:
    work = plan(item("d", priority=2), item("a", "b", priority=1), item("b", priority=3), item("c", priority=2))
    assert due(work) == "d"
    assert due(work, "d") == "c"
    assert due(work, "d", "c") == "b"
    assert due(work, "d", "c", "b") == "a"
    assert due(work, "a", "b", "c", "d") == ""
    assert open_needs(work, work.items[1]) == ("b",)


@st.composite
def graphs(draw: st.DrawFn) -> Plan:
    """Items that need earlier ones only, in any order of priorities."""
    size = draw(st.integers(1, 12))
    made: list[PlanItem] = []
    for number in range(size):
        needs = draw(st.sets(st.sampled_from([one.id for one in made]), max_size=3)) if made else set[str]()
        flags = {"parallel": draw(st.booleans()), "priority": draw(st.integers(1, 3)), "done": draw(st.booleans())}
        made.append(item(f"i{number}", *sorted(needs), **flags))
    return plan(*draw(st.permutations(made)))


@given(graphs())
def test_doing_due_items_in_order_finishes_the_plan(work: Plan) -> None:
    for _ in work.items:
        following = due_item(work)
        if following is None:
            break
        hand = pick_item(work)
        assert hand.item == following
        work = with_done(work, {following.id})
        assert hand.next == due(work)
    assert not work.left


def test_a_loop_for_a_single_item_picks_only_that() -> None:
    work = plan(item("a"), item("b", done=True), item("c", "b"))
    hand = pick_item(work, "c")
    assert (hand.item, hand.remaining, hand.left, hand.next) == (work.items[2], 1, ("c",), "")
    after = pick_item(with_done(work, {"c"}), "c")
    assert (after.item, after.remaining) == (None, 0)


@pytest.mark.parametrize(
    ("only", "complaint"),
    [("d", "not an item of plan.toml"), ("b", "is already ticked in plan.toml"), ("c", "has prerequisites that are not done")],
)
def test_an_item_that_cannot_be_worked_on_is_refused_when_the_loop_is_created(only: str, complaint: str) -> None:
    work = plan(item("a"), item("b", done=True), item("c", "a"))
    with pytest.raises(OperatorError, match=re.escape(complaint)):
        start_progress(work, only, "plan.toml")
    with pytest.raises(OperatorError, match=r"every item of plan\.toml is ticked"):
        start_progress(with_done(work, {"a", "b", "c"}), "", "plan.toml")


def test_a_plan_of_two_thousand_items_costs_no_more_than_one_of_two_hundred() -> None:
    small, large = (pick_item(plan(*(item(f"T{number}", done=number < 50) for number in range(size)))) for size in (200, 2000))
    assert len(large.model_dump_json()) - len(small.model_dump_json()) < 200
    assert len(large.sketch) == MOST_SKETCHED
    assert "T50" in {one.id for one in large.sketch}


KEPT = plan(item("a", done=True), item("b", check="make b"), item("c"))


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (plan(item("a", done=True), item("b", check="make b"), item("x"), item("y", "x")), ""),
        (plan(item("b", check="make b"), item("c")), "a was done, and is now open or missing"),
        (plan(item("a", done=True), item("b", check="true")), "b has a check, which must not change"),
        (
            plan(item("a", done=True), item("b", check="make b"), item("c", done=True)),
            "c is ticked, but only the loop ticks items",
        ),
        (plan(item("a", done=True), item("b", check="make b"), item("x", check="true")), "x has a new check"),
        (
            plan(item("a", done=True), item("b", check="make b"), item("c", verify=True)),
            "c is now only a verification item",
        ),
    ],
)
@pytest.mark.feature("M9")
def test_a_new_plan_must_keep_done_items_and_checks(after: Plan, why: str) -> None:
    found = rejection_reason(KEPT, after)
    assert found.startswith(why) if why else not found


def test_a_long_plan_is_sketched_around_its_due_items() -> None:
    waiting = [item(f"T{number}", "LAST", "LATER", priority=1) for number in range(MOST_SKETCHED + 20)]
    large = plan(*waiting, item("LATER", priority=3, verify=True), item("LAST", priority=2))
    hand = pick_item(large)
    assert (hand.item and hand.item.id, hand.next, len(hand.sketch)) == ("LAST", "LATER", MOST_SKETCHED)
    assert [one.id for one in hand.sketch][-2:] == ["LATER", "LAST"]
    smallest = pick_item(large, small=True, begun="LATER")
    assert smallest.item is not None
    assert smallest.item.id in {one.id for one in smallest.sketch}
