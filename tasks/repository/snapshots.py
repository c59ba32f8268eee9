"""A worktree as it lies there, as a commit: no branch, HEAD or file of it changes, and nor does the index somebody works with."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tasks.repository.branch_files import an_index
from tasks.repository.git import GitError, commit_and_tree, git, git_bytes
from tasks.repository.staging import WORK, lies_there, stage_unchanged
from tasks.system.files import read_within

LARGEST_INDEX = 256 * 1024 * 1024

Stage = Callable[[Path, Mapping[str, str] | None], None]


def snapshot(path: Path, onto: str, message: str, index_folder: Path) -> str:
    """Commit all work in the worktree on top of a commit. Returns `onto` where nothing differs from it.

    `index_folder`: where the index lies that the agent works with. What is ignored and stands there nevertheless is work too.
    Raises GitError where something cannot be read.
    """

    def staged(path: Path, env: Mapping[str, str] | None) -> None:
        stage_unchanged(path, env)
        names = _named_in(path, index_folder) - _listed(path, env)
        files = [name for name in names if lies_there(path, name) and (path / os.fsdecode(name)).is_file()]
        if files:
            git(path, "update-index", "-z", "--add", "--stdin", stdin=b"\0".join(files), env=env)

    return commit_tree(path, tree_of_work(path, onto, staged), onto, message)


def tree_of_work(path: Path, head: str, stage: Stage) -> str:
    """Id of the tree that staging makes of the worktree, in an index of its own that begins as the commit `head`."""
    with an_index() as index:
        git(path, "read-tree", head, env=index)
        stage(path, index)
        return git(path, "write-tree", env=index).strip()


def commit_tree(path: Path, tree: str, parent: str, message: str) -> str:
    """Id of a commit of that tree, or of the parent where that has the same one."""
    if tree == commit_and_tree(path, parent)[1]:
        return parent
    return git(path, "commit-tree", tree, "-p", parent, "-m", message).strip()


def _named_in(path: Path, index_folder: Path) -> set[bytes]:
    """What an index has, which may be damaged, or of a sandbox that an agent writes to: then what is not ignored is all."""
    content = read_within(index_folder, "index", LARGEST_INDEX)
    if content is None:
        return set()
    with an_index() as copy:
        Path(copy["GIT_INDEX_FILE"]).write_bytes(content)
        try:
            return _listed(path, copy)
        except GitError:
            return set()


def _listed(path: Path, env: Mapping[str, str] | None) -> set[bytes]:
    return set(git_bytes(path, "ls-files", "-z", "--cached", "--", *WORK, env=env).split(b"\0")) - {b""}
