"""What the overseer remembers of each iteration: small, so that many are kept, and free of texts that differ from run to run."""

from datetime import datetime
from enum import StrEnum

from helmsman.records.base import Record
from helmsman.records.evidence import AgentOutcome
from helmsman.records.session import ErrorVector

MOST_NAMES, MOST_ERRORS = 20, 5
"""Files or failures, and errors, that a moment lists."""


class Progress(Record):
    """How far the work is, by evidence alone. Each share is 0 to 1, None where there is nothing of its kind."""

    checks: float | None = None
    tests: float | None = None
    criteria: float | None = None
    items: float | None = None
    """Of a plan."""
    completion: float = 0.0
    """All shares in one, 0 to 1. 1 only where completion is proven."""


class Movement(StrEnum):
    """What an iteration did to the evidence, compared with everything remembered before it."""

    FORWARD = "forward"
    """Something is better than it ever was, or a failure was got past and another one stands in its place."""
    SIDEWAYS = "sideways"
    """A tree that was never seen, and the evidence says the same."""
    STILL = "still"
    """No change, or a tree that was there before."""
    BACK = "back"
    """The evidence is worse than after the iteration before."""
    WAITED = "waited"
    """The agent never got to work: a limit, a refused start. It says nothing about the work."""


class Moment(Record):
    """One iteration, in numbers and identities."""

    iteration: int
    attempt: int = 1
    at: datetime
    seconds: float = 0.0
    cost_usd: float = 0.0
    tokens: int = 0
    """In and out, cache reads included."""
    written: int = 0
    """Tokens that the agent wrote."""
    outcome: AgentOutcome
    movement: Movement
    completion: float
    """`Progress.completion`."""
    checked: bool = True
    """Whether checks ran."""
    green: bool = False
    """Whether every check passed."""
    start: str = ""
    """Commit that it began with."""
    commit: str = ""
    tree: str = ""
    files: tuple[str, ...] = ()
    """Changed paths, 20 at most."""
    files_changed: int = 0
    insertions: int = 0
    deletions: int = 0
    commits: int = 0
    passing_tests: int = 0
    failing_tests: int = 0
    failing: tuple[str, ...] = ()
    """Failing checks and tests by name, 20 at most."""
    errors: tuple[ErrorVector, ...] = ()
    """What the failing checks say, one each, 5 at most."""
    troubles: tuple[ErrorVector, ...] = ()
    """What failed inside the session, 3 at most, the most frequent first."""
    tool_calls: int = 0
    untold: tuple[str, ...] = ()
    """What the agent's program does not tell, as `Capability` names it."""
    denials: int = 0
    """Permissions that the CLI denied."""
    reverted: int = 0
    """Files that the guard rails saw edited back to what they were."""
    relevance: float = 1.0
    """Share of its deeds that had to do with the task (POSIWID)."""
    asked: bool = False
    """Whether it asked to be done."""
    test_only: bool = False
    undone: bool = False
    """Whether its work was taken off the branch since."""
    rung: int = 0
    """Rung of the ladder that it was made on."""
