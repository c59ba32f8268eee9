"""Synchronize a project's guardrails.md with the store: import people's edits, and write changes of the store.

The file belongs to people. It is written atomically, and only if it is unchanged since it was read, so edits in between stay. Our
processes need no lock: the file records its source, and the next process brings it up to date.
"""

import errno
import stat
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.memory.guardrails_page import LARGEST, Edits, read, render
from helmsman.records.events import MemoryNoted
from helmsman.records.lessons import Guardrail
from tasks.repository.git import Repository
from tasks.system.files import FOR_ALL, read_plain, write_atomic
from tasks.system.journal import publish
from tasks.system.paths import helmsman_folder

if TYPE_CHECKING:
    from tasks.memory.store import Store

NAME = "guardrails.md"
_BYTES = 4  # maximum for a character in UTF-8


@dataclass(frozen=True)
class ReadFile:
    """Content of the file when it was read."""

    edits: Edits | None = None  # None: the file is missing or invalid
    data: bytes | None = None
    usable: bool = True  # whether it may be written
    warnings: tuple[str, ...] = ()


def guardrails_path(repository: Repository) -> Path:
    """Path of the file, next to the loops' folder: shared by all worktrees, and never committed."""
    return helmsman_folder(repository.common) / NAME


def sync_edits(repository: Repository, store: "Store", project: str, now: datetime) -> ReadFile:
    """Import edits of the file since it was written. Returns the file as read."""
    file = read_edits(guardrails_path(repository), store.guardrails(project, retired=True), project, now)
    edited = file.edits.changed if file.edits else ()
    if edited:
        with store.change() as change:
            for guardrail in edited:
                change.put_guardrail(guardrail)
    actions = ((edit, "removed" if edit.retired else "added" if edit.by == "person" else "reworded") for edit in edited)
    notes = (f"guardrails.md: a person {what} {edit.id}: {edit.instruction}" for edit, what in actions)
    _publish_notes((*file.warnings, *notes))
    return file


def write_guardrails(repository: Repository, store: "Store", project: str, now: datetime) -> None:
    """Import edits, then bring the file up to date; without guardrails, create no file."""
    file = sync_edits(repository, store, project, now)
    try:
        _write_active(repository, store, project, file)
    except OSError as error:
        _publish_notes((_unchanged_message(guardrails_path(repository), error),))


def delete_guardrail(repository: Repository, store: "Store", gone: Guardrail, now: datetime) -> str:
    """Delete a guardrail for good from the store and the file, and import other edits of the file. Returns a message about the
    file.

    Reads the file while the guardrail is still known: later it would look like a new one.
    """
    file = sync_edits(repository, store, gone.project, now)
    with store.change() as change:
        change.forget(gone.id)
    try:
        changed = file.edits is not None and _write_active(repository, store, gone.project, file)
    except OSError as error:
        return _unchanged_message(guardrails_path(repository), error)
    return f"{NAME} no longer has it" if changed else "; ".join(file.warnings)


def _write_active(repository: Repository, store: "Store", project: str, seen: ReadFile) -> bool:
    """Write the guardrails in the file's order, new ones last. Raises OSError."""
    active = store.guardrails(project)
    if not seen.usable or (seen.edits is None and not active):
        return False
    place = {guardrail.id: at for at, guardrail in enumerate(seen.edits.guardrails)} if seen.edits else {}
    active.sort(key=lambda guardrail: place.get(guardrail.id, len(place)))
    return write(guardrails_path(repository), render(active, seen.edits.rest if seen.edits else ""), seen)


def _publish_notes(lines: tuple[str, ...]) -> None:
    if lines:
        publish(MemoryNoted(lines=lines))


def read_edits(path: Path, known: Sequence[Guardrail], project: str, now: datetime) -> ReadFile:
    """Read the edits. `known`: all of the project's guardrails, including retired ones. Never raises for invalid content."""
    try:
        data = _read_bytes(path)
        if data is None:
            return ReadFile()
        text = _normalize(data).decode()
    except (OSError, UnicodeDecodeError) as error:
        return ReadFile(usable=False, warnings=(_unchanged_message(path, error),))
    edits = read(text, known, project, now)
    return ReadFile(edits, data, usable=not edits.broken, warnings=tuple(f"{path}: {problem}" for problem in edits.problems))


def write(path: Path, text: str, seen: ReadFile) -> bool:
    """Write the text if it differs. Raises OSError, also if the file has changed since it was read."""
    new = text.encode("utf-8", "replace")
    if seen.data is not None and new == _normalize(seen.data):
        return False
    if _read_bytes(path) != seen.data:
        raise OSError(0, "it changed after it was read")
    path.parent.mkdir(parents=True, exist_ok=True)
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
    reason = error.strerror if isinstance(error, OSError) else f"bytes that are not UTF-8 ({error.reason})"
    return f"{path} was not changed: {reason}"
