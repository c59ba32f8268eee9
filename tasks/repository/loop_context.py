"""Where a step works: repository, worktree and folder of its loop, found again from two strings in every process."""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from helmsman.config import WorkspaceConfig
from helmsman.records.state import LoopState
from tasks.repository.git import Repository, open_repository
from tasks.system.paths import GroupFolder, LoopFolder, helmsman_folder, state_home


@dataclass(frozen=True)
class LoopContext:
    repository: Repository
    worktree: Path
    folder: LoopFolder

    def tag(self, state: LoopState) -> str:
        """What every process of this loop carries in its environment."""
        return f"{state.uid}/{state.due}-{state.attempt}"


def loop_context(repository: str, state: LoopState) -> LoopContext:
    found = _open(repository)
    return LoopContext(found, worktree_of(found, state.loop, state.config.workspace), loop_folder(found, state.loop))


@lru_cache(maxsize=64)
def _open(repository: str) -> Repository:
    """A repository does not move while a process works in it; asking git once is enough."""
    return open_repository(Path(repository))


def worktree_of(repository: Repository, loop: str, workspace: WorkspaceConfig) -> Path:
    """Where the agent works for this loop: always outside the repository's own checkout unless in place."""
    if workspace.in_place:
        return repository.top
    beside = repository.common.parent  # what a relative root is relative to, wherever the operator stands
    root = beside / Path(workspace.root).expanduser() if workspace.root else state_home() / "worktrees"
    return root / repository_name(repository) / loop


def repository_name(repository: Repository) -> str:
    """A name for folders of the repository's, its own and a fingerprint of where it lies."""
    common = repository.common  # the same from every worktree, so that a loop is found again wherever its operator stands
    fingerprint = hashlib.sha256(os.fsencode(common)).hexdigest()[:8]
    name = common.parent.name if common.name == ".git" else common.name
    return f"{name}-{fingerprint}"


def group_folder(repository: Repository, group: str) -> GroupFolder:
    """Beside the loops' own: a group may have the name of a loop."""
    return GroupFolder(helmsman_folder(repository.common) / "groups" / group)


def loop_folder(repository: Repository, loop: str) -> LoopFolder:
    """The loop's folder inside the shared git folder, so that whoever finds the repository finds it."""
    return LoopFolder(helmsman_folder(repository.common) / "loops" / loop)


def is_finished(repository: str, state: LoopState) -> bool:
    """Whether a loop that has completed is through with all that it leaves: its worktree goes last.

    One that works in place has none of its own: it leaves again, which changes nothing.
    """
    context = loop_context(repository, state)
    return state.gate is None and context.folder.root.exists() and not context.worktree.exists()


def mark_finished(context: LoopContext, state: LoopState) -> None:
    """Before the worktree goes: one that could not be removed is told from one whose loop was killed before it had left."""
    context.folder.left.parent.mkdir(parents=True, exist_ok=True)
    context.folder.left.write_text(_end_of(state))


def is_marked_finished(context: LoopContext, state: LoopState) -> bool:
    """Whether this machine has seen this very end of the loop through."""
    return context.folder.left.exists() and context.folder.left.read_text() == _end_of(state)


def _end_of(state: LoopState) -> str:
    return f"{state.uid} {state.ending.at.isoformat() if state.ending else ''}"
