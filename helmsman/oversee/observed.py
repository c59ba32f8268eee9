"""What the overseer has to be told of the world beside the evidence. What could not be found out keeps its default."""

from collections.abc import Callable
from dataclasses import dataclass, field

from helmsman.records.memory import WorkingMemory
from helmsman.records.oversight import Imperative, Variety
from helmsman.records.pain import Leak, Scan


def _exists(_path: str) -> bool:
    return True


@dataclass(frozen=True)
class Observed:
    """Read once, after the checks."""

    memory: WorkingMemory = field(default_factory=WorkingMemory)
    """As the agent left it."""
    orders: tuple[Imperative, ...] = ()
    """What goal, rubric and the repository's own texts order."""
    leaks: tuple[Leak, ...] = ()
    scan: Scan | None = None
    destroyed: tuple[str, ...] = ()
    """Why commands that ran were destructive, one sentence each."""
    variety: Variety | None = None
    exists: Callable[[str], bool] = _exists
    """Whether there is a file at a path of the tree; where nobody knows there is."""
    faults: tuple[str, ...] = ()
    """What could not be found out, in words."""
