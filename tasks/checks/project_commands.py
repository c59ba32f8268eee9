"""A project's commands: its files read from the last commit, and each command tried for real in a scratch checkout of it."""

import re
import secrets
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from helmsman.config import CheckConfig
from helmsman.parsers.project import (
    MOST_FOLDERS,
    SCRIPTS,
    Candidate,
    Folder,
    Kind,
    is_read,
    may_hold_a_project,
)
from helmsman.records.checks import CheckResult
from tasks.checks.run import CheckContext, run_check
from tasks.repository.diffs import read_texts, tree_of
from tasks.repository.git import GitError, Repository, commit_and_tree, git, succeeds
from tasks.repository.staging import missing_submodules
from tasks.repository.worktree import Worktree
from tasks.system.paths import state_home
from tasks.system.process import never

LARGEST_TEXT = 1 << 18
"""Bytes of a file that is read; project files are smaller."""
LONGEST_TRY = 300.0
"""Seconds that one command may take."""
LONGEST_TRIES = 900.0
"""Seconds for all of them; somebody may be waiting in front of a terminal."""
SHORTEST_TRY = 5.0
"""With less time left a command is not tried: it would say nothing."""
TAIL = 2000
"""Characters of output that are kept, from its end."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What `sh` says of a command that it cannot start."""
_NOT_STARTED_BY_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[[^\n]*\] Error 12[67]$", re.MULTILINE)
"""Make ends with 2 whatever its recipe ended with."""


class Fate(StrEnum):
    """What came of trying a command."""

    WORKS = "works"
    FAILS = "fails"
    CANNOT_START = "cannot start"
    TOO_SLOW = "too slow"
    UNTRIED = "not tried"


@dataclass(frozen=True)
class Tried:
    """A command, and what came of it."""

    candidate: Candidate
    fate: Fate
    exit_code: int | None = None
    seconds: float = 0
    tests: int | None = None
    """How many ran, where the output says so."""
    failed: int | None = None
    """How many of them failed."""
    tail: str = ""

    @property
    def proves(self) -> bool:
        """Whether it works and looked at something: without any test it would pass whatever the agent does."""
        return self.fate is Fate.WORKS and self.tests != 0

    @property
    def is_red(self) -> bool:
        """Whether it runs tests that fail now: work for a loop."""
        return self.fate is Fate.FAILS and self.candidate.kind is Kind.TESTS and self.tests != 0


# --- reading ------------------------------------------------------------------------------------------------------


def read_project(repository: Repository) -> dict[str, Folder]:
    """The root, under an empty name, and the folders right below it that may hold a project, as the last commit has them."""
    commit, _ = commit_and_tree(repository.top)
    tree = tree_of(repository.common, commit)
    paths = [blob.path for blob in tree]
    tops = sorted({path.partition("/")[0] for path in paths if "/" in path})
    prefixes = ["", *[f"{name}/" for name in tops if may_hold_a_project(name)][:MOST_FOLDERS]]
    deeper = [path for path in paths if ("/" in path and path in SCRIPTS) or path.rpartition("/")[0] in {"tests", "test"}]
    direct = {
        prefix: {path.removeprefix(prefix).partition("/")[0] for path in paths if path.startswith(prefix)} for prefix in prefixes
    }
    known = {*deeper, *(f"{prefix}{name}" for prefix, names in direct.items() for name in names)}
    wanted = [blob.path for blob in tree if blob.size <= LARGEST_TEXT and blob.path in known and is_read(blob.path)]
    texts = {path: text.removeprefix("\ufeff") for path, text in read_texts(repository.common, tree, wanted) if text}
    direct[""].update(deeper)
    return {
        prefix.rstrip("/"): Folder(frozenset(names), {name: texts[prefix + name] for name in names if prefix + name in texts})
        for prefix, names in direct.items()
    }


# --- trying -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scratch:
    """A checkout of the last commit that nobody will miss, made as the worktree of a loop is made."""

    path: Path
    commit: str
    tag: str
    flaw: str = ""
    """Why it is not whole, where that is so."""


@contextmanager
def scratch(repository: Repository) -> Generator[Scratch]:
    """The checkout; at the end it is gone, and so is whatever git knew of it."""
    commit, _ = commit_and_tree(repository.top)
    root = state_home() / "worktrees"
    root.mkdir(parents=True, exist_ok=True)
    folder = tempfile.TemporaryDirectory(prefix="init-", dir=root, ignore_cleanup_errors=True)
    path, flaw = Path(folder.name) / "checkout", ""
    try:
        with folder:
            git(repository.common, "worktree", "add", "--quiet", "--detach", str(path), commit)
            try:
                if missing := missing_submodules(path):
                    git(path, "submodule", "update", "--init", "--recursive", "--quiet", "--", *missing)
            except GitError as error:
                flaw = f"submodules could not be checked out: {error.stderr[-300:]}"
            yield Scratch(path, commit, f"init-{secrets.token_hex(8)}", flaw)
    finally:
        succeeds(repository.common, "worktree", "remove", "--force", "--force", str(path))


def try_all(
    place: Scratch, candidates: Sequence[Candidate], told: Callable[[Candidate], object], *, longest: float = LONGEST_TRIES
) -> Iterator[Tried]:
    """Try each, one after the other, the first in any case; `told` hears of each before it begins."""
    until = time.monotonic() + longest
    for number, candidate in enumerate(candidates):
        left = until - time.monotonic()
        if number and left < SHORTEST_TRY:
            yield Tried(candidate, Fate.UNTRIED)
            continue
        told(candidate)
        yield try_one(place, candidate, min(LONGEST_TRY, left))


def try_one(place: Scratch, candidate: Candidate, longest: float = LONGEST_TRY) -> Tried:
    """Run it as a check is run, on the committed files. What it changes is put back; what is ignored stays, as in a loop."""
    checkout = Worktree(place.path)
    checkout.prepare(place.commit)
    result = run_check(CheckContext(checkout, place.tag, never), 0, CheckConfig(command=candidate.command), longest)
    checkout.require_intact([candidate.command])
    checkout.reset()
    tests = result.counts.executed if result.counts else None
    failed = result.counts.failed if result.counts else None
    tail = (result.tail or result.head)[-TAIL:]
    return Tried(candidate, _fate(result), result.exit_code, result.seconds, tests, failed, tail or result.error)


def _fate(result: CheckResult) -> Fate:
    if result.passed:
        return Fate.WORKS
    if result.timed_out:
        return Fate.TOO_SLOW
    unstarted = result.exit_code in {NOT_EXECUTABLE, NOT_FOUND} or _NOT_STARTED_BY_MAKE.search(result.tail or result.head)
    if result.error or unstarted:
        return Fate.CANNOT_START
    return Fate.FAILS
