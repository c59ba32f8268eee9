"""What is put to the judge: one question about one committed tree. All of it but the goal is data of the repository."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from helmsman.records.checks import CheckResult, Finding
from helmsman.records.proof import PastVerdict
from helmsman.verify.diff import FileDiff

Source = tuple[str, str | None]
"""A file by its path, whole, at the judged commit; None for what is no text."""
Shelf = Callable[[Sequence[str]], Sequence[Source]]
"""Files of the judged commit by their paths; those that are not there are left out."""


@dataclass(frozen=True)
class JudgeQuestion:
    """Never the agent's reasoning, its transcript, its commit messages or its claims, but for one that is asked about."""

    goal: str
    outputs: tuple[CheckResult, ...] = ()
    proving: tuple[str, ...] = ()
    """Tests that fail on the source of the start."""
    sources: tuple[Source, ...] = ()
    """Changed files."""
    deleted: tuple[str, ...] = ()
    """Paths that are gone."""
    commits: str = ""
    """From which commit to which the diff goes, as a range."""
    diff: tuple[FileDiff, ...] = ()
    """Changed files on both sides, without those that are generated."""
    generated: tuple[str, ...] = ()
    """Paths of changed files that are binary, or that a program wrote."""
    named: tuple[Source, ...] = ()
    """Unchanged files that a criterion or a check names, or that test what was changed."""
    paths: tuple[str, ...] = ()
    """All files of the repository."""
    blocked_by: str = ""
    """What the agent says stands in its way, where that is what is asked about."""
    findings: tuple[Finding, ...] = ()
    earlier: tuple[PastVerdict, ...] = ()
    """Oldest first."""
    notes: tuple[str, ...] = ()
    """Lines of the judge's own notes on earlier verdicts, oldest first."""
