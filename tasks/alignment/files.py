"""The alignment file on the disk: read with bounds, written in one step, and nothing that somebody wrote is lost."""

import os
import tempfile
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.orient.alignment_file import is_alignment, read, render
from helmsman.records.alignment import Alignment
from tasks.loop.files import read_text as read_whole
from tasks.system.files import FOR_ALL, resolve_inside, write_atomic


def place_of(top: Path, file: str) -> Path:
    """Where the file lies. Raises OperatorError where that leads out of the repository."""
    return resolve_inside(top, file, "the alignment file")


def read_text(path: Path) -> str | None:
    """The file's text; None where there is no such file. Raises OperatorError where it cannot be read."""
    return read_whole(path, "a Markdown file") if os.path.lexists(path) else None


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


def write_alignment(path: Path, alignment: Alignment) -> None:
    """Put it in the place of whatever is there, in one step."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, render(alignment), mode=FOR_ALL)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be written", found=str(error.strerror), remedy="make room for it, or make the folder writable"
        ) from error


def keep_aside(folder: Path, text: str) -> Path:
    """Keep a text that somebody else wrote and that is about to be replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix="before-", suffix=".md", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)
