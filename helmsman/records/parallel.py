"""ParallelRequest: loops side by side, with one goal and different approaches, or with goals that do not need each other."""

from typing import Any

from pydantic import Field

from helmsman.naming import LOOP_ID
from helmsman.records.base import Record
from helmsman.records.chain import LONGEST_CHAIN_ID, Link
from helmsman.records.request import Request
from helmsman.records.verdict import Outcome

MOST_LOOPS = 50
MOST_ITEMS = 200
"""Of a plan that a group works on."""
MOST_WORKERS = 32


class ParallelRequest(Request):
    """Start loops side by side, or go on with them."""

    repository: str = Field(min_length=1)
    """Path of the repository on the machine that runs the loops."""
    group: str = Field(pattern=LOOP_ID, max_length=LONGEST_CHAIN_ID)
    """Its id; its loops are called `ID-1`, `ID-2`…, or after the items of a plan. A group that was begun is gone on with: what
    has completed is left alone."""
    loops: tuple[Link, ...] = Field(default=(), max_length=MOST_LOOPS)
    """Empty: the items of the plan (`settings.plan.file`), a loop for each that is not done."""
    workers: int = Field(default=4, ge=1, le=MOST_WORKERS)
    """Loops that are driven at the same time."""
    best: bool = False
    """Of all that complete, choose one: only that one is merged, where something is."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further configuration of all loops. `limits.cost_usd` and `limits.tokens` are what all of them may spend together."""
    reopen: bool = False
    """Go on with a loop of it that has ended without success."""


class ParallelLoop(Record):
    """How one loop of a group stands."""

    loop: str
    goal: str
    approach: str = ""
    outcome: Outcome | None = None
    """None: it is under way, or has not begun."""
    reason: str = ""
    branch: str = ""
    cost_usd: float = 0.0
    untold: tuple[str, ...] = ()
    """Numbers that its agent's program does not tell."""
    merged: str = ""
    """The commit by which its work arrived where it was to be merged; empty where it did not."""


class Choice(Record):
    """Which of several completed loops is kept, and why."""

    loop: str
    reason: str
    cost_usd: float = 0.0
    """Of asking a model."""


class ParallelResult(Record):
    """What came of it: what `--json` prints and what a finished flow run tells."""

    group: str
    completed: int
    loops: tuple[ParallelLoop, ...]
    chosen: Choice | None = None
    into: str = ""
    """Branch that work was to be merged into; empty: none."""
    problems: tuple[str, ...] = ()
    """What kept a loop from being driven, in words."""

    @property
    def spent(self) -> float:
        """US dollars, the choice included."""
        return sum(one.cost_usd for one in self.loops) + (self.chosen.cost_usd if self.chosen else 0.0)

    @property
    def untold(self) -> frozenset[str]:
        return frozenset(name for one in self.loops for name in one.untold)

    @property
    def done(self) -> bool:
        """Whether all has been reached that was asked for: of several attempts at one goal, one is enough, once it is merged."""
        if self.chosen is None:
            return self.completed == len(self.loops)
        return self.kept is not None and self.kept.outcome is Outcome.COMPLETED and bool(self.kept.merged or not self.into)

    @property
    def kept(self) -> ParallelLoop | None:
        """The best of several attempts."""
        return next((one for one in self.loops if self.chosen and one.loop == self.chosen.loop), None)
