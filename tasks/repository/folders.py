"""Where a repository's loops and groups keep what is theirs, and where the agent works."""

import hashlib
import os
from pathlib import Path

from helmsman.config import WorkspaceConfig
from tasks.repository.git import Repository
from tasks.system.paths import GroupFolder, LoopFolder, helmsman_folder, state_home


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
