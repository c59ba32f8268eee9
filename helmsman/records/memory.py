"""Working memory of one loop, as the agent keeps it in progress.md."""

from helmsman.records.base import Record
from helmsman.records.research import Research


class Completed(Record):
    """A piece of work that the agent counts as done, with its own confidence."""

    text: str
    confidence: int | None = None
    """0 to 100."""


class Choice(Record):
    """A decision that the agent took and would have to take again without this note."""

    chose: str
    rejected: str = ""
    reason: str = ""
    revisit_if: str = ""


class WorkingMemory(Record):
    """The agent's notes, whole and by kind, and the research."""

    notes: str = ""
    """progress.md as free text, 40 lines at most; empty in records of the older form."""
    completed: tuple[Completed, ...] = ()
    decisions: tuple[Choice, ...] = ()
    uncertainties: tuple[str, ...] = ()
    remaining_gap: str = ""
    confidence: int | None = None
    """0 to 100: the agent's own, a claim."""
    problems: tuple[str, ...] = ()
    """What was wrong with the file when it was read last, told to the agent in the next prompt."""
    research: Research = Research()
    """What was found out before the work began; from a file of its own."""
