"""What a plan's items need of each other: that it makes sense at all, what is due, and what can be done side by side.

The order of work is by priority, then by the order of the file. A plan that names no prerequisites anywhere is meant to be done
in that order: an item without the mark for parallel work then holds up whatever comes after it.
"""

from collections.abc import Collection, Iterator, Sequence
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


def independent(plan: Plan, ticked: Collection[str]) -> tuple[PlanItem, ...]:
    """Items that can be worked on side by side now, in the order of work: marked for it, prerequisites done.

    They cannot need each other: what another open item needs is open itself.
    """
    return _beside(plan, _ready(plan, _done(plan, ticked)))


def _beside(plan: Plan, ready: Sequence[PlanItem]) -> tuple[PlanItem, ...]:
    if _says_needs(plan):
        return tuple(item for item in ready if item.parallel)
    return tuple(takewhile(lambda item: item.parallel, ready))


def waves(plan: Plan, ticked: Collection[str] = ()) -> tuple[tuple[PlanItem, ...], ...]:
    """All that is open, in the groups in which it can be done: side by side what may be, each other item alone."""
    return tuple(_waves(plan, set(_done(plan, ticked))))


def _waves(plan: Plan, done: set[str]) -> Iterator[tuple[PlanItem, ...]]:
    left = [item for item in in_order(plan) if item.id not in done]
    while ready := [item for item in left if done.issuperset(item.needs)]:
        wave = _beside(plan, ready) if ready[0].parallel else (ready[0],)
        yield wave
        done |= {item.id for item in wave}
        left = [item for item in left if item.id not in done]


def _ready(plan: Plan, done: Collection[str]) -> Sequence[PlanItem]:
    return [item for item in in_order(plan) if item.id not in done and all(name in done for name in item.needs)]


def _done(plan: Plan, ticked: Collection[str]) -> frozenset[str]:
    return frozenset(ticked) | {item.id for item in plan.items if item.done}


def _says_needs(plan: Plan) -> bool:
    return any(item.needs for item in plan.items)
