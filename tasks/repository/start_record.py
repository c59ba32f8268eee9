"""A record of what was there when a loop began, outside of its work, and the changes in the repository's git folder since then.

Helmsman's git ignores what its own git folder could make it run or follow (git.py); a person's does not, and an agent without a
sandbox can write it.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from helmsman.plain import OWN_BRANCHES, clean, shorten
from helmsman.records.control import GitChanges
from helmsman.records.state import LoopState
from tasks.repository.clean_checkout import checkout_folder
from tasks.repository.git import Repository, contains, git
from tasks.repository.git_config import followed_settings
from tasks.system.files import read_json, read_plain, write_atomic

FILES = "info/attributes", "info/exclude", "info/grafts"
KINDS = "refs/heads", "refs/tags", "refs/replace"
REPLACEMENT = "refs/replace/"  # git shows another object in place of the named one: followed like a setting
MOST_FILES, LARGEST = 1000, 1 << 20  # files below hooks, and bytes of each that are compared
MOST_SHOWN, LONGEST_SHOWN = 20, 200  # changes that are named, and characters of each


def record_start(repository: Repository, state: LoopState, packages: Mapping[str, str]) -> None:
    """Record what is there, once for each loop: before its agent's first call on this machine."""
    path = _record_path(repository, state)
    if not read_start(repository, state):
        facts = {"uid": state.uid, "packages": packages, **_read_git_folder(repository)}
        write_atomic(path, json.dumps(facts), mode=0o600)


def read_start(repository: Repository, state: LoopState) -> dict[str, Any]:
    """What was recorded; empty if there is nothing, or only that of another loop with the same name."""
    record = read_json(_record_path(repository, state))
    return record if record.get("uid") == state.uid else {}


def changes_since_start(repository: Repository, state: LoopState, commit: str) -> GitChanges:
    """Changes of what a person's git runs or follows, and of references. `commit`: the loop's work so far."""
    before, now = read_start(repository, state), _read_git_folder(repository)
    if not before:
        return GitChanges(followed=("Helmsman's record of the start (gone)",))
    followed = (
        f"{name} ({'changed' if was and current else 'gone' if was else 'new'})"
        for name, was, current in _differences(before["followed"], now["followed"])
    )
    moved = (
        f"{ref} ({was[:12] or 'none'} to {current[:12] or 'none'})"
        for ref, was, current in _differences(before["references"], now["references"])
        if not ref.startswith(f"refs/heads/{OWN_BRANCHES}") and ref != f"refs/heads/{state.branch}"
        if not _is_expected(repository.common, state, ref, was, current, commit)
    )
    return GitChanges(followed=_shown(followed), moved=_shown(moved))


def _read_git_folder(repository: Repository) -> dict[str, dict[str, str]]:
    """Files and settings with digests, as values may be secrets; references with their objects."""
    listed = git(repository.common, "for-each-ref", "--format=%(refname) %(objectname)", *KINDS).split("\n")
    references = dict(line.rsplit(" ", 1) for line in listed if line)
    replaced = {ref: references.pop(ref) for ref in [*references] if ref.startswith(REPLACEMENT)}
    folder = "" if repository.bare else ".git/"
    files = {f"{folder}{path.relative_to(repository.common)}": _digest(path) for path in _files(repository.common)}
    settings = {f"{key} in {folder}config": value for key, value in followed_settings(repository).items()}
    return {"followed": {**files, **settings, **replaced}, "references": references}


def _files(common: Path) -> Iterator[Path]:
    hooks = (path for path in (common / "hooks").rglob("*") if path.suffix != ".sample" and not path.is_dir())
    yield from islice(hooks, MOST_FILES)
    yield from (common / name for name in FILES if os.path.lexists(common / name))


def _digest(path: Path) -> str:
    try:
        return f"{hashlib.sha256(read_plain(path, LARGEST)).hexdigest()} {os.access(path, os.X_OK)}"
    except OSError:
        return "unreadable"


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in sorted(before.keys() | now.keys()):
        if (was := before.get(name, "")) != (current := now.get(name, "")):
            yield name, was, current


def _is_expected(common: Path, state: LoopState, ref: str, was: str, current: str, commit: str) -> bool:
    """Whether the branch that loops merge into moved forward, and not to work of this loop that Helmsman did not merge."""
    if ref != f"refs/heads/{state.config.merge.into}" or not (was and current and contains(common, current, was)):
        return False
    return contains(common, state.base_commit, current) or not contains(common, commit, current)


def _shown(changes: Iterator[str]) -> tuple[str, ...]:
    return tuple(shorten(clean(change), LONGEST_SHOWN) for change in islice(changes, MOST_SHOWN))


def _record_path(repository: Repository, state: LoopState) -> Path:
    return checkout_folder(repository, state.loop) / "start.json"
