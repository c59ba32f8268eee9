"""What is put to the judge: one question about one committed tree. All of it but the goal is data of the repository."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckOutput:
    """What one check printed."""

    name: str
    passed: bool
    head: str = ""
    tail: str = ""
    """Empty where the head holds all of it."""


@dataclass(frozen=True)
class JudgeQuestion:
    """Never the agent's reasoning, its transcript, its commit messages or its claims: only what can be looked at."""

    goal: str
    outputs: tuple[CheckOutput, ...] = ()
    sources: tuple[tuple[str, str | None], ...] = ()
    """Changed files by path, whole, at the judged commit; None for what is no text."""
    deleted: tuple[str, ...] = ()
    """Paths that are gone."""
    notes: tuple[str, ...] = ()
    """Lines of the judge's own notes on earlier verdicts, oldest first."""
