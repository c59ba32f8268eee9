"""A plan: items of work done one after the other, and the progress of a loop."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from helmsman.config.goals import Kind
from helmsman.records.base import Record
from helmsman.records.checks import CheckResult

MOST_ITEMS = 2_000
"""Items of a plan; a longer one is no plan for one loop."""
LONGEST_ID = 60
LAST_RANK = 1_000
"""Rank of an item without one."""
MOST_SKETCHED = 80
"""Items that fit into a diagram."""


class ItemSketch(Record):
    """Summary of an item, for diagrams and tables."""

    id: str
    title: str
    needs: tuple[str, ...] = ()
    done: bool = False
    parallel: bool = False
    """Whether another loop may work on it in parallel."""
    verify: bool = False
    """Whether it only verifies, and need not change anything."""


class PlanItem(ItemSketch):
    """One piece of work that can be proven by itself."""

    details: str = ""
    acceptance: tuple[str, ...] = ()
    priority: int = LAST_RANK
    """1 comes first."""
    check: str = ""
    line: int = 0


class Plan(Record):
    kind: Kind
    items: tuple[PlanItem, ...] = ()

    def item(self, name: str) -> PlanItem | None:
        return next((item for item in self.items if item.id == name), None)

    @property
    def left(self) -> tuple[PlanItem, ...]:
        """Items not done yet."""
        return tuple(item for item in self.items if not item.done)


class CurrentItem(Record):
    """The part of a plan for an iteration: the current item, and what else is left."""

    item: PlanItem | None = None
    total: int = 0
    done: int = 0
    left: tuple[str, ...] = ()
    """Ids of the open items of this loop, the current one included; the first 20."""
    remaining: int = 0
    next: str = ""
    anew: bool = False
    """Whether the agent may rewrite open items, because its approach has failed."""
    sketch: tuple[ItemSketch, ...] = ()
    """The plan around the current item, 80 items at most."""


class PlanEdit(Record):
    """The agent's changes of the plan's file, which it does not own."""

    kept: bool = False
    """Whether its new plan counts, because it was requested and is valid. Otherwise the file was restored."""
    why: str


class ItemProof(Record):
    """Whether the current item is proven, and what is missing if not."""

    item: str
    title: str = ""
    proven: bool = False
    missing: tuple[str, ...] = ()
    needs_word: bool = False
    """Whether only the approval of a judge or a person is missing, and the agent asks for it."""
    tried: bool = True
    """Whether the iteration counts as an attempt, because the agent worked on the item."""

    @property
    def why(self) -> str:
        return "; ".join(self.missing)


class Tick(Record):
    """A tick in the plan's file, in its own commit."""

    item: str
    commit: str
    tree: str


class PlanProgress(Record):
    """Progress of a loop with its plan. The file on its branch says what is done; this holds evidence and attempts."""

    total: int = 0
    done: int = 0
    now: str = ""
    """Id of the last or next item; empty: none."""
    tries: dict[str, int] = Field(default_factory=dict[str, int])
    missing: str = ""
    changed: bool = False
    """Whether an earlier attempt at the current item changed files that are on the branch."""
    noted: bool = False
    own: CheckResult | None = None
    ticked: dict[str, int] = Field(default_factory=dict[str, int])
    green_before: tuple[str, ...] = ()
    """Ticked items whose check passed before they were worked on, 20 at most."""
    floor: dict[str, int] = Field(default_factory=dict[str, int])
    """By check command: how many tests failed at the last tick or else at the beginning; 0: it passed, -1: not known how many."""
    touched: PlanEdit | None = None
    sketch: tuple[ItemSketch, ...] = ()

    @property
    def tried(self) -> int:
        """Iterations spent on the current item."""
        return self.tries.get(self.now, 0)

    def accept_current_item(self, iteration: int) -> "PlanProgress":
        """Mark the current item as done, as decided by a person."""
        tries = {name: times for name, times in self.tries.items() if name != self.now}
        done = {"done": self.done + 1, "ticked": {**self.ticked, self.now: iteration}}
        sketch = update_sketch(self.sketch, {self.now}, ())
        return self.model_copy(update={"now": "", "tries": tries, "sketch": sketch, **done, **UNTRIED_ITEM})

    def without(self, undone: Collection[int]) -> "PlanProgress":
        """The plan after the work of those iterations, with its ticks, left the branch."""
        lost = {name for name, iteration in self.ticked.items() if iteration in undone}
        if not lost:
            return self
        ticked = {name: iteration for name, iteration in self.ticked.items() if name not in lost}
        sketch = update_sketch(self.sketch, (), lost)
        return self.model_copy(update={"done": self.done - len(lost), "ticked": ticked, "floor": {}, "sketch": sketch})


UNTRIED_ITEM: Mapping[str, Any] = {"missing": "", "changed": False, "noted": False, "own": None}
"""State of an item that nobody has worked on."""


def update_sketch(before: Sequence[ItemSketch], won: Collection[str], lost: Collection[str]) -> tuple[ItemSketch, ...]:
    return tuple(item.model_copy(update={"done": (item.done or item.id in won) and item.id not in lost}) for item in before)
