"""Order of a plan's items: dependencies, the next item, the current item, and references to items in text.

Work is ordered by priority, then by position in the file.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice, takewhile

from helmsman.config.layers import did_you_mean, display
from helmsman.errors import OperatorError
from helmsman.parsers.plan_form import PlanError, slug
from helmsman.plain import shorten
from helmsman.records.plan import MOST_SKETCHED, CurrentItem, ItemSketch, Plan, PlanItem, PlanProgress


def with_done(plan: Plan, ids: Iterable[str]) -> Plan:
    done = frozenset(ids)
    items = (item.model_copy(update={"done": True}) if item.id in done else item for item in plan.items)
    return plan.model_copy(update={"items": tuple(items)})


def validate_plan(plan: Plan) -> Plan:
    """Return the plan unchanged. Raises PlanError for a duplicate id, an unknown prerequisite, or a dependency cycle."""
    lines: dict[str, int] = {}
    for item in plan.items:
        if item.id in lines:
            raise PlanError(item.line, f"the id {item.id} appears twice")
        lines[item.id] = item.line
    for item in plan.items:
        if unknown := next((name for name in item.needs if name not in lines), None):
            raise PlanError(item.line, f"{item.id} needs {unknown}, which is not an item{did_you_mean(unknown, lines)}")
    try:
        TopologicalSorter({item.id: item.needs for item in plan.items}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1][::-1]  # graphlib orders from prerequisite to dependent
        raise PlanError(lines[circle[0]], f"dependency cycle: {' needs '.join(circle)}") from None
    return plan


def in_order(plan: Plan) -> list[PlanItem]:
    """Return all items by priority, then by position in the file."""
    return sorted(plan.items, key=lambda item: item.priority)


def due_item(plan: Plan) -> PlanItem | None:
    """Return the open item with the highest priority whose prerequisites are done; None if nothing is open."""
    return next(iter(_ready_items(plan)), None)


def small_item(plan: Plan) -> PlanItem | None:
    """Return the smallest item that may come next, by number of criteria, then by length. None if nothing is open."""
    ready = _ready_items(plan)
    may = ready if any(item.needs for item in plan.items) else [*takewhile(lambda item: item.parallel, ready)] or ready[:1]
    return min(may, key=lambda item: (len(item.acceptance), len(item.title) + len(item.details)), default=None)


def open_needs(plan: Plan, item: PlanItem) -> tuple[str, ...]:
    """Return the prerequisites of an item that are not done."""
    left = {other.id for other in plan.left}
    return tuple(name for name in item.needs if name in left)


def _ready_items(plan: Plan) -> Sequence[PlanItem]:
    left = {item.id for item in plan.left}
    return [item for item in in_order(plan) if item.id in left and left.isdisjoint(item.needs)]


# --- replacing a plan ------------------------------------------------------------------------------------------------

OBJECTIONS = 3


def rejection_reason(before: Plan, after: Plan, only: str = "") -> str:
    """Return why a new plan is rejected, as a clause; empty if accepted. Only the operator may lower requirements."""
    return "; ".join(islice(_plan_objections(before, after, only), OBJECTIONS))


def _plan_objections(before: Plan, after: Plan, only: str) -> Iterator[str]:
    for item in before.items:
        now = after.item(item.id)
        if item.done and not (now and now.done):
            yield f"{item.id} was done, and is now open or missing"
        if not item.done and item.check and not (now and now.check == item.check):
            yield f"{item.id} has a check, which must not change"
    for item in after.items:
        earlier = before.item(item.id)
        if item.done and not (earlier and earlier.done):
            yield f"{item.id} is ticked, but only the loop ticks items"
        if item.check and not (earlier and earlier.check):
            yield f"{item.id} has a new check; only the operator writes checks of items"
        if item.verify and not (earlier and earlier.verify):
            yield f"{item.id} is now only a verification item"
    if only and after.item(only) is None:
        yield f"{only}, the item of this loop, was removed"


# --- the current item of an iteration, at a cost independent of the plan's length ---------------------------------------

LEFT_NAMED = 20
SKETCHED_TITLE = 60
DONE_SKETCHED = MOST_SKETCHED // 4
"""For a plan too long to sketch: number of last done items; the rest of the sketch shows the next items."""


def pick_item(plan: Plan, only: str = "", *, anew: bool = False, small: bool = False, begun: str = "") -> CurrentItem:
    """Return the next item with its context. `only`: id of the single item that the loop is for.

    `small`: choose the smallest item that may come next, unless the item `begun` is still open.
    """
    left = [item for item in in_order(plan) if not item.done and only in {"", item.id}]
    item = left[0] if only and left else None if only else due_item(plan)
    if small and not only:
        current = plan.item(begun)
        item = current if current and not current.done and not open_needs(plan, current) else small_item(plan)
    after = due_item(with_done(plan, {item.id})) if item and not only else None
    return CurrentItem(
        item=item,
        total=len(plan.items),
        done=len(plan.items) - len(plan.left),
        left=tuple(item_left.id for item_left in left[:LEFT_NAMED]),
        remaining=len(left),
        next=after.id if after else "",
        anew=anew,
        sketch=_sketch(plan, [due for due in (item, after) if due]),
    )


def _sketch(plan: Plan, due: Sequence[PlanItem]) -> tuple[ItemSketch, ...]:
    """Return a short form of the plan in file order; for a long plan, only the items around the next ones.

    The next items take precedence: more items than fit may depend on them and have a higher priority.
    """
    names = {item.id for item in plan.items}
    if len(names) > MOST_SKETCHED:
        done = [item.id for item in plan.items if item.done][-DONE_SKETCHED:]
        coming = dict.fromkeys(item.id for item in (*due, *in_order(plan)) if not item.done)
        names = {*done, *list(coming)[: MOST_SKETCHED - len(done)]}
    return tuple(
        ItemSketch(
            **item.model_dump(include={"id", "done", "parallel", "verify"}),
            title=shorten(item.title, SKETCHED_TITLE),
            needs=tuple(name for name in item.needs if name in names),
        )
        for item in plan.items
        if item.id in names
    )


def start_progress(plan: Plan, only: str, path: str) -> PlanProgress:
    """Return a new loop's progress in its plan. Raises OperatorError if nothing can be done, or not yet."""
    item = plan.item(only)
    if only and item is None:
        ids = (other.id for other in plan.items)
        raise OperatorError(f"plan.item: {display(only)} is not an item of {path}{did_you_mean(only, ids)}")
    if item and item.done:
        raise OperatorError(f"plan.item: {only} is already ticked in {path}, so there is nothing to do")
    if item and (missing := open_needs(plan, item)):
        open_ids = ", ".join(missing[:LEFT_NAMED])
        raise OperatorError(f"plan.item: {only} has prerequisites that are not done", found=open_ids, remedy="do those first")
    if not plan.left:
        raise OperatorError(
            f"every item of {path} is ticked, so there is nothing to do",
            remedy="add an item, or untick one; to work without a plan: helmsman run … --set plan.file=",
        )
    hand = pick_item(plan, only)
    return PlanProgress(total=hand.total, done=hand.done, now=hand.item.id if hand.item else "", sketch=hand.sketch)


def missing_item_error(plan: Plan, only: str, path: str, loop: str) -> OperatorError:
    """Return the error for a loop whose single item is no longer in the plan, so that its state is unknown."""
    return OperatorError(
        f"plan.item: {display(only)} is no longer an item of {path}{did_you_mean(only, (item.id for item in plan.items))}",
        expected="the item that this loop was started for",
        found=f"{len(plan.items)} other items",
        remedy=f"restore it on the loop's branch, or name another: helmsman resume {loop} --set plan.item=…",
    )


# --- references to items in lines and tests -----------------------------------------------------------------------------

_LEADING_MARKS = r"(?:\[[xX]\]|[^\w])*"  # ticked box, quotes, asterisks
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")


def refers_to(line: str, name: str, title: str) -> bool:
    """Whether a line begins with the item's id or, if the id was derived from the title, with the title.

    A numeric id needs a separator after it: `2: …` refers to it, `2 tests` does not.
    """
    end = r"[`*_\])]*\s*(?:[:.)\u2013\u2014-](?!\d)|$)" if name.isdigit() else r"(?![\w-]|[./]\w)"
    if re.match(rf"{_LEADING_MARKS}{re.escape(name)}{end}", line):
        return True
    line_words, title_words = (re.findall(r"\w+", text.lower()) for text in (line, title))
    return bool(title_words) and slug(title) in name and line_words[: len(title_words)] == title_words


def noted_item(plan: PlanProgress, before: Iterable[str], after: Iterable[str]) -> str:
    """Return the current item's id if a new entry refers to it; otherwise an empty string."""
    item = next((sketched for sketched in plan.sketch if sketched.id == plan.now), None)
    new = Counter(after) - Counter(before)
    return plan.now if item and any(refers_to(entry, item.id, item.title) for entry in new) else ""


def is_named_by(test: str, name: str, title: str) -> bool:
    """Whether a test's name contains the item's id (`test_us_001_login`, `testT12`), or its title if the id is a number.

    Both are compared by their parts: `US-001`, `us_001` and `testUS001` end with the same parts. A title of one word does not
    count: too many tests contain it.
    """
    parts, *wanted_parts = ([part.lower() for part in _PART.findall(text)] for text in (test, name, title))
    is_distinctive = [any(part.isalpha() for part in wanted_parts[0]), len(wanted_parts[1]) > 1]
    return any(
        distinctive and any(parts[at : at + len(wanted)] == wanted for at in range(len(parts) - len(wanted) + 1))
        for distinctive, wanted in zip(is_distinctive, wanted_parts, strict=True)
    )
