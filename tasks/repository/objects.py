"""Commits, folders and files of a repository, by id or by name, wherever a checkout of it lies.

The processes that answer stay for the next question, a few repositories at most, until `close_readers` or the end of ours.
"""

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.errors import OperatorError

if TYPE_CHECKING:
    from tasks.repository.cat_file import CatFile, Header

MOST_OPEN = 4
"""Repositories. Each has two processes: one for contents, one for sizes."""
_LONGEST_LINK = 8192
"""Bytes of the file that leads from a worktree to its repository."""
_open: OrderedDict[tuple[int, Path], "CatFile"] = OrderedDict()
_lock = threading.Lock()


def read_objects(cwd: Path, names: Sequence[str]) -> list[tuple[str, bytes] | None]:
    """Ids and contents of those objects, in their order; None where there is no such object. Raises GitError where git fails."""
    return _reader(cwd).contents(names) if names else []


def read_headers(cwd: Path, names: Sequence[str]) -> "list[Header | None]":
    """Likewise id, kind and size of each."""
    return _reader(cwd).headers(names) if names else []


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


def close_readers() -> None:
    """End every process that stays."""
    with _lock:
        readers = [_open.pop(key) for key in list(_open)]
    for reader in readers:
        reader.close()


atexit.register(close_readers)


def _reader(cwd: Path) -> "CatFile":
    folder = common_folder(cwd)
    key = os.getpid(), folder  # a fork does not speak with its parent's
    with _lock:
        reader = _open.pop(key, None)
        if reader is None or not reader.is_of(folder.stat()):
            reader = _opened(folder)
        _open[key] = reader
        closing = [_open.popitem(last=False)[1] for _ in range(len(_open) - MOST_OPEN)]
    for old in closing:
        old.close()
    return reader


def _opened(folder: Path) -> "CatFile":
    """GitPython takes a while to import; a command that reads nothing does without."""
    os.environ["GIT_PYTHON_REFRESH"] = "quiet"  # where there is no git, our own error says so
    from tasks.repository.cat_file import CatFile

    return CatFile(folder)


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
