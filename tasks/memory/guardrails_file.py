"""Synchronize a project's guardrails.md with the store: import people's edits, and write changes of the store.

The file belongs to people. It is written atomically, and only if it is unchanged since it was read, so edits in between stay. Our
processes need no lock: the file records its source, and the next process brings it up to date.
"""

import errno
import stat
from codecs import BOM_UTF8
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from helmsman.memory.guardrails_page import LARGEST, Edits, read, render
from helmsman.records.lessons import Guardrail
from tasks.repository.git import Repository
from tasks.system.files import FOR_ALL, read_plain, write_atomic
from tasks.system.journal import note
from tasks.system.paths import helmsman_folder

if TYPE_CHECKING:
    from tasks.memory.store import Store

NAME = "guardrails.md"
_BYTES = 4  # maximum for a character in UTF-8


class ReadFile(NamedTuple):
    """The file when it was read."""

    edits: Edits = Edits()
    data: bytes | None = None  # None: it is missing


def guardrails_path(repository: Repository) -> Path:
    """Path of the file, next to the loops' folder: shared by all worktrees, and never committed."""
    return helmsman_folder(repository.common) / NAME


def sync_edits(repository: Repository, store: "Store", project: str, now: datetime) -> ReadFile | None:
    """Import edits of the file since it was written. Returns the file as read; None if it must not be written."""
    path = guardrails_path(repository)
    try:
        file = read_edits(path, store.guardrails(project, retired=True), project, now)
    except (OSError, UnicodeDecodeError) as error:
        note(_unchanged_message(path, error))
        return None
    edited = file.edits.changed
    if edited:
        with store.change() as change:
            for guardrail in edited:
                change.put_guardrail(guardrail)
    actions = ((edit, "removed" if edit.retired else "added" if edit.by == "person" else "reworded") for edit in edited)
    notes = (f"guardrails.md: a person {what} {edit.id}: {edit.instruction}" for edit, what in actions)
    note(*(f"{path}: {problem}" for problem in file.edits.problems), *notes)
    return None if file.edits.broken else file


def write_guardrails(repository: Repository, store: "Store", project: str, now: datetime) -> None:
    """Import edits, then write the guardrails in the file's order, new ones last; without guardrails, create no file."""
    file, path = sync_edits(repository, store, project, now), guardrails_path(repository)
    active = store.guardrails(project)
    if file is None or (file.data is None and not active):
        return
    place = {guardrail.id: at for at, guardrail in enumerate(file.edits.guardrails)}
    active.sort(key=lambda guardrail: place.get(guardrail.id, len(place)))
    try:
        write(path, render(active, file.edits.rest), file)
    except OSError as error:
        note(_unchanged_message(path, error))


def read_edits(path: Path, known: Sequence[Guardrail], project: str, now: datetime) -> ReadFile:
    """Read the edits. `known`: all of the project's guardrails, including retired ones. Raises OSError, UnicodeDecodeError."""
    data = _read_bytes(path)
    return ReadFile() if data is None else ReadFile(read(_normalize(data).decode(), known, project, now), data)


def write(path: Path, text: str, seen: ReadFile) -> bool:
    """Write the text if it differs. Raises OSError, also if the file has changed since it was read."""
    new = text.encode("utf-8", "replace")
    if seen.data is not None and new == _normalize(seen.data):
        return False
    if _read_bytes(path) != seen.data:
        raise OSError(0, "it changed after it was read")
    write_atomic(path, new, mode=FOR_ALL if seen.data is None else stat.S_IMODE(path.stat().st_mode))
    return True


def _normalize(data: bytes) -> bytes:
    """The content as we would write it."""
    return data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")


def _read_bytes(path: Path) -> bytes | None:
    """Content of the file; None if there is none. Does not follow links, and reads only regular files of limited size."""
    if path.is_symlink() or path.parent.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    try:
        return read_plain(path, LARGEST * _BYTES + 1)
    except FileNotFoundError:
        return None


def _unchanged_message(path: Path, error: OSError | UnicodeDecodeError) -> str:
    return f"{path} was not changed: {getattr(error, 'strerror', None) or error}"
