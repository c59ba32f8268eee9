"""The alignment file on the disk: read with bounds, written in one step, and nothing that somebody wrote is lost."""

import os
import tempfile
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.orient.alignment_file import LARGEST, is_alignment, read, render
from helmsman.records.alignment import Alignment
from tasks.system.files import FOR_ALL, lies_within, read_plain, write_atomic

_BYTES = 4
"""Of one character in UTF-8 at most."""


def place_of(top: Path, file: str) -> Path:
    """Where the file lies. Raises OperatorError where a link on the way leads out of the repository, or the file is one."""
    path = top / file
    is_link = os.path.islink(path)  # noqa: PTH114 - Path.is_symlink raises for a name that none can have
    if not lies_within(top, path.parent) or is_link:
        raise OperatorError(
            "the alignment file is not in the repository",
            expected="a file, and no link",
            found=str(path),
            remedy="give another path",
        )
    return path


def read_text(path: Path) -> str | None:
    """The file's text; None where there is no such file. Raises OperatorError where it cannot be read."""
    try:
        if not path.exists():
            return None
        return read_plain(path, LARGEST * _BYTES + 1).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"bytes that are no UTF-8 ({error.reason})") from error
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error


def read_alignment(path: Path) -> Alignment | None:
    """What the file says; None where there is none. Raises OperatorError where it is no alignment, with the line."""
    text = read_text(path)
    return None if text is None else understood(path, text)


def understood(path: Path, text: str) -> Alignment:
    found = read(text)
    if isinstance(found, str):
        kind = "cannot be read" if is_alignment(text) else "is no alignment"
        remedy = "fix the file" if is_alignment(text) else "move it away, or give another path"
        raise OperatorError(f"{path} {kind}", found=found, remedy=f"{remedy}; docs/align.md shows its form")
    return found


def write_alignment(path: Path, alignment: Alignment) -> str:
    """Put it in the place of whatever is there, in one step. Returns the text that stands there now."""
    text = render(alignment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text, mode=FOR_ALL)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be written", found=str(error.strerror), remedy="make room for it, or make the folder writable"
        ) from error
    return text


def keep_aside(folder: Path, text: str) -> Path:
    """Keep a text that somebody else wrote and that is about to be replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix="before-", suffix=".md", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


def _unreadable(path: Path, found: str) -> OperatorError:
    return OperatorError(f"{path} cannot be read", expected="a Markdown file", found=found, remedy="fix it, or give another path")
