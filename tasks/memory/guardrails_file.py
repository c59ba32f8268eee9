"""A project's guardrails.md: what a person wrote goes into the store, what changed there comes out.

The file is a person's. It is written in one step, and only while it is as it was read: what they save in between stays. Processes
of ours need no lock: whichever writes last, the file says what it was made of, and the next one brings it up to date.
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
_BYTES = 4  # of one character in UTF-8 at most


@dataclass(frozen=True)
class ReadFile:
    """The file as it was read."""

    edits: Edits | None = None  # None: there is no such file yet, or it can't be used
    data: bytes | None = None
    usable: bool = True  # whether it may be written
    warnings: tuple[str, ...] = ()


def guardrails_place(repository: Repository) -> Path:
    """Beside the folder of the loops, where every worktree finds it and no commit takes it."""
    return helmsman_folder(repository.common) / NAME


def sync_edits(repository: Repository, store: "Store", project: str, now: datetime) -> ReadFile:
    """Take over what a person made of the file since it was written. Returns the file as it was then."""
    seen = read_edits(guardrails_place(repository), store.guardrails(project, retired=True), project, now)
    edited = seen.edits.changed if seen.edits else ()
    if edited:
        with store.change() as change:
            for one in edited:
                change.put_guardrail(one)
    done = ((one, "removed" if one.retired else "added" if one.by == "person" else "worded") for one in edited)
    _note((*seen.warnings, *(f"guardrails.md: a person has {what} {one.id}: {one.instruction}" for one, what in done)))
    return seen


def write_down(repository: Repository, store: "Store", project: str, now: datetime) -> None:
    """Bring the file up to date, after what a person wrote meanwhile; where there is nothing, no file is made."""
    seen = sync_edits(repository, store, project, now)
    try:
        _written(repository, store, project, seen)
    except OSError as error:
        _note((_left(guardrails_place(repository), error),))


def delete(repository: Repository, store: "Store", gone: Guardrail, now: datetime) -> str:
    """Remove a guardrail for good, from the store and the file, and take over whatever else a person changed there. Returns what
    became of the file, in words.

    The file is read while the guardrail is still known: later its words would be taken for somebody's new one.
    """
    seen = sync_edits(repository, store, gone.project, now)
    with store.change() as change:
        change.forget(gone.id)
    try:
        changed = seen.edits is not None and _written(repository, store, gone.project, seen)
    except OSError as error:
        return _left(guardrails_place(repository), error)
    return f"{NAME} is without it now" if changed else "; ".join(seen.warnings)


def _written(repository: Repository, store: "Store", project: str, seen: ReadFile) -> bool:
    """In the order that the file has; what is new comes last. Raises OSError."""
    standing = store.guardrails(project)
    if not seen.usable or (seen.edits is None and not standing):
        return False
    place = {one.id: at for at, one in enumerate(seen.edits.guardrails)} if seen.edits else {}
    standing.sort(key=lambda one: place.get(one.id, len(place)))
    return write(guardrails_place(repository), render(standing, seen.edits.rest if seen.edits else ""), seen)


def _note(lines: tuple[str, ...]) -> None:
    if lines:
        publish(MemoryNoted(lines=lines))


def read_edits(path: Path, known: Sequence[Guardrail], project: str, now: datetime) -> ReadFile:
    """What a person made of it. `known`: all of the project's guardrails, retired ones too. Never raises for what is there."""
    try:
        data = _bytes(path)
        if data is None:
            return ReadFile()
        text = _plain(data).decode()
    except (OSError, UnicodeDecodeError) as error:
        return ReadFile(usable=False, warnings=(_left(path, error),))
    edits = read(text, known, project, now)
    return ReadFile(edits, data, usable=not edits.broken, warnings=tuple(f"{path}: {problem}" for problem in edits.problems))


def write(path: Path, text: str, seen: ReadFile) -> bool:
    """Put a text in its place, where it is another one. Raises OSError, also where the file has changed since it was seen."""
    new = text.encode("utf-8", "replace")
    if seen.data is not None and new == _plain(seen.data):
        return False
    if _bytes(path) != seen.data:
        raise OSError(0, "somebody changed it meanwhile")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, new, mode=FOR_ALL if seen.data is None else stat.S_IMODE(path.stat().st_mode))
    return True


def _plain(data: bytes) -> bytes:
    """As we would write it."""
    return data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")


def _bytes(path: Path) -> bytes | None:
    """What is in it; None where there is no such file. No link is followed, and nothing is read that would not end."""
    if path.is_symlink() or path.parent.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    try:
        return read_plain(path, LARGEST * _BYTES + 1)
    except FileNotFoundError:
        return None


def _left(path: Path, error: OSError | UnicodeDecodeError) -> str:
    found = error.strerror if isinstance(error, OSError) else f"bytes that are not UTF-8 ({error.reason})"
    return f"{path} is left as it is: {found}"
