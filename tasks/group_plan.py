"""The plan that a group of loops works on: its items as the branch has them, and a loop for each."""

from helmsman.errors import OperatorError
from helmsman.oversee.grouping import edges
from helmsman.plans.graph import in_order
from helmsman.records.chain import Link
from helmsman.records.parallel import MOST_ITEMS
from helmsman.records.plan import PlanItem
from tasks.git import Repository, commit_and_tree
from tasks.plan_file import plan_at


def planned_items(repository: Repository, file: str, into: str) -> tuple[PlanItem, ...]:
    """All items in the order of work. Raises OperatorError where loops side by side cannot do them."""
    items = tuple(in_order(plan_at(repository, _tip(repository, into), file)))
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


def done_items(repository: Repository, file: str, into: str) -> frozenset[str]:
    """Ids of what is done by now. A plan that cannot be read any more says nothing of that."""
    try:
        plan = plan_at(repository, _tip(repository, into), file)
    except OperatorError:
        return frozenset()
    return frozenset(item.id for item in plan.items if item.done)


def item_link(file: str, item: PlanItem) -> Link:
    """A loop for one item."""
    goal = "\n\n".join(part for part in (f"{item.id}: {item.title}", item.details) if part.strip())
    return Link(goal=goal, settings={"plan": {"file": file, "item": item.id}})


def _tip(repository: Repository, into: str) -> str:
    return commit_and_tree(repository.top, into or "HEAD")[0]
