"""Files of a wiki on the disk, where an agent or a person may have put anything: read with bounds, written in one step."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.plain import clean
from tasks.system.files import FOR_ALL, write_atomic
from tasks.system.secrets import redact
from tasks.worktrees.staging import open_up

LARGEST = 256_000
"""Bytes of a page."""
READ_ONLY = 0o444


def read_bytes(path: Path) -> bytes | None:
    """A plain file's content; None where nothing lies there. Raises OperatorError for anything else, or too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe would block for ever
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _odd(path, str(error.strerror)) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise _odd(path, f"{found.st_size:,} bytes" if stat.S_ISREG(found.st_mode) else "something else than a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(LARGEST)
    finally:
        os.close(handle)


def read_page(path: Path) -> str | None:
    """Its text; None where nothing lies there. Raises OperatorError."""
    content = read_bytes(path)
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _odd(path, "bytes that are no UTF-8") from error


def write_page(path: Path, text: str) -> None:
    real_folder(path.parent)
    write_atomic(path, redact(text).encode(errors="replace"), mode=FOR_ALL)


def put_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with these read-only files, whole or not at all. Raises OSError where it is there."""
    real_folder(folder.parent)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, content in files.items():
            write_atomic(made / name, content, mode=READ_ONLY)
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def real_folder(folder: Path) -> None:
    """Make a folder where none is. Raises OperatorError where a link or a file is in its place."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise _odd(folder, "no folder")
    folder.mkdir(parents=True, exist_ok=True)


def fresh_folder(folder: Path) -> None:
    """An empty folder in the place of whatever is there."""
    if folder.is_dir() and not folder.is_symlink():
        open_up(folder)
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)
    folder.mkdir()


def names_in(folder: Path, most: int) -> list[str]:
    """Names of what lies in a folder, sorted, so many at most; none where it is no folder of ours."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(_names(folder))[:most]


def _names(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries if not entry.name.startswith("."))


def _odd(path: Path, found: str) -> OperatorError:
    where = clean(f"{path.parent.name}/{path.name}")
    return OperatorError(f"{where} of the wiki is left as it is", expected="a file of UTF-8, a folder", found=found)
