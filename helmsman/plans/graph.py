"""What a plan's items need of each other: that it makes sense at all, and what is due.

The order of work is by priority, then by the order of the file.
"""

from collections.abc import Collection, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile

from helmsman.layers import did_you_mean
from helmsman.plans.complaint import Complaint
from helmsman.records.plan import Plan, PlanItem


def require_sound(plan: Plan) -> Plan:
    """The same plan. Raises Complaint where an id is there twice, a prerequisite is unknown, or items wait for each other."""
    lines: dict[str, int] = {}
    for item in plan.items:
        if item.id in lines:
            raise Complaint(item.line, f"the id {item.id} is there twice, on line {lines[item.id]} too")
        lines[item.id] = item.line
    for item in plan.items:
        for name in item.needs:
            if name not in lines:
                raise Complaint(item.line, f"{item.id} needs {name}, which is no item{did_you_mean(name, lines)}")
    _require_no_cycle(plan, lines)
    return plan


def _require_no_cycle(plan: Plan, lines: dict[str, int]) -> None:
    try:
        TopologicalSorter({item.id: item.needs for item in plan.items}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1][::-1]  # graphlib goes from a prerequisite to what needs it
        told = " needs ".join(circle)
        raise Complaint(lines[circle[0]], f"these items wait for each other: {told}") from None


def in_order(plan: Plan) -> list[PlanItem]:
    """All items, the highest priority first; of equals as they stand in the file."""
    return sorted(plan.items, key=lambda item: item.priority)


def due_item(plan: Plan, ticked: Collection[str] = ()) -> PlanItem | None:
    """The open item with the highest priority whose prerequisites are done; None where nothing is open."""
    return next(iter(_ready(plan, _done(plan, ticked))), None)


def small_item(plan: Plan) -> PlanItem | None:
    """Of the items that may come next the smallest, by its criteria, then by its words. None: nothing is open."""
    ready = _ready(plan, _done(plan, ()))
    may = ready if _says_needs(plan) else [*takewhile(lambda item: item.parallel, ready)] or ready[:1]
    return min(may, key=lambda item: (len(item.acceptance), len(item.title) + len(item.details)), default=None)


def open_needs(plan: Plan, item: PlanItem, ticked: Collection[str] = ()) -> tuple[str, ...]:
    """Prerequisites of an item that are not done."""
    done = _done(plan, ticked)
    return tuple(name for name in item.needs if name not in done)


def _ready(plan: Plan, done: Collection[str]) -> Sequence[PlanItem]:
    return [item for item in in_order(plan) if item.id not in done and all(name in done for name in item.needs)]


def _done(plan: Plan, ticked: Collection[str]) -> frozenset[str]:
    return frozenset(ticked) | {item.id for item in plan.items if item.done}


def _says_needs(plan: Plan) -> bool:
    return any(item.needs for item in plan.items)
