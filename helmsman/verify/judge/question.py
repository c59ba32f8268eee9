"""What is put to the judge: one question about one committed tree. All of it but the goal is data of the repository."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from helmsman.records.checks import CheckResult, Finding
from helmsman.records.proof import PastVerdict
from helmsman.verify.diff import FileDiff

Source = tuple[str, str | None]  # a file by its path, whole, at the judged commit; None for what is no text
Shelf = Callable[[Sequence[str]], Sequence[Source]]
"""Files of the judged commit by their paths; those that are not there are left out."""


@dataclass(frozen=True)
class JudgeQuestion:
    """Never the agent's reasoning, its transcript, its commit messages or its claims, but for one that is asked about."""

    goal: str
    outputs: tuple[CheckResult, ...] = ()
    proving: tuple[str, ...] = ()  # tests that fail on the source of the start
    sources: tuple[Source, ...] = ()  # changed files
    deleted: tuple[str, ...] = ()  # paths that are gone
    commits: str = ""  # from which commit to which the diff goes, as a range
    diff: tuple[FileDiff, ...] = ()  # changed files on both sides, without those that are generated
    generated: tuple[str, ...] = ()  # paths of changed files that are binary, or that a program wrote
    named: tuple[Source, ...] = ()  # unchanged files that a criterion or a check names, or that test what was changed
    paths: tuple[str, ...] = ()  # all files of the repository
    blocked_by: str = ""  # what the agent says stands in its way, where that is what is asked about
    findings: tuple[Finding, ...] = ()
    earlier: tuple[PastVerdict, ...] = ()  # oldest first
    notes: tuple[str, ...] = ()  # lines of the judge's own notes on earlier verdicts, oldest first
