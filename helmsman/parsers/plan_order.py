"""What a plan's items need of each other, what is due, what an iteration has in hand, and which item a line means.

The order of work is by priority, then by the order of the file.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice, takewhile

from helmsman.config.layers import did_you_mean, display
from helmsman.errors import OperatorError
from helmsman.parsers.plan_form import PlanError, slug
from helmsman.records.plan import MOST_SKETCHED, InHand, Plan, PlanItem, PlanProgress, Sketched


def with_done(plan: Plan, ids: Iterable[str]) -> Plan:
    known = frozenset(ids)
    items = (item.model_copy(update={"done": True}) if item.id in known else item for item in plan.items)
    return plan.model_copy(update={"items": tuple(items)})


def require_sound(plan: Plan) -> Plan:
    """The same plan. Raises PlanError where an id is there twice, a prerequisite is unknown, or items wait for each other."""
    lines: dict[str, int] = {}
    for item in plan.items:
        if item.id in lines:
            raise PlanError(item.line, f"the id {item.id} is there twice, on line {lines[item.id]} too")
        lines[item.id] = item.line
    for item in plan.items:
        for name in item.needs:
            if name not in lines:
                raise PlanError(item.line, f"{item.id} needs {name}, which is no item{did_you_mean(name, lines)}")
    _require_no_cycle(plan, lines)
    return plan


def _require_no_cycle(plan: Plan, lines: dict[str, int]) -> None:
    try:
        TopologicalSorter({item.id: item.needs for item in plan.items}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1][::-1]  # graphlib goes from a prerequisite to what needs it
        told = " needs ".join(circle)
        raise PlanError(lines[circle[0]], f"these items wait for each other: {told}") from None


def in_order(plan: Plan) -> list[PlanItem]:
    """All items, the highest priority first; of equals as they stand in the file."""
    return sorted(plan.items, key=lambda item: item.priority)


def due_item(plan: Plan) -> PlanItem | None:
    """The open item with the highest priority whose prerequisites are done; None where nothing is open."""
    return next(iter(_ready(plan)), None)


def small_item(plan: Plan) -> PlanItem | None:
    """Of the items that may come next the smallest, by its criteria, then by its words. None: nothing is open."""
    ready = _ready(plan)
    may = ready if any(item.needs for item in plan.items) else [*takewhile(lambda item: item.parallel, ready)] or ready[:1]
    return min(may, key=lambda item: (len(item.acceptance), len(item.title) + len(item.details)), default=None)


def open_needs(plan: Plan, item: PlanItem) -> tuple[str, ...]:
    """Prerequisites of an item that are not done."""
    left = {one.id for one in plan.left}
    return tuple(name for name in item.needs if name in left)


def _ready(plan: Plan) -> Sequence[PlanItem]:
    left = {one.id for one in plan.left}
    return [item for item in in_order(plan) if item.id in left and left.isdisjoint(item.needs)]


# --- a plan made anew ------------------------------------------------------------------------------------------------

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


# --- what an iteration has in hand: however long the plan is, it costs the same -----------------------------------------

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
        raise OperatorError(f"plan.item: {display(only)} is no item of {path}{did_you_mean(only, known)}")
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
        f"plan.item: {display(only)} is no item of {path} any more{did_you_mean(only, (one.id for one in plan.items))}",
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


# --- which item a line or a test means ----------------------------------------------------------------------------------

_BEFORE = r"(?:\[[xX]\]|[^\w])*"
"""A box that is ticked, quotes, stars."""
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")


def means(said: str, name: str, title: str) -> bool:
    """Whether it begins with the item's id or, where that was made of its title, with the title.

    An id that is but a number needs something behind it that sets it apart: `2: …` means it, `2 tests` does not.
    """
    end = r"[`*_\])]*\s*(?:[:.)\u2013\u2014-](?!\d)|$)" if name.isdigit() else r"(?![\w-]|[./]\w)"
    if re.match(rf"{_BEFORE}{re.escape(name)}{end}", said):
        return True
    wanted = _words(title)
    return bool(wanted) and slug(title) in name and _words(said)[: len(wanted)] == wanted


def noted(plan: PlanProgress, before: Iterable[str], after: Iterable[str]) -> str:
    """Id of the item in hand where an entry that was not there before means it; else empty."""
    item = next((one for one in plan.sketch if one.id == plan.now), None)
    new = Counter(after) - Counter(before)
    return plan.now if item and any(means(entry, item.id, item.title) for entry in new) else ""


def is_named_by(test: str, name: str, title: str) -> bool:
    """Whether a test's name holds the item's id (`test_us_001_login`, `testT12`), or its title where the id is but a number.

    A title of one word names nothing: too many tests have it in their names.
    """
    parts, wanted, words = _parts(test), _parts(name), _parts(title)
    by_id = any(part.isalpha() for part in wanted) and _holds(parts, wanted)
    return by_id or (len(words) > 1 and _holds(parts, words))


def _parts(text: str) -> list[str]:
    """`US-001`, `us_001` and `testUS001` have the same parts at their ends."""
    return [part.lower() for part in _PART.findall(text)]


def _holds(parts: list[str], wanted: list[str]) -> bool:
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts) - len(wanted) + 1))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
