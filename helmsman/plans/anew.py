"""A plan that the agent made anew, where it was asked to: what must stay as it was, or the old plan counts."""

from collections.abc import Iterator
from itertools import islice

from helmsman.records.plan import Plan, PlanItem

NAMED = 3


def objection(before: Plan, after: Plan, only: str = "") -> str:
    """Why a new plan does not count, in a clause; empty where it does. What it costs to be done stays the operator's word."""
    return "; ".join(islice(_objections(before, after, only), NAMED))


def _objections(before: Plan, after: Plan, only: str) -> Iterator[str]:
    known = {item.id: item for item in before.items}
    now = {item.id: item for item in after.items}
    for item in before.items:
        if item.done and (item.id not in now or not now[item.id].done):
            yield f"{item.id} was done and is no longer there as done"
        if not item.done and item.check and (item.id not in now or now[item.id].check != item.check):
            yield f"{item.id} has a check of its own, which has to stay"
    for item in after.items:
        yield from _of_new(item, known.get(item.id))
    if only and only not in now:
        yield f"{only} is what this loop is for, and is gone"


def _of_new(item: PlanItem, earlier: PlanItem | None) -> Iterator[str]:
    if item.done and not (earlier and earlier.done):
        yield f"{item.id} is ticked, and only the loop ticks"
    if item.check and not (earlier and earlier.check):
        yield f"{item.id} has a new check; a check of an item is its operator's to write"
    if item.verify and not (earlier and earlier.verify):
        yield f"{item.id} asks for no change any more"
