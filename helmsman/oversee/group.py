"""Groups of loops: which are due, at most one per worker and each after its prerequisites; and the budget of the group.

Each loop is allocated a share at its start, and later loops get what it leaves. Shares of running loops plus what the others
spent never exceed the budget. So no loop needs to know about another, and a driver that dies leaves no debt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from helmsman.records.plan import PlanItem

MOST_RUNS = 3
"""Times that one run resumes the same loop: once, after its process died, and once more. After that a person decides."""


@dataclass(frozen=True)
class Member:
    """State of a loop of the group."""

    started: bool = False
    running: bool = False
    settled: bool = False  # whether it has completed, including all follow-up
    ended: bool = False  # whether it ended without completion
    runs: int = 0  # how often this run has started it
    needs: frozenset[int] = frozenset()  # positions of loops that must be settled first
    alone: bool = False  # whether it must run alone


def prerequisites(items: Sequence[PlanItem]) -> tuple[frozenset[int], ...]:
    """For each item of a plan, in order, the positions of the items that must come first.

    A plan without prerequisites is worked on in its order: only items marked as parallel run in parallel.
    """
    places = {item.id: place for place, item in enumerate(items)}
    if any(item.needs for item in items):
        return tuple(frozenset(places[name] for name in item.needs) for item in items)
    return tuple(
        frozenset(other for other in range(place) if not (item.parallel and items[other].parallel))
        for place, item in enumerate(items)
    )


def due_members(members: Sequence[Member], workers: int, *, reopen: bool) -> tuple[int, ...]:
    """Positions of the loops to run now, in order."""
    running = [member for member in members if member.running]
    if any(member.alone for member in running):
        return ()
    ready = [
        place
        for place, member in enumerate(members)
        if not member.running and not member.settled and _is_reachable(members, member)
        # loops not started or whose process died, and ended ones that are reopened, once
        if (reopen and not member.runs if member.ended else member.runs < MOST_RUNS)
    ]
    if ready and members[ready[0]].alone:
        return () if running else (ready[0],)
    side_by_side = [place for place in ready if not members[place].alone]
    return tuple(side_by_side[: max(workers - len(running), 0)])


def unreachable_members(members: Sequence[Member]) -> tuple[int, ...]:
    """Positions of loops that never started because a prerequisite was not settled."""
    return tuple(place for place, member in enumerate(members) if not member.started and not _is_reachable(members, member))


def _is_reachable(members: Sequence[Member], member: Member) -> bool:
    return all(members[place].settled for place in member.needs)


def share(budget: float, held: Sequence[float], waiting: int) -> float:
    """Budget of the next of `waiting` loops: an equal part of what `held` (spent or allocated) leaves."""
    return max(budget - sum(held), 0.0) / max(waiting, 1)
