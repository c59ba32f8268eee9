"""Which files of the start and of the work a further run of the checks combines.

The trusted run: the work with the tests and settings of the start. The start run: the start with the tests of the work.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import Source, with_inline_tests
from helmsman.parsers.test_files import is_test_file
from helmsman.verify.hints import Change
from helmsman.verify.new_tests import overlaid
from helmsman.verify.outcomes import tests_of_start
from helmsman.verify.touched import Read, Touched, touched
from tasks.repository.branch_files import held_in
from tasks.repository.diffs import LARGEST_FILE, read_diff, tree_of, unchanged_tests
from tasks.repository.git import Repository, git, git_bytes
from tasks.repository.objects import read_object, read_sizes

TOLD = 200
Entries = dict[str, bytes]
"""By path the line of git's index that makes it as it was."""
Sides = tuple[bytes, bytes]
"""The lines of git's index that make a file as it was at the start, and as it is in the work."""


@dataclass(frozen=True)
class Range:
    """The work between two commits of a repository, and what is configured for it."""

    repository: Repository
    base: str
    commit: str
    config: LoopConfig
    collected: tuple[str, ...] = ()
    """Files that are tests by the runner's report at the start, and not by their names."""


def tests_as_they_were(work: Range, changed: Mapping[str, Sides]) -> Entries:
    """Entries of the start for the tests, and what only tests use, where the work has changed any that was there."""
    base = _files_of(work.repository.common, work.base)
    kept = tests_of_start(kinds_of(work, changed), base, work.config.checks, work.config.invariants)
    inside = {path: line for path, sides in changed.items() if (line := _with_inline_tests(work, path, sides))}
    return inside | {path: changed[path][0] for path in kept}


def _with_inline_tests(work: Range, path: str, sides: Sides) -> bytes:
    """The line of git's index that makes a source as the work has it, with the tests in it as they were; empty where they are."""
    if not path.endswith(".rs") or is_test_file(path) or matches_any(path, work.config.invariants.allow):
        return b""
    ids = {"before": _id(sides[0]), "after": _id(sides[1])}
    read = _reader(work.repository.common, ids)
    text = with_inline_tests(Source(path, read("after")), Source(path, read("before")))
    if not all(ids.values()) or text is None:
        return b""
    written = git(work.repository.common, "hash-object", "-w", "--stdin", stdin=text.encode(errors="replace")).strip().encode()
    return sides[1].replace(ids["after"].encode(), written)


def kinds_of(work: Range, changed: Mapping[str, Sides]) -> Touched:
    """The changed paths by what they are to the checks."""
    repository = work.repository.common
    base, now = _files_of(repository, work.base), {path: _id(after) for path, (_, after) in changed.items()}
    commands = [check.command for check in work.config.checks]
    return touched(changed, commands, _reader(repository, base), _reader(repository, now), work.collected)


def change_of(work: Range, cwd: Path) -> Change:
    """What the hints look at. The plan's file is left out: what differs there the loop itself has ticked."""
    diff, tree, plan = read_diff(cwd, work.base, work.commit), tree_of(cwd, work.commit), work.config.plan.file
    files, left_out = (one for one in diff.files if one.path != plan), (one for one in diff.left_out if one != plan)
    diff = replace(diff, files=tuple(files), left_out=tuple(left_out))
    kinds = kinds_of(work, changed_since_start(work))
    commands = tuple(check.command for check in work.config.checks)
    return Change(diff, kinds, unchanged_tests(cwd, tree, diff), work.config.invariants.protect, commands)


def _reader(repository: Path, ids: Mapping[str, str]) -> Read:
    """Reads files by the names of their objects; one that is not there, or is too large, is empty."""

    def read(path: str) -> str:
        name = ids.get(path)
        size = read_sizes(repository, [name])[0] if name else None
        if name is None or size is None or size > LARGEST_FILE:
            return ""
        return read_object(repository, name).decode(errors="replace")

    return read


def _id(line: bytes) -> str:
    """The object that a line of git's index names; empty where the file is gone."""
    return "" if line.startswith(NOT_THERE) else line.partition(b"\t")[0].split()[1].decode()


def tests_of_the_work(changed: Mapping[str, Sides], config: LoopConfig) -> Entries:
    """Entries for the tests that the work adds or changes, as it has them."""
    there = [path for path, (_, after) in changed.items() if not after.startswith(NOT_THERE)]
    return {path: changed[path][1] for path in overlaid(there, config)}


def cases_at(repository: Repository, commit: str, path: str) -> tuple[str, ...]:
    """Tests that a file of a commit holds, behind its path, as far as its language is read."""
    try:
        held = held_in(repository, commit, path)
    except OperatorError:  # a link, or one that is too large
        held = None
    text = held.content.decode("utf-8", "replace") if held else ""
    return tuple(f"{path}::{case.name}" for case in Source(path, text).tests) if is_test_file(path, text) else ()


def changed_since_start(work: Range) -> dict[str, Sides]:
    """Every file that differs from the start, the plan's own left out: its ticks are the loop's."""
    plainly = "--no-renames", "--no-abbrev", "--no-ext-diff"
    raw = git_bytes(work.repository.common, "diff", "--raw", "-z", *plainly, work.base, work.commit, "--")
    parts, found = iter(raw.split(b"\0")), dict[str, Sides]()
    for head in filter(None, parts):
        mode_before, mode_after, before, after, *_ = head.lstrip(b":").split(b" ")
        path = next(parts)
        found[os.fsdecode(path)] = _line(mode_before, before, path), _line(mode_after, after, path)
    found.pop(work.config.plan.file, None)
    return found


def reverted_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Those paths as a record holds them, 200 at most."""
    return tuple(path.encode("utf-8", "replace").decode() for path in paths)[:TOLD]


NOT_THERE = b"0 "
"""How the line of a file begins that is not there."""


def _files_of(repository: Path, commit: str) -> dict[str, str]:
    """Name of the object of each file."""
    listed = (line.partition(b"\t") for line in git_bytes(repository, "ls-tree", "-r", "-z", commit).split(b"\0"))
    return {os.fsdecode(path): head.split()[-1].decode() for head, _, path in listed if path}


def _line(mode: bytes, name: bytes, path: bytes) -> bytes:
    return mode.replace(b"000000", b"0") + b" " + name + b"\t" + path
