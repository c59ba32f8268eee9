"""Files below a folder that somebody else writes to: found first, then opened part by part without following a link.

Whatever is swapped for a link, a pipe or a device meanwhile, nothing outside is read or removed, and nothing blocks for ever.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block for ever, a device would never end
_NOT_THERE = OSError, ValueError, RuntimeError
"""Also a link that leads out, a zero byte in a name, and links in a circle."""


def read_beneath(top: Path, name: str, most: int) -> bytes | None:
    """The first `most` bytes of a plain file; None where there is none, or where it lies outside.

    A link that stays below `top` is followed as it stands when we look.
    """
    with contextlib.suppress(*_NOT_THERE):
        path = (top / name).resolve(strict=True)
        with _folder_of(top, path) as folder:
            return _read(os.open(path.name, _FILE, dir_fd=folder), most)
    return None


def lies_beneath(top: Path, path: Path) -> bool:
    """Whether it does once all links are followed, be it there or not. Links in a circle lead nowhere."""
    try:
        return path.resolve().is_relative_to(top.resolve())
    except _NOT_THERE:
        return False


def leads_out(top: Path, name: str) -> bool:
    """Whether something is there that is not read because it lies outside."""
    with contextlib.suppress(*_NOT_THERE):
        return not (top / name).resolve(strict=True).is_relative_to(top.resolve(strict=True))
    return False


def read_plain(path: Path, most: int) -> bytes:
    """The first `most` bytes of a plain file, wherever links lead. Raises OSError for anything else."""
    return _read(os.open(path, _FILE & ~os.O_NOFOLLOW), most)


def remove_beneath(top: Path, name: str) -> None:
    """Remove a file, or the link that lies there. What is no file, and what lies outside, stays."""
    with contextlib.suppress(*_NOT_THERE):
        path = (top / name).parent.resolve(strict=True) / Path(name).name
        with _folder_of(top, path) as folder:
            os.unlink(path.name, dir_fd=folder)


def _read(handle: int, most: int) -> bytes:
    """And close it, which a file object does not do for a folder: it refuses to be made of one."""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "something else than a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _folder_of(top: Path, path: Path) -> Generator[int]:
    """The folder that a path without links lies in. Raises ValueError outside of `top`, OSError where a link is on the way."""
    root = top.resolve(strict=True)
    parts = path.relative_to(root).parts[:-1]
    with contextlib.ExitStack() as stack:
        folder = None
        for part in (root, *parts):
            folder = os.open(part, _FOLDER, dir_fd=folder)
            stack.callback(os.close, folder)
        assert folder is not None  # noqa: S101 - for the type checker; the root is one
        yield folder
