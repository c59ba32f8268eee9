"""The files of an embedded store: nobody else reads them, and none of them leads somewhere else."""

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from helmsman.errors import WorldError
from tasks.lock import locked_within

PATIENCE_SECONDS = 30.0
"""Changes are short. Only a restoration waits for all of them, and all of them for it."""


def prepare(file: Path, *, ours: bool) -> bool:
    """Make the folder and an empty file where there are none; whether there was none. A folder that is not `ours` keeps its
    mode. Raises WorldError where something else stands there.
    """
    folder = file.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if ours:
            _only_ours(folder)
        return _made(file)
    except OSError as error:
        raise WorldError(
            "the memory store cannot be made",
            expected=f"a file of this user's at {file}",
            found=error.strerror or type(error).__name__,
            remedy="make the folder writable for this user, or name another place in memory.url",
        ) from None


def beside(file: Path, end: str) -> Path:
    return file.with_name(f"{file.name}{end}")


@contextmanager
def used(file: Path) -> Generator[None]:
    """Change the store while the block runs; nobody restores it meanwhile."""
    with _locked(file, fcntl.LOCK_SH):
        yield


@contextmanager
def alone(file: Path) -> Generator[None]:
    """Exchange the store's files while the block runs; nobody changes it meanwhile."""
    with _locked(file, fcntl.LOCK_EX):
        yield


def opened_own(file: Path, flags: int) -> int:
    """A handle on one of the store's files that is made where it is not there."""
    return os.open(file, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def refuse_links(*files: Path) -> None:
    for file in files:
        if file.is_symlink():
            raise _strange(file, "a link")


def _only_ours(folder: Path) -> None:
    if folder.is_symlink():
        raise _strange(folder, "a link")
    if stat.S_IMODE(folder.stat().st_mode) != 0o700:  # noqa: PLR2004 - nobody else's
        folder.chmod(0o700)


def _made(file: Path) -> bool:
    refuse_links(file, beside(file, "-wal"), beside(file, "-shm"))
    try:
        found = file.lstat()
    except FileNotFoundError:
        os.close(opened_own(file, os.O_WRONLY))
        return True
    if not stat.S_ISREG(found.st_mode):
        raise _strange(file, "a folder" if stat.S_ISDIR(found.st_mode) else "no plain file")
    if stat.S_IMODE(found.st_mode) & 0o077:
        file.chmod(0o600)
    return False


def _strange(file: Path, found: str) -> WorldError:
    return WorldError(
        "the memory store is not what it should be",
        expected=f"a plain file or folder of this user's at {file}",
        found=found,
        remedy="move it away, or name another place in memory.url",
    )


@contextmanager
def _locked(file: Path, how: int) -> Generator[None]:
    handle = _handle(beside(file, ".lock"))
    try:
        if not locked_within(handle, PATIENCE_SECONDS, how):
            found = f"another process holds {file} for more than {PATIENCE_SECONDS:.0f} s"
            raise WorldError("the memory store is busy", found=found, remedy="end that process")
        yield
    finally:
        os.close(handle)


def _handle(lock: Path) -> int:
    try:
        return opened_own(lock, os.O_RDWR)
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise WorldError("the memory store cannot be locked", expected=f"a writable {lock}", found=found) from None
