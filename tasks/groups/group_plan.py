"""The plan that a group of loops works on: its items as the branch has them, and a loop for each."""

import hashlib
import re
from collections.abc import Sequence

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, TransientError
from helmsman.oversee.group import edges
from helmsman.parsers.plan_order import in_order
from helmsman.records.plan import PlanItem
from helmsman.records.request import LONGEST_LOOP_ID, MOST_ITEMS
from tasks.loop.merge_target import find_target
from tasks.repository.git import Repository, commit_and_tree, read_ref
from tasks.repository.plan import plan_at

MARK = 6  # characters that tell two ids apart which look alike once they are part of a loop's name


def planned_items(repository: Repository, config: LoopConfig, group: str) -> tuple[PlanItem, ...]:
    """All items in the order of work. Raises OperatorError where loops side by side cannot do them."""
    file, into = config.plan.file, config.merge.into
    items = tuple(in_order(plan_at(repository, tip(repository, config, group), file)))
    if len(items) > MOST_ITEMS:
        raise OperatorError(
            "the plan is too long for a group", expected=f"{MOST_ITEMS} items at most", found=f"{len(items)} in {file}",
            remedy="one loop can follow it: helmsman run --plan; or cut it",
        )  # fmt: skip
    waits = next((items[place] for place, needs in enumerate(edges(items)) if needs and not items[place].done), None)
    if waits is not None and not into:
        raise OperatorError(
            f"item {waits.id} of {file} comes after others, whose work its loop would not have",
            expected="a branch that the work of each is merged into",
            remedy="give one: --merge BRANCH; or mark what is independent with [P]",
        )
    return items


def done_items(repository: Repository, config: LoopConfig, group: str) -> frozenset[str]:
    """Ids of what is done by now. A plan that cannot be read any more says nothing of that."""
    try:
        plan = plan_at(repository, tip(repository, config, group), config.plan.file)
    except OperatorError:
        return frozenset()
    return frozenset(item.id for item in plan.items if item.done)


def item_names(group: str, items: Sequence[PlanItem]) -> tuple[str, ...]:
    """Ids of their loops, which stay the same wherever an item stands in its plan."""
    given: dict[str, None] = {}
    for item in items:
        name = f"{group}-{re.sub(r'[^a-z0-9]+', '-', item.id.lower()).strip('-')}".strip("-")
        if len(name) > LONGEST_LOOP_ID or name in given or name == group:
            mark = hashlib.sha256(item.id.encode()).hexdigest()[:MARK]
            name = f"{name[: LONGEST_LOOP_ID - MARK - 1].strip('-')}-{mark}"
        given[name] = None
    return tuple(given)


def tip(repository: Repository, config: LoopConfig, group: str) -> str:
    """The commit that a new loop begins with: of the branch that others' work is merged into, where it is merged."""
    into, remote = config.merge.into, config.remote.name
    if not into:
        return commit_and_tree(repository.top, "HEAD")[0]
    try:
        return find_target(repository, config, group).base
    except TransientError:  # what was known of the remote last will do: nothing is merged without asking it
        known = (f"refs/remotes/{remote}/{into}", f"refs/heads/{into}")
        found = next((commit for ref in known if (commit := read_ref(repository.common, ref))), None)
        if found is None:
            raise
        return found
