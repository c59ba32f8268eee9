"""What the agent is told."""

from datetime import datetime

from helmsman.records.base import Record
from helmsman.records.evidence import Commit
from helmsman.records.hats import Worn
from helmsman.records.lessons import Recalled
from helmsman.records.plan import InHand


class Orientation(Record):
    """Facts gathered outside the agent before it starts."""

    started_at: datetime
    start_commit: str
    """Commit that the iteration begins with."""
    commits: tuple[Commit, ...] = ()
    """The loop's own commits so far, newest first."""
    recalled: Recalled = Recalled()
    hat: Worn | None = None
    """Whose eyes it looks with; None where hats are not used."""
    plan: InHand | None = None
    """What is due of the plan; None where there is none, or the iteration is not for the work itself."""
    template: str = ""
    """The repository's own, at the commit that the loop began with; empty where it has none."""


class Briefing(Record):
    """The prompt of one call and what it was made of."""

    system: str = ""
    """What is the same in every iteration, so that the provider's cache serves it."""
    prompt: str
    sections: tuple[tuple[str, int], ...] = ()
    """Section names with their size in tokens, in order."""
    trimmed: tuple[str, ...] = ()
    """Sections that did not fit whole."""
