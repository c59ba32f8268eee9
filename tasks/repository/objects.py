"""Commits, folders and files of a repository, by id or by name, wherever a checkout of it lies.

The processes that answer stay for the next question about the same repository, until `close_readers` or the end of ours.
"""

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from helmsman.errors import OperatorError
from tasks.repository.git import UNFETCHED, GitError, git_bytes
from tasks.system.files import read_plain

if TYPE_CHECKING:
    from tasks.repository.cat_file import CatFile

FOLDER = "040000"
LINK = "120000"
FILE_MODES = frozenset({"100644", "100755"})  # neither a symbolic link, which may lead anywhere, nor a submodule
LONGEST_LINK = 8192  # bytes of the file that leads from a worktree to its repository; twice the longest path
_open: dict[tuple[int, Path, int, int], "CatFile"] = {}
"""The one that was asked last. By process, as a fork does not speak with its parent's; another folder may be put in its place."""
_lock = threading.Lock()
R = TypeVar("R")


def read_objects(cwd: Path, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """Ids and contents of those objects, in their order; None where there is no such object. Raises GitError where git fails."""
    return _ask(cwd, lambda reader: reader.contents(names)) if names else []


def read_sizes(cwd: Path, names: Sequence[str]) -> list[int | None]:
    """Likewise the bytes of each."""
    return _ask(cwd, lambda reader: reader.sizes(names)) if names else []


def read_object(cwd: Path, name: str) -> bytes:
    """The content of an object that has to be there. Raises OperatorError where it is not."""
    found = read_objects(cwd, [name])[0]
    if found is None:
        raise missing_object(cwd, name)
    return found[1]


def missing_object(cwd: Path, name: str) -> OperatorError:
    return OperatorError(
        "an object is missing from the repository, so what it holds cannot be read",
        expected="a repository that has every object of the commits that are compared",
        found=f"no object {name} in {cwd}",
        remedy=f"see what else is missing: git -C {cwd} fsck; then fetch it from where it is whole: git fetch --refetch REMOTE, "
        "and --unshallow for a shallow clone",
    )


class Entry(NamedTuple):
    """One name in a folder of a commit."""

    mode: str
    id: str
    path: str  # from the root; bytes that are no text as `os.fsdecode` has them


def entries_in(cwd: Path, commit: str, path: str = "") -> list[Entry]:
    """What lies in a folder of a commit, or of a tree: at its root, if none is named; nothing where there is no such folder."""
    folder = f"{path}/" if path else ""
    return [entry for entry in _listed(cwd, commit, *([folder] if folder else [])) if entry.path.startswith(folder)]


def entry_at(cwd: Path, commit: str, path: str) -> Entry | None:
    """What a commit has under exactly that path; None where there is nothing."""
    return next((entry for entry in _listed(cwd, commit, path) if entry.path == path), None)


def _listed(cwd: Path, commit: str, *paths: str) -> list[Entry]:
    """Raises OperatorError where the commit, or a folder on the way, is not there."""
    if any("\0" in path for path in paths):
        return []
    try:
        listed = git_bytes(
            cwd, "ls-tree", "-z", "--full-tree", "--", commit, *paths, env=UNFETCHED | {"GIT_LITERAL_PATHSPECS": "1"}
        )
    except GitError as error:
        if error.code < 0:
            raise
        raise missing_object(cwd, commit) from error
    found = (line.partition(b"\t") for line in listed.split(b"\0") if line)
    return [Entry(head.split()[0].decode(), head.split()[2].decode(), os.fsdecode(path)) for head, _, path in found]


@atexit.register
def close_readers() -> None:
    """End every process that stays."""
    with _lock:
        _close()


def _close() -> None:
    while _open:
        _open.popitem()[1].close()


def _ask(cwd: Path, question: Callable[["CatFile"], R]) -> R:
    folder = common_folder(cwd)
    try:
        at = folder.stat()
    except OSError as error:
        raise OperatorError("git cannot read here", expected="a git repository", found=str(folder)) from error
    key = os.getpid(), folder, at.st_dev, at.st_ino
    with _lock:
        if key not in _open:
            os.environ["GIT_PYTHON_REFRESH"] = "quiet"  # where there is no git, our own error says so
            from tasks.repository.cat_file import CatFile  # GitPython takes a while; a command that reads nothing does without

            _close()
            _open[key] = CatFile(folder)
        return question(_open[key])


def own_folder(path: Path) -> Path:
    """Where git keeps the index and HEAD of this checkout: `.git`, or what that file says. Raises OSError where neither is."""
    link = path / ".git"
    if link.is_dir():
        return link
    said = os.fsdecode(read_plain(link, LONGEST_LINK).partition(b"\0")[0])
    return (path / said.removeprefix("gitdir: ").strip()).resolve()


def common_folder(cwd: Path) -> Path:
    """The git folder that all worktrees share, of a checkout's root or of a git folder."""
    own = own_folder(cwd) if (cwd / ".git").exists() else cwd
    common = own / "commondir"
    return (
        (own / os.fsdecode(read_plain(common, LONGEST_LINK)).removesuffix("\n")).resolve() if common.is_file() else own.resolve()
    )
