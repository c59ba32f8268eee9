"""Commits, folders and files of a repository, by id or by name, wherever a checkout of it lies.

The processes that answer stay for the next question, a few repositories at most, until `close_readers` or the end of ours.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from helmsman.errors import OperatorError

if TYPE_CHECKING:
    from tasks.repository.cat_file import CatFile

MOST_OPEN = 4  # Repositories. Each has two processes: one for contents, one for sizes.
FOLDER = "040000"
LINK = "120000"
FILE_MODES = frozenset({"100644", "100755"})  # neither a symbolic link, which may lead anywhere, nor a submodule
_LONGEST_LINK = 8192  # bytes of the file that leads from a worktree to its repository
_open: dict[tuple[int, Path, int, int], "CatFile"] = {}
"""By process, as a fork does not speak with its parent's, and by folder: another one may be put in its place."""
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


@dataclass(frozen=True)
class Entry:
    """One name in a folder of a commit."""

    mode: str
    id: str
    path: str  # from the root; bytes that are no text as `os.fsdecode` has them


def root_entries(cwd: Path, commit: str) -> list[Entry]:
    """What lies at the root of a commit, or of a tree. Raises OperatorError where there is none."""
    return list(_entries(cwd, f"{commit}^{{tree}}", ""))


def folder_entries(cwd: Path, folder: Entry) -> list[Entry]:
    return list(_entries(cwd, folder.id, f"{folder.path}/"))


def entry_at(cwd: Path, commit: str, path: str) -> Entry | None:
    """What a commit has under exactly that path; None where there is nothing."""
    entries, found, above = root_entries(cwd, commit), None, ""
    for part in path.split("/"):
        if found is not None:
            entries, above = folder_entries(cwd, found) if found.mode == FOLDER else [], f"{found.path}/"
        found = next((entry for entry in entries if entry.path == above + part), None)
        if found is None:
            return None
    return found


def size_of(cwd: Path, entry: Entry) -> int:
    """Bytes of a file that has to be there. Raises OperatorError where it is not."""
    size = read_sizes(cwd, [entry.id])[0]
    if size is None:
        raise missing_object(cwd, f"{entry.id} ({entry.path})")
    return size


def _entries(cwd: Path, name: str, prefix: str) -> Iterator[Entry]:
    """`MODE NAME<nul>ID` one after the other; ids are bytes, as many as half of the digits of any other id."""
    found = read_objects(cwd, [name])[0]
    if found is None:
        raise missing_object(cwd, name)
    (tree, content), start = found, 0
    while start < len(content):
        blank, end = content.index(b" ", start), content.index(b"\0", start)
        mode, path = content[start:blank].decode().zfill(6), prefix + os.fsdecode(content[blank + 1 : end])
        start = end + 1 + len(tree) // 2
        yield Entry(mode, content[end + 1 : start].hex(), path)


@atexit.register
def close_readers() -> None:
    """End every process that stays."""
    with _lock:
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
        reader = _open.pop(key, None)
        if reader is None:
            os.environ["GIT_PYTHON_REFRESH"] = "quiet"  # where there is no git, our own error says so
            from tasks.repository.cat_file import CatFile  # GitPython takes a while; a command that reads nothing does without

            reader = CatFile(folder)
        _open[key] = reader
        while len(_open) > MOST_OPEN:
            _open.pop(next(iter(_open))).close()  # the one that was asked longest ago
        return question(reader)


def common_folder(cwd: Path) -> Path:
    """The git folder that all worktrees share, of a checkout's root or of a git folder."""
    link = cwd / ".git"
    if link.is_dir():
        return link.resolve()
    if not link.is_file():
        return cwd.resolve()
    own = cwd / _line(link).removeprefix("gitdir: ")
    common = own / "commondir"
    return (own / _line(common)).resolve() if common.is_file() else own.resolve()


def _line(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(_LONGEST_LINK)).removesuffix("\n")
