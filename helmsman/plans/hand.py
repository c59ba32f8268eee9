"""What an iteration has in hand of a plan. However long the plan is, it costs the same."""

from collections.abc import Collection, Sequence

from helmsman.errors import OperatorError
from helmsman.layers import did_you_mean, shown
from helmsman.plans.files import with_done
from helmsman.plans.graph import due_item, in_order, open_needs, small_item
from helmsman.records.plan import MOST_SKETCHED, InHand, Plan, PlanItem, PlanProgress, Sketched

LEFT_NAMED = 20
SKETCHED_TITLE = 60
DONE_SKETCHED = MOST_SKETCHED // 4
"""Of a plan that is too long for a picture: so many of what was done last, and the rest of what comes next."""


def in_hand(plan: Plan, only: str = "", *, anew: bool = False, small: bool = False, begun: str = "") -> InHand:
    """The item that is due. `only`: the id of the one item that the loop is for.

    `small`: the smallest of those that may come next, unless one is `begun` and still open.
    """
    left = [item for item in in_order(plan) if not item.done and only in {"", item.id}]
    item = next(iter(left), None) if only else _due(plan, begun) if small else due_item(plan)
    after = due_item(with_done(plan, {item.id})) if item and not only else None
    return InHand(
        item=item,
        total=len(plan.items),
        done=len(plan.items) - len(plan.left),
        left=tuple(one.id for one in left[:LEFT_NAMED]),
        remaining=len(left),
        next=after.id if after else "",
        anew=anew,
        sketch=_sketch(plan, [one for one in (item, after) if one]),
    )


def _due(plan: Plan, begun: str) -> PlanItem | None:
    item = plan.item(begun)
    return item if item and not item.done and not open_needs(plan, item) else small_item(plan)


def beginning(plan: Plan, only: str, path: str) -> PlanProgress:
    """How a new loop stands with its plan. Raises OperatorError where there is nothing to do, or not yet."""
    if only:
        _require_due(plan, only, path)
    if not plan.left:
        raise OperatorError(
            f"every item of {path} is ticked, so there is nothing to do",
            remedy="add what is to be done, or untick it; for work without a plan: helmsman run … --set plan.file=",
        )
    hand = in_hand(plan, only)
    return PlanProgress(total=hand.total, done=hand.done, now=hand.item.id if hand.item else "", sketch=hand.sketch)


def _require_due(plan: Plan, only: str, path: str) -> None:
    item = plan.item(only)
    if item is None:
        known = (one.id for one in plan.items)
        raise OperatorError(f"plan.item: {shown(only)} is no item of {path}{did_you_mean(only, known)}")
    if item.done:
        raise OperatorError(f"plan.item: {only} is ticked in {path} already, so there is nothing to do")
    missing = open_needs(plan, item)
    if missing:
        raise OperatorError(
            f"plan.item: {only} needs what is not done yet", found=", ".join(missing[:LEFT_NAMED]), remedy="do that first"
        )


def gone(plan: Plan, only: str, path: str, loop: str) -> OperatorError:
    """The one item that a loop is for has left its plan: whether it is done nobody can say any more."""
    return OperatorError(
        f"plan.item: {shown(only)} is no item of {path} any more{did_you_mean(only, (one.id for one in plan.items))}",
        expected="the item that this loop was made for",
        found=f"{len(plan.items)} others",
        remedy=f"put it back on the loop's branch, or name another: helmsman resume {loop} --set plan.item=…",
    )


def _sketch(plan: Plan, due: Sequence[PlanItem]) -> tuple[Sketched, ...]:
    """The plan in short, in the order of the file; of a long one what is around the items that are due."""
    chosen = _around(plan, due)
    names = {item.id for item in chosen}
    return tuple(_sketched(item, names) for item in chosen)


def _around(plan: Plan, due: Sequence[PlanItem]) -> Sequence[PlanItem]:
    """What is due first of all: more than can be shown may wait for it although it ranks higher."""
    if len(plan.items) <= MOST_SKETCHED:
        return plan.items
    done = [item.id for item in plan.items if item.done][-DONE_SKETCHED:]
    coming = dict.fromkeys(item.id for item in (*due, *in_order(plan)) if not item.done)
    wanted = {*done, *list(coming)[: MOST_SKETCHED - len(done)]}
    return [item for item in plan.items if item.id in wanted]


def _sketched(item: PlanItem, names: Collection[str]) -> Sketched:
    title = item.title if len(item.title) <= SKETCHED_TITLE else f"{item.title[: SKETCHED_TITLE - 1]}…"
    return Sketched(
        id=item.id,
        title=title,
        needs=tuple(name for name in item.needs if name in names),
        done=item.done,
        parallel=item.parallel,
        verify=item.verify,
    )
