"""Read and remove files inside a folder that others write to, and write files atomically.

A path is resolved first, and then opened part by part without following links: even if a part is replaced by a link, a pipe or
a device meanwhile, nothing outside is read or removed, and nothing blocks forever.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4

from helmsman.config.layers import display
from helmsman.errors import OperatorError

LARGEST_FILE = 1 << 20  # bytes of a configuration file or a goal; a larger one is a mistake
NAP_SECONDS = 0.01  # poll interval for a lock
FOR_ALL = 0o644  # mode of files for people: colleagues may read them, whatever the writer's umask
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block forever, a device would never end
_UNRESOLVABLE = OSError, ValueError, RuntimeError  # also for a link to outside, a NUL in a name, and circular links


class BrokenFile(OperatorError):  # noqa: N818 - a state, as in Fenced
    """A file with invalid content."""

    def __init__(self, path: Path, cause: str, line: int = 1) -> None:
        """Store cause and line separately, for lists of problems."""
        self.cause, self.line = cause, line
        super().__init__(f"{path} cannot be used: {cause}", remedy="fix the file")


def resolve_inside(root: Path, path: str | Path, what: str) -> Path:
    """Resolve a path that the repository names, following links; it need not exist.

    Raises OperatorError if it is absolute, leads out of `root` by `..` or a link, or into git's own folder. `what` names it.
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
    """Whether the path, with links resolved, is inside of `top`; it need not exist. False for circular links."""
    try:
        return path.resolve().is_relative_to(top.resolve())
    except _UNRESOLVABLE:
        return False


def is_below_link(top: Path, path: Path) -> bool:
    """Whether a folder between `top` and the path is a link: a write there would land elsewhere, even outside of `top`."""
    return any((top / folder).is_symlink() for folder in path.relative_to(top).parents[:-1])


def read_within(top: Path, name: str, most: int) -> bytes | None:
    """The first `most` bytes of a regular file; None if there is none, or it is outside.

    Follows links that stay below `top`.
    """
    with contextlib.suppress(*_UNRESOLVABLE):
        path = (top / name).resolve(strict=True)
        with _open_folder(top, path) as folder:
            return _read_and_close(os.open(path.name, _FILE, dir_fd=folder), most)
    return None


def read_plain(path: Path, most: int) -> bytes:
    """The first `most` bytes of a regular file, following any links. Raises OSError for anything else."""
    return _read_and_close(os.open(path, _FILE & ~os.O_NOFOLLOW), most)


def read_text(path: Path, expected: str) -> str:
    """Text of a file without byte order mark, with LF line ends. Raises OperatorError, and BrokenFile for invalid content."""
    try:
        if not path.is_file():
            found = "a folder" if path.is_dir() else "something else than a file" if path.exists() else "no such file"
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


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object that `write_atomic` wrote; empty if there is none."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8", errors="surrogateescape")))
    except (OSError, ValueError, TypeError):
        return {}


def remove_within(top: Path, name: str) -> None:
    """Remove a file or link. Folders, and files outside of `top`, stay."""
    with contextlib.suppress(*_UNRESOLVABLE):
        path = (top / name).parent.resolve(strict=True) / Path(name).name
        with _open_folder(top, path) as folder:
            os.unlink(path.name, dir_fd=folder)


def remove(path: Path) -> None:
    """Remove a file, link or folder; also read-only folders, such as those of Go modules."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        open_up(path)
        shutil.rmtree(path)


def replace_file(path: Path, text: str) -> None:
    """Write a file in place of whatever others put there: a link leads elsewhere, a pipe blocks."""
    remove(path)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def open_up(path: Path) -> None:
    """Make files readable and writable for git: tools write read-only caches, and agents change modes."""

    def permit(path: Path) -> None:
        if not path.is_symlink():
            with contextlib.suppress(OSError):  # another user's: git will report it
                path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))

    permit(path)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            permit(Path(folder, name))


def _read_and_close(handle: int, most: int) -> bytes:
    """Read and close a descriptor. Raises OSError unless it is a regular file."""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "something else than a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


@contextmanager
def _open_folder(top: Path, path: Path) -> Generator[int]:
    """Descriptor of the folder of a resolved path. Raises ValueError outside of `top`, OSError if a part is a link."""
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
    """Write or replace a file atomically, without following a link; create its folder. Raises OSError.

    `mode`: None for the umask's default. The file is complete even after a crash or a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_file(path, content, mode=mode) as draft:
        draft.replace(path)


@contextmanager
def draft_file(path: Path, content: str | bytes, *, mode: int | None = None) -> Generator[Path]:
    """Write the content to a temporary file next to the path, and yield it; the block may move it. Removes it at the end."""
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
    """Lock the file during the block, creating it if missing; yields its descriptor.

    Holders keep it only briefly. Raises TimeoutError if others hold it for `seconds`.
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
    """Lock an open file within `seconds`; returns whether it succeeded. The kernel releases the lock when its holder ends."""
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
