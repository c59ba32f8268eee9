"""ChainRequest: loops that come one after the other, each on the work of the one before it."""

from typing import Any

from pydantic import Field

from helmsman.config import Section
from helmsman.naming import LOOP_ID
from helmsman.records.base import Record
from helmsman.records.request import Request
from helmsman.records.verdict import Outcome

MOST_LINKS = 50
LONGEST_CHAIN_ID = 59
"""What a loop's id may have, less a dash and three digits."""


class Link(Section):
    """One loop of a chain."""

    goal: str = Field(min_length=1, max_length=50_000, pattern=r"\S")
    """What shall be true at its end."""
    checks: tuple[str, ...] = ()
    """Commands that prove it. Empty: those of the repository's configuration."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further configuration of this loop, nested as in helmsman.toml."""


class ChainRequest(Request):
    """Start loops one after the other, each on the work of the one before it, or go on with them."""

    repository: str = Field(min_length=1)
    """Path of the repository on the machine that runs the loops."""
    chain: str = Field(pattern=LOOP_ID, max_length=LONGEST_CHAIN_ID)
    """Its id; its loops are called `ID-1`, `ID-2`… A chain that was begun is gone on with: what has completed is left alone."""
    loops: tuple[Link, ...] = Field(min_length=1, max_length=MOST_LINKS)
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further configuration of all loops."""
    reopen: bool = False
    """Go on with a loop of it that has ended without success."""

    def name(self, number: int) -> str:
        """Id of the loop with this number, from 1."""
        return f"{self.chain}-{number}"


class ChainedLoop(Record):
    """How one loop of a chain stands."""

    loop: str
    goal: str
    outcome: Outcome | None = None
    """None: it is under way, or has not begun."""
    reason: str = ""
    branch: str = ""


class ChainResult(Record):
    """What came of it: what `--json` prints and what a finished flow run tells."""

    chain: str
    completed: int
    loops: tuple[ChainedLoop, ...]

    @property
    def done(self) -> bool:
        return self.completed == len(self.loops)
