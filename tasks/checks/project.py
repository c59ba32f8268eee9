"""Inspect a project before work begins: read its last commit, and try each command in a clean checkout."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from helmsman.config import CheckConfig, LoopConfig
from helmsman.parsers.project import MOST_FOLDERS, SCRIPTS, Candidate, Folder, Kind, find_commands, is_read, may_contain_project
from helmsman.plain import clean, clean_lines
from helmsman.records.alignment import RepositoryFacts
from helmsman.records.checks import CheckResult
from tasks.checks.run import CheckContext, run_check
from tasks.repository.clean_checkout import CleanCheckout
from tasks.repository.diffs import Blob, read_texts, tree_of
from tasks.repository.git import Repository, commit_and_tree, git
from tasks.system.process import never_stop
from tasks.system.secrets import redact

MOST_NAMES = 300
COMMITS = 15
LONGEST_NAME, LONGEST_SUBJECT, LONGEST_TEXT = 200, 200, 6_000  # characters
GUIDES = ("agents.md", "claude.md")

LARGEST_TEXT = 1 << 18  # maximum bytes of a file to read; project files are smaller
LONGEST_TRY = 300.0  # seconds for one command
LONGEST_TRIES = 900.0  # seconds for all commands; a person may be waiting at a terminal
SHORTEST_TRY = 5.0  # with less time left a command is not tried: the result would be meaningless
TAIL = 2000  # characters to keep from the end of the output
NOT_EXECUTABLE, NOT_FOUND = 126, 127  # exit codes of `sh` for a command that it cannot start
_NOT_STARTED_BY_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[[^\n]*\] Error 12[67]$", re.MULTILINE)
"""Make exits with 2 whatever the exit code of its recipe."""


class TrialOutcome(StrEnum):
    """Outcome of trying a command."""

    WORKS = "works"
    FAILS = "fails"
    CANNOT_START = "cannot start"
    TOO_SLOW = "too slow"
    UNTRIED = "not tried"


@dataclass(frozen=True)
class Trial:
    """A command and its outcome."""

    candidate: Candidate
    fate: TrialOutcome
    exit_code: int | None = None
    seconds: float = 0
    tests: int | None = None  # number of tests that ran, if the output contains it
    failed: int | None = None  # number of tests that failed
    tail: str = ""

    @property
    def proves(self) -> bool:
        """Whether it works and tests something: without any test it would pass whatever the agent does."""
        return self.fate is TrialOutcome.WORKS and self.tests != 0

    @property
    def is_red(self) -> bool:
        """Whether it runs tests that currently fail: work for a loop."""
        return self.fate is TrialOutcome.FAILS and self.candidate.kind is Kind.TESTS and self.tests != 0


# --- reading ------------------------------------------------------------------------------------------------------


def read_project(repository: Repository) -> dict[str, Folder]:
    """Folders of the last commit by name: the root (empty name) and its direct subfolders that may contain a project."""
    commit, _ = commit_and_tree(repository.top)
    tree = tree_of(repository.common, commit)
    paths = [blob.path for blob in tree]
    tops = sorted({path.partition("/")[0] for path in paths if "/" in path})
    prefixes = ["", *[f"{name}/" for name in tops if may_contain_project(name)][:MOST_FOLDERS]]
    deeper = [path for path in paths if ("/" in path and path in SCRIPTS) or path.rpartition("/")[0] in {"tests", "test"}]
    direct = {
        prefix: {path.removeprefix(prefix).partition("/")[0] for path in paths if path.startswith(prefix)} for prefix in prefixes
    }
    candidates = {*deeper, *(f"{prefix}{name}" for prefix, names in direct.items() for name in names)}
    wanted = [blob.path for blob in tree if blob.size <= LARGEST_TEXT and blob.path in candidates and is_read(blob.path)]
    texts = {path: text.removeprefix("\ufeff") for path, text in read_texts(repository.common, tree, wanted) if text}
    direct[""].update(deeper)
    return {
        prefix.rstrip("/"): Folder(frozenset(names), {name: texts[prefix + name] for name in names if prefix + name in texts})
        for prefix, names in direct.items()
    }


# --- trying -------------------------------------------------------------------------------------------------------


def try_all(
    place: CleanCheckout,
    candidates: Sequence[Candidate],
    on_start: Callable[[Candidate], object],
    *,
    longest: float = LONGEST_TRIES,
) -> Iterator[Trial]:
    """Try each in order, the first in any case; `told` is called with each before it begins."""
    until = time.monotonic() + longest
    for number, candidate in enumerate(candidates):
        left = until - time.monotonic()
        if number and left < SHORTEST_TRY:
            yield Trial(candidate, TrialOutcome.UNTRIED)
            continue
        on_start(candidate)
        yield try_one(place, candidate, min(LONGEST_TRY, left))


def try_one(place: CleanCheckout, candidate: Candidate, longest: float = LONGEST_TRY) -> Trial:
    """Run it on the committed files, like a check of a loop."""
    place.prepare(place.base)
    result = run_check(CheckContext(place, place.uid, never_stop), 0, CheckConfig(command=candidate.command), longest)
    tests = result.counts.executed if result.counts else None
    failed = result.counts.failed if result.counts else None
    tail = (result.tail or result.head)[-TAIL:]
    return Trial(candidate, _fate_of(result), result.exit_code, result.seconds, tests, failed, tail or result.error)


def _fate_of(result: CheckResult) -> TrialOutcome:
    if result.passed:
        return TrialOutcome.WORKS
    if result.timed_out:
        return TrialOutcome.TOO_SLOW
    is_unstarted = result.exit_code in {NOT_EXECUTABLE, NOT_FOUND} or _NOT_STARTED_BY_MAKE.search(result.tail or result.head)
    if result.error or is_unstarted:
        return TrialOutcome.CANNOT_START
    return TrialOutcome.FAILS


def gather_facts(repository: Repository, config: LoopConfig) -> RepositoryFacts:
    """Collect names, README, guides for agents, commands in files, and commit subjects, without our secrets."""
    commit, _ = commit_and_tree(repository.top)
    tree, names = tree_of(repository.common, commit), set[str]()
    for blob in tree:
        folder, _, rest = blob.path.partition("/")
        inner, _, deeper = rest.partition("/")
        names |= {f"{folder}/", f"{folder}/{inner}/" if deeper else f"{folder}/{inner}"} if rest else {folder}
    upper_first = sorted(names, key=lambda name: (name.rstrip("/").count("/"), name))
    subjects = git(repository.top, "log", "-z", f"--max-count={COMMITS}", "--format=%s", commit).split("\0")
    candidates = find_commands(read_project(repository)).candidates
    return RepositoryFacts(
        commit=commit,
        files=tuple(redact(clean(name)[:LONGEST_NAME]) for name in sorted(upper_first[:MOST_NAMES])),
        left_out=max(0, len(names) - MOST_NAMES),
        readme=_read_beginning(repository, tree, "readme"),
        guides="\n\n".join(filter(None, (_read_beginning(repository, tree, guide) for guide in GUIDES))),
        commands={candidate.command: f"{candidate.kind}; {candidate.where}" for candidate in candidates},
        commits=tuple(redact(clean(subject)[:LONGEST_SUBJECT]) for subject in subjects if subject.strip()),
        checks=tuple(redact(check.command) for check in config.checks),
        criteria=tuple(redact(criterion.text) for criterion in config.judge.criteria),
    )


def _read_beginning(repository: Repository, tree: Sequence[Blob], prefix: str) -> str:
    """Beginning of the root's first file whose name has this prefix."""
    paths = [blob.path for blob in tree if blob.path.lower().startswith(prefix) and 0 < blob.size <= LARGEST_TEXT]
    texts = read_texts(repository.common, tree, [path for path in paths if "/" not in path][:1])
    return redact(clean_lines((texts[0][1] or "").removeprefix("\ufeff")).strip())[:LONGEST_TEXT] if texts else ""
