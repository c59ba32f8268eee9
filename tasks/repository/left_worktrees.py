"""Worktrees whose loops are over: what git still knows of them, and whether anybody has worked there since."""

import os
from collections.abc import Collection
from pathlib import Path

from tasks.repository.git import Repository, git
from tasks.repository.worktree import own_git

MOMENT_SECONDS = 60
"""What a loop itself still writes to its worktree after its last word."""


def gone_worktrees(repository: Repository, branches: Collection[str]) -> list[Path]:
    """Folders that git knows as worktrees of these branches, and that are not there any more."""
    entries = git(repository.common, "worktree", "list", "--porcelain", "-z").split("\0\0")
    known = [{name: value for name, _, value in (line.partition(" ") for line in entry.split("\0"))} for entry in entries]
    ours = {f"refs/heads/{branch}" for branch in branches}
    return [Path(one["worktree"]) for one in known if one.get("branch") in ours and "prunable" in one and "locked" not in one]


def forget_worktree(repository: Repository, path: Path) -> None:
    """Have git forget a worktree whose folder is gone; its branch stays."""
    if not path.exists():
        git(repository.common, "worktree", "remove", "--force", str(path))


def git_locks(repository: Repository, path: Path, branch: str) -> list[Path]:
    """Locks that a killed git left in a worktree, and on its branch."""
    own = own_git(path, "HEAD")
    if own is None or own.parent != repository.common / "worktrees":
        return []
    found = (own / "index.lock", own / "HEAD.lock", repository.common / "refs" / "heads" / f"{branch}.lock")
    return [lock for lock in found if lock.exists()]


def changed_since(path: Path, moment: float) -> bool:
    """Whether anything in a worktree, ignored files included, was written or moved in after a moment; a minute counts as none."""
    late = moment + MOMENT_SECONDS
    found = (path, *(Path(folder) / name for folder, folders, files in os.walk(path) for name in (*folders, *files)))
    return any(max(one.st_mtime, one.st_ctime) > late for one in map(Path.lstat, found))


def is_locked(path: Path) -> bool:
    """Whether somebody has told git to keep this worktree (`git worktree lock`)."""
    own = own_git(path, "HEAD")
    return own is not None and (own / "locked").exists()
