"""What was found out before the work begins."""

from helmsman.records.base import Record


class Research(Record):
    """The content of research.md, as far as it holds."""

    tries: int = 0
    """Iterations that were given to it."""
    strengths: tuple[str, ...] = ()
    """What is there already that the work can rest on."""
    risks: tuple[str, ...] = ()
    """What can go wrong, and what the critic objects to."""
    gaps: tuple[str, ...] = ()
    """What nobody has said, and what is missing."""
    approaches: tuple[str, ...] = ()
    """Ways that were weighed."""
    approach: str = ""
    """The way that was chosen, and why."""
    confidence: int | None = None
    """0 to 100: the agent's own, a claim."""
    problems: tuple[str, ...] = ()
    """What is missing or too little; empty once it is complete."""

    @property
    def complete(self) -> bool:
        return self.tries > 0 and not self.problems
