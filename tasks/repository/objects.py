"""Read commits, folders and files of a repository by id or name, given any of its checkouts.

The git processes stay open for further reads from the same repository, until `close_readers` or exit.
"""

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from helmsman.errors import OperatorError
from tasks.repository.git import LONGEST_LINK, NO_FETCH, GitError, git_bytes
from tasks.system.files import read_plain

if TYPE_CHECKING:
    from tasks.repository.cat_file import CatFile

FOLDER = "040000"
MISSING = "000000"  # of a side of a change that has no such file
LINK = "120000"
FILE_MODES = frozenset({"100644", "100755"})  # neither a symbolic link, which may lead anywhere, nor a submodule
_open: dict[tuple[int, Path, int, int], "CatFile"] = {}
"""The most recent reader. The key holds the process, as a fork must not use its parent's, and the folder's inode."""
_lock = threading.Lock()
R = TypeVar("R")


def read_objects(cwd: Path, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """Ids and contents of the objects, in order; None for a missing object. Raises GitError if git fails."""
    return _ask(cwd, lambda reader: reader.contents(names)) if names else []


def read_sizes(cwd: Path, names: Sequence[str]) -> list[int | None]:
    """Sizes in bytes of the objects, in order; None for a missing object. Raises GitError if git fails."""
    return _ask(cwd, lambda reader: reader.sizes(names)) if names else []


def read_object(cwd: Path, name: str) -> bytes:
    """Content of a required object. Raises OperatorError if it is missing."""
    stored = read_objects(cwd, [name])[0]
    if stored is None:
        raise missing_object(cwd, name)
    return stored[1]


def missing_object(cwd: Path, name: str) -> OperatorError:
    return OperatorError(
        "an object is missing from the repository, so its content cannot be read",
        expected="a repository with every object of the compared commits",
        found=f"no object {name} in {cwd}",
        remedy=f"list what else is missing: git -C {cwd} fsck; then fetch it from a complete repository: "
        "git fetch --refetch REMOTE, and --unshallow for a shallow clone",
    )


class Entry(NamedTuple):
    """An entry in a folder of a commit."""

    mode: str
    id: str
    path: str  # from the root, decoded by `os.fsdecode`


def index_info(entries: Sequence[Entry]) -> bytes:
    """Input of `git update-index -z --index-info` that puts these entries in place of those of the index."""
    removals_first = sorted(entries, key=lambda entry: entry.mode != MISSING)  # a folder may stand where a file was
    return b"".join(f"{entry.mode} {entry.id}\t".encode() + os.fsencode(entry.path) + b"\0" for entry in removals_first)


def entry_at(cwd: Path, commit: str, path: str) -> Entry | None:
    """Entry of a commit at exactly that path; None if there is none."""
    return next((entry for entry in entries_in(cwd, commit, path) if entry.path == path), None)


def entries_in(cwd: Path, commit: str, *paths: str) -> list[Entry]:
    """Entries in the root of a commit or tree, or at these paths; `x/` stands for what is in folder `x`.

    Raises OperatorError if the commit, or a folder of a path, is missing.
    """
    if any("\0" in path for path in paths):
        return []
    try:
        listed = git_bytes(
            cwd, "ls-tree", "-z", "--full-tree", "--", commit, *paths, env=NO_FETCH | {"GIT_LITERAL_PATHSPECS": "1"}
        )
    except GitError as error:
        if error.code < 0:
            raise
        raise missing_object(cwd, commit) from error
    lines = (line.partition(b"\t") for line in listed.split(b"\0") if line)
    return [Entry(head.split()[0].decode(), head.split()[2].decode(), os.fsdecode(path)) for head, _, path in lines]


@atexit.register
def close_readers() -> None:
    """End all open git processes."""
    with _lock:
        _close_all()


def _close_all() -> None:
    while _open:
        _open.popitem()[1].close()


def _ask(cwd: Path, question: Callable[["CatFile"], R]) -> R:
    folder = common_folder(cwd)
    try:
        stat = folder.stat()
    except OSError as error:
        raise OperatorError("git cannot read this folder", expected="a git repository", found=str(folder)) from error
    key = os.getpid(), folder, stat.st_dev, stat.st_ino
    with _lock:
        if key not in _open:
            os.environ["GIT_PYTHON_REFRESH"] = "quiet"  # our own error reports a missing git
            from tasks.repository.cat_file import CatFile  # a slow import (GitPython), which not every command needs

            _close_all()
            _open[key] = CatFile(folder)
        return question(_open[key])


def own_folder(path: Path) -> Path:
    """Folder with index and HEAD of this checkout: `.git`, or the target of that file. Raises OSError if there is neither."""
    link = path / ".git"
    if link.is_dir():
        return link
    target = os.fsdecode(read_plain(link, LONGEST_LINK).partition(b"\0")[0])
    return (path / target.removeprefix("gitdir: ").strip()).resolve()


def common_folder(cwd: Path) -> Path:
    """Git folder that all worktrees share, given the root of a checkout or a git folder."""
    git_folder = own_folder(cwd) if (cwd / ".git").exists() else cwd
    common = git_folder / "commondir"
    return (
        (git_folder / os.fsdecode(read_plain(common, LONGEST_LINK)).removesuffix("\n")).resolve()
        if common.is_file()
        else git_folder.resolve()
    )
