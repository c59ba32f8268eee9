"""The checks once more, on the work with the tests and settings that it had when the loop began.

It runs where the checks ran: packages that are installed beside the tree are there for both. What is put back gets a time yet
to come, so that no build and no cache takes it for the version that it replaces.
"""

import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.records.checks import CheckReport, TrustedCopy
from helmsman.records.evidence import Change
from helmsman.records.state import LoopState
from helmsman.verify.trusted import as_at_start
from tasks.checking.checks import Room, run_checks
from tasks.repository.git import git, git_bytes
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import SECOND_COPY, hold_branch, restore

TOLD = 200
AHEAD_SECONDS = 3600
"""Caches compare whole seconds for equality, builds for order: both see another file than the one that lay there."""
Entries = dict[str, bytes]
"""By path the line of git's index that makes it as it was."""


def check_trusted_copy(place: Workplace, state: LoopState, change: Change, room: Room) -> TrustedCopy:
    """Run the checks with what is protected as it was, where the loop changed any of it. Branch and worktree are as before."""
    entries = _as_they_were(place, state, change.commit)
    tree = _tree_with(place.worktree, change.commit, entries.values()) if entries else change.tree
    if tree == change.tree:
        return TrustedCopy()
    said = f"{state.loop}: {SECOND_COPY}"
    commit = git(place.worktree, "commit-tree", tree, "-p", change.commit, "-m", said).strip()
    try:
        restore(place.worktree, commit)
        _date(place.worktree, entries)
        report = run_checks(room, commit, tree, _named(state.config))
    finally:
        restore(place.worktree, change.commit)
        hold_branch(place.worktree, state.branch, change.commit)
    return TrustedCopy(put_back=tuple(map(_shown, entries))[:TOLD], report=_as_own(report, state.config))


def _as_they_were(place: Workplace, state: LoopState, commit: str) -> Entries:
    config = state.config
    lines = _differing(place.worktree, state.base_commit, commit)
    lines.pop(config.plan.file, None)  # its ticks are the loop's own
    listed = git_bytes(place.worktree, "ls-tree", "-r", "-z", "--name-only", state.base_commit).split(b"\0")
    base = frozenset(os.fsdecode(name) for name in listed if name)
    return {path: lines[path] for path in as_at_start(lines, base, config.checks, config.invariants)}


def _differing(worktree: Path, start: str, commit: str) -> Entries:
    raw = git_bytes(worktree, "diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", start, commit, "--")
    parts = iter(raw.split(b"\0"))
    found = Entries()
    for head in parts:
        if head:
            mode, _, name, *_ = head.lstrip(b":").split(b" ")
            path = next(parts)
            found[os.fsdecode(path)] = mode.replace(b"000000", b"0") + b" " + name + b"\t" + path
    return found


def _tree_with(worktree: Path, commit: str, entries: Iterable[bytes]) -> str:
    """The tree of a commit with those entries instead of its own. Nobody's index is touched."""
    gone_first = sorted(entries, key=lambda entry: not entry.startswith(b"0 "))  # a folder may stand where a file was
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git(worktree, "read-tree", commit, env=index)
        given = b"".join(entry + b"\0" for entry in gone_first)
        git(worktree, "update-index", "-z", "--replace", "--index-info", stdin=given, env=index)
        return git(worktree, "write-tree", env=index).strip()


def _date(worktree: Path, paths: Iterable[str]) -> None:
    ahead = time.time() + AHEAD_SECONDS
    for path in paths:
        if os.path.lexists(worktree / path):
            os.utime(worktree / path, (ahead, ahead), follow_symlinks=False)


def _named(config: LoopConfig) -> LoopConfig:
    """So that whoever watches sees which run it is."""
    checks = (check.model_copy(update={"name": f"{check.title} (trusted copy)"}) for check in config.checks)
    return config.model_copy(update={"checks": tuple(checks)})


def _as_own(report: CheckReport, config: LoopConfig) -> CheckReport:
    pairs = zip(report.results, config.checks, strict=True)
    return report.model_copy(update={"results": tuple(one.model_copy(update={"name": check.title}) for one, check in pairs)})


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode()
