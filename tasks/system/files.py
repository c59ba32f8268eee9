"""Files: read and removed inside a folder that others write to, and written whole or not at all.

A path is resolved first, and then opened part by part without following a link: whatever is swapped for a link, a pipe or a
device meanwhile, nothing outside is read or removed, and nothing blocks for ever.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from uuid import uuid4

from helmsman.config.layers import display
from helmsman.errors import OperatorError

LARGEST_FILE = 1 << 20  # bytes of a file of configuration or of a goal; more is a mistake
NAP_SECONDS = 0.01  # between two looks at whether a lock is free
FOR_ALL = 0o644  # the mode of what people read: a colleague may look at it, whatever the umask of who happened to write it
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block for ever, a device would never end
_NOT_THERE = OSError, ValueError, RuntimeError  # also a link that leads out, a zero byte in a name, and links in a circle


class BrokenFile(OperatorError):  # noqa: N818 - what was found, as in Fenced
    """A file that cannot be read as what it is meant to be."""

    def __init__(self, path: Path, cause: str, line: int = 1) -> None:
        """Keep the cause and its line apart, for whoever lists flaws."""
        self.cause, self.line = cause, line
        super().__init__(f"{path} cannot be used: {cause}", remedy="fix the file")


def resolve_inside(root: Path, path: str | Path, what: str) -> Path:
    """Where a path that the repository names lies, all links followed; there need be nothing.

    Raises OperatorError where it is absolute, leads out of `root` by `..` or a link, or into git's own folder. `what` names it.
    """
    text = str(path)
    parts = Path(text).parts
    if text.isprintable() and not Path(text).is_absolute() and ".." not in parts and lies_within(root, root / text):
        found = (root / text).resolve()
        if ".git" not in {part.casefold() for part in (*found.relative_to(root.resolve()).parts, *parts)}:
            return found
    raise OperatorError(
        f"{what} leads out of its repository",
        expected="a path from the top of the repository, without .., and no link to somewhere else",
        found=display(text),
        remedy="put the file into the repository, or name it on the command line",
    )


def lies_within(top: Path, path: Path) -> bool:
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


def read_within(top: Path, name: str, most: int) -> bytes | None:
    """The first `most` bytes of a plain file; None where there is none, or where it lies outside.

    A link that stays below `top` is followed as it stands when we look.
    """
    with contextlib.suppress(*_NOT_THERE):
        path = (top / name).resolve(strict=True)
        with _folder_of(top, path) as folder:
            return _read(os.open(path.name, _FILE, dir_fd=folder), most)
    return None


def read_plain(path: Path, most: int) -> bytes:
    """The first `most` bytes of a plain file, wherever links lead. Raises OSError for anything else."""
    return _read(os.open(path, _FILE & ~os.O_NOFOLLOW), most)


def read_text(path: Path, expected: str) -> str:
    """A file's text without byte order mark and with plain line ends."""
    try:
        if not path.is_file():
            found = "something else" if path.exists() else "nothing"
            raise OperatorError(f"{path} cannot be read", expected=expected, found=found, remedy="correct its path")
        data = read_plain(path, LARGEST_FILE + 1)
    except OSError as error:
        found, remedy = str(error.strerror), "make it readable"
        raise OperatorError(f"{path} cannot be read", expected=expected, found=found, remedy=remedy) from error
    if len(data) > LARGEST_FILE:
        raise BrokenFile(path, f"it is larger than {LARGEST_FILE} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenFile(path, f"line {line} is not UTF-8: {error.reason}", line) from None


def remove_within(top: Path, name: str) -> None:
    """Remove a file, or the link that lies there. What is no file, and what lies outside, stays."""
    with contextlib.suppress(*_NOT_THERE):
        path = (top / name).parent.resolve(strict=True) / Path(name).name
        with _folder_of(top, path) as folder:
            os.unlink(path.name, dir_fd=folder)


def remove(path: Path) -> None:
    """Remove what lies there, whatever it is; a folder that was made read-only too, as Go makes those of its modules."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        open_up(path)
        shutil.rmtree(path)


def open_up(path: Path) -> None:
    """Give ourselves the rights that git needs: tools write read-only caches, and agents play with modes."""

    def permit(path: Path) -> None:
        if not path.is_symlink():
            with contextlib.suppress(OSError):  # somebody else's: git will say so
                path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))

    permit(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            permit(Path(folder, name))


def _read(handle: int, most: int) -> bytes:
    """And close it, which a file object does not do for a folder: it refuses to be made of one."""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "something else than a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


@contextmanager
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


def write_atomic(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """In the place of whatever lies there, in one step; what a link leads to is not written. Raises OSError.

    `mode`: None for what the umask leaves. The file is whole after a crash and after a power cut too.
    """
    with drafted(path, content, mode=mode) as draft:
        draft.replace(path)


@contextmanager
def drafted(path: Path, content: str | bytes, *, mode: int | None = None) -> Generator[Path]:
    """What the file shall hold, on the disk beside it, for whoever puts it there. Of a draft that nobody took nothing is left."""
    draft = path.with_name(f".helmsman-{uuid4().hex}")
    try:
        with draft.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, mode: int = 0o600, *, seconds: float = inf) -> Generator[int]:
    """Hold the lock of a file of that name, made where it is missing, while the block runs; yields it open.

    Waits for its holder, who has something short to do. Raises TimeoutError where others hold it for so many seconds.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        if not locked_within(handle, seconds):
            raise TimeoutError(errno.ETIMEDOUT, "another process holds it", str(path))
        yield handle
    finally:
        os.close(handle)


def locked_within(handle: int, seconds: float) -> bool:
    """Whether an open file could be locked within so long, by the kernel's lock that ends with its holder."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(NAP_SECONDS)
        else:
            return True
