"""Context of a step: repository, worktree and folder of its loop, found from two strings in every process."""

import hashlib
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from helmsman.config import WorkspaceConfig
from helmsman.records.state import LoopState
from tasks.repository.git import Repository, open_repository
from tasks.system.lock import exclusive_driver
from tasks.system.paths import GroupFolder, LoopFolder, helmsman_folder, state_home


@dataclass(frozen=True)
class LoopContext:
    repository: Repository
    worktree: Path
    folder: LoopFolder

    def tag(self, state: LoopState) -> str:
        """Tag in the environment of every process of this loop."""
        return f"{state.uid}/{state.due}-{state.attempt}"


def loop_context(repository: str, state: LoopState) -> LoopContext:
    opened = _open_cached(repository)
    return LoopContext(opened, worktree_of(opened, state.loop, state.config.workspace), loop_folder(opened, state.loop))


@lru_cache(maxsize=64)
def _open_cached(repository: str) -> Repository:
    """Open a repository once per process: it does not move meanwhile."""
    return open_repository(Path(repository))


def worktree_of(repository: Repository, loop: str, workspace: WorkspaceConfig) -> Path:
    """The agent's worktree for this loop: outside of the repository's checkout unless in place."""
    if workspace.in_place:
        return repository.top
    base = repository.common.parent  # base of a relative root, whatever the working directory
    root = base / Path(workspace.root).expanduser() if workspace.root else state_home() / "worktrees"
    return root / repository_name(repository) / loop


def exclusive_checkout(repository: Repository) -> AbstractContextManager[None]:
    """Hold the checkout during the block, for a loop that works in place. Raises DrivenElsewhere if another one does."""
    name = hashlib.sha256(os.fsencode(repository.top)).hexdigest()[:8]
    lock = helmsman_folder(repository.common) / f"in-place-{name}.lock"
    remedy = "wait for the loop that works here (`helmsman list`), cancel it, or leave --in-place out"
    return exclusive_driver(lock, f"the checkout {repository.top}", remedy)


def repository_name(repository: Repository) -> str:
    """Name for the repository's folders: its own name and a fingerprint of its path."""
    common = repository.common  # the same in every worktree, so that a loop is found from each
    fingerprint = hashlib.sha256(os.fsencode(common)).hexdigest()[:8]
    name = common.parent.name if common.name == ".git" else common.name
    return f"{name}-{fingerprint}"


def group_folder(repository: Repository, group: str) -> GroupFolder:
    """Folder of a group, separate from the loops': a group may have the name of a loop."""
    return GroupFolder(helmsman_folder(repository.common) / "groups" / group)


def group_of(repository: Repository, loop: str) -> str:
    """The group on this machine that the loop is one of; empty if there is none."""
    groups = sorted(folder.name for folder in group_folder(repository, "").root.glob("*/"))
    return next((group for group in groups if loop in loops_of_group(repository, group)), "")


def loops_of_group(repository: Repository, group: str) -> list[str]:
    """Ids of a group's loops, as its last run recorded them; empty before that."""
    file = group_folder(repository, group).names
    return file.read_text().splitlines() if file.exists() else []


def loop_folder(repository: Repository, loop: str) -> LoopFolder:
    """The loop's folder inside the shared git folder, so that it is found with the repository."""
    return LoopFolder(helmsman_folder(repository.common) / "loops" / loop)


def is_finished(repository: str, state: LoopState) -> bool:
    """Whether a completed loop has finished all clean-up: its worktree is removed last.

    A loop in place has no worktree: it finishes again, without effect.
    """
    context = loop_context(repository, state)
    return state.gate is None and context.folder.root.exists() and not context.worktree.exists()


def mark_finished(context: LoopContext, state: LoopState) -> None:
    """Called before the worktree is removed, to distinguish a failed removal from a loop that was killed before it finished."""
    context.folder.left.parent.mkdir(parents=True, exist_ok=True)
    context.folder.left.write_text(_ending_mark(state))


def is_marked_finished(context: LoopContext, state: LoopState) -> bool:
    """Whether this machine has finished the loop after exactly this ending."""
    return context.folder.left.exists() and context.folder.left.read_text() == _ending_mark(state)


def _ending_mark(state: LoopState) -> str:
    return f"{state.uid} {state.ending.at.isoformat() if state.ending else ''}"
