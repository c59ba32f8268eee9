"""Groups of loops: which are due, as many at once as there are workers, each after those that it needs; and their shared budget.

Each is given a share as it begins, and what one leaves over goes to those after it. The shares of all that are at work and what
the others have spent never come to more than the budget. So no loop has to know of another, and a driver that dies leaves no
debt behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from helmsman.records.plan import PlanItem

MOST_DRIVES = 3
"""Times that one run takes up the same loop: once, after its process died, and once more. Who dies again is left to a person."""


@dataclass(frozen=True)
class Member:
    """A loop of the group as it stands."""

    begun: bool = False
    at_work: bool = False
    through: bool = True  # whether nothing of its own is left to do where somebody else does its work
    settled: bool = False  # whether it has completed, and nothing of that is left to do
    ended: bool = False  # whether it has ended in another way
    driven: int = 0  # how often this run has driven it
    needs: frozenset[int] = frozenset()  # places of those that have to be settled first
    alone: bool = False  # whether no other may be at work beside it


def edges(items: Sequence[PlanItem]) -> tuple[frozenset[int], ...]:
    """For each item of a plan, in the order of work, the places of those that it comes after.

    A plan that names no prerequisites is meant to be done in its order: only what is marked for it is done side by side.
    """
    places = {item.id: place for place, item in enumerate(items)}
    if any(item.needs for item in items):
        return tuple(frozenset(places[name] for name in item.needs) for item in items)
    return tuple(
        frozenset(other for other in range(place) if not (item.parallel and items[other].parallel))
        for place, item in enumerate(items)
    )


def due(members: Sequence[Member], workers: int, *, reopen: bool) -> tuple[int, ...]:
    """Places of the loops that are to be driven now, in order."""
    at_work = [member for member in members if member.at_work]
    if any(member.alone for member in at_work):
        return ()
    ready = [
        place
        for place, one in enumerate(members)
        if not one.at_work and not one.settled and _reachable(members, one)
        # what has not begun, or whose process died; else what is opened again, once
        if (reopen and not one.driven if one.ended else one.driven < MOST_DRIVES)
    ]
    if ready and members[ready[0]].alone:
        return () if at_work else (ready[0],)
    side_by_side = [place for place in ready if not members[place].alone]
    return tuple(side_by_side[: max(workers - len(at_work), 0)])


def unreached(members: Sequence[Member]) -> tuple[int, ...]:
    """Places of the loops that never began because one that they need was not settled."""
    return tuple(place for place, member in enumerate(members) if not member.begun and not _reachable(members, member))


def _reachable(members: Sequence[Member], member: Member) -> bool:
    return all(members[place].settled for place in member.needs)


def share(budget: float, held: Sequence[float], waiting: int) -> float:
    """What the next of `waiting` loops may spend: an equal part of what `held` (spent, or may be spent) leaves."""
    return max(budget - sum(held), 0.0) / max(waiting, 1)
