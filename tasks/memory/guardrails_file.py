"""A project's guardrails.md: what a person wrote goes into the store, what changed there comes out.

The file is a person's. It is written in one step, and only while it is as it was read: what they save in between stays.
"""

import errno
import os
import stat
from codecs import BOM_UTF8
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.memory.guardrails_page import LARGEST, Edits, read, render
from helmsman.records.events import MemoryNoted
from helmsman.records.lessons import Guardrail
from tasks.lock import locked_within
from tasks.observers.journal import publish
from tasks.places import helmsman_folder
from tasks.repository.git import Repository
from tasks.system.files import read_plain, write_atomic

if TYPE_CHECKING:
    from tasks.memory.store import Store

PATIENCE_SECONDS = 5.0
"""For another process of ours that reads or writes it; each takes a moment."""
NAME = "guardrails.md"
_BYTES = 4
"""Of one character in UTF-8 at most."""


@dataclass(frozen=True)
class Seen:
    """The file as it was read."""

    edits: Edits | None = None
    """None: there is no such file yet, or it can't be used."""
    data: bytes | None = None
    usable: bool = True
    """Whether it may be written."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    changed: bool = False
    warning: str = ""
    """Why it was not written; empty where it was, or needed not to be."""


def guardrails_place(repository: Repository) -> Path:
    """Beside the folder of the loops, where every worktree finds it and no commit takes it."""
    return helmsman_folder(repository.common) / NAME


def sync_edits(repository: Repository, store: "Store", project: str, now: datetime) -> Seen:
    """Take over what a person made of the file since it was written. Returns the file as it was then."""
    seen = read_edits(guardrails_place(repository), store.guardrails(project, retired=True), project, now)
    _note(seen.warnings)
    edited = seen.edits.changed if seen.edits else ()
    if edited:
        with store.change() as change:
            for one in edited:
                change.put_guardrail(one)
        _note(tuple(f"guardrails.md: a person has {_what(one)} {one.id}: {one.instruction}" for one in edited))
    return seen


def write_down(repository: Repository, store: "Store", project: str, now: datetime) -> None:
    """Bring the file up to date, after what a person wrote meanwhile; where there is nothing, no file is made."""
    seen = sync_edits(repository, store, project, now)
    if seen.edits is not None or store.guardrails(project, retired=True):
        written = _written(repository, store, project, seen)
        _note((written.warning,) if written.warning else ())


def delete(repository: Repository, store: "Store", gone: Guardrail, now: datetime) -> Written:
    """Remove a guardrail for good, from the store and the file, and take over whatever else a person changed there.

    The file is read while the guardrail is still known: later its words would be kept there as a note of somebody's.
    """
    seen = read_edits(guardrails_place(repository), store.guardrails(gone.project, retired=True), gone.project, now)
    with store.change() as change:
        for one in seen.edits.changed if seen.edits else ():
            if one.id != gone.id:
                change.put_guardrail(one)
        change.forget(gone.id)
    written = _written(repository, store, gone.project, seen) if seen.edits and seen.usable else Written()
    return Written(written.changed, "; ".join(filter(None, (*seen.warnings, written.warning))))


def _written(repository: Repository, store: "Store", project: str, seen: Seen) -> Written:
    """In the order that the file has; what is new comes last."""
    known = store.guardrails(project, retired=True)
    place = {one.id: at for at, one in enumerate(seen.edits.guardrails)} if seen.edits else {}
    standing = sorted((one for one in known if not one.retired), key=lambda one: place.get(one.id, len(place)))
    text = render(standing, [one for one in known if one.retired], seen.edits.rest if seen.edits else "")
    return write(guardrails_place(repository), text, seen)


def _what(one: Guardrail) -> str:
    if one.retired:
        return "removed"
    return "added" if one.by == "person" else "worded"


def _note(lines: tuple[str, ...]) -> None:
    if lines:
        publish(MemoryNoted(lines=lines))


# --- the file itself ----------------------------------------------------------------------------------------------


def read_edits(path: Path, known: Sequence[Guardrail], project: str, now: datetime) -> Seen:
    """What a person made of it. `known`: all of the project's guardrails, retired ones too. Never raises for what is there."""
    try:
        with _alone(path):
            data = _bytes(path)
        if data is None:
            return Seen()
        text = _plain(data).decode()
    except (OSError, UnicodeDecodeError) as error:
        return Seen(usable=False, warnings=(_left(path, error),))
    edits = read(text, known, project, now)
    return Seen(edits, data, usable=not edits.foreign, warnings=tuple(f"{path}: {problem}" for problem in edits.problems))


def write(path: Path, text: str, seen: Seen) -> Written:
    """Put a text in its place, unless somebody changed the file since it was seen. Never raises for what is there."""
    if not seen.usable:
        return Written(warning="; ".join(seen.warnings))
    new = text.encode("utf-8", "replace")
    if seen.data is not None and new == _plain(seen.data):
        return Written()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            if _bytes(path) != seen.data:
                return Written(warning=f"{path} is left as it is: somebody changed it meanwhile")
            write_atomic(path, new, mode=0o644 if seen.data is None else stat.S_IMODE(path.stat().st_mode))
    except OSError as error:
        return Written(warning=_left(path, error))
    return Written(changed=True)


def _plain(data: bytes) -> bytes:
    """As we would write it."""
    return data.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")


def _bytes(path: Path) -> bytes | None:
    """What is in it; None where there is no such file. No link is followed, and nothing is read that would not end."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    try:
        return read_plain(path, LARGEST * _BYTES + 1)
    except FileNotFoundError:
        return None


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Among processes of ours. Where there is no folder yet there is nothing to guard."""
    if path.parent.is_symlink():
        raise OSError(0, f"{path.parent} is a link")
    if not path.parent.is_dir():
        yield
        return
    handle = os.open(path.with_name(f".{NAME}.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        if not locked_within(handle, PATIENCE_SECONDS):
            raise OSError(0, "another process holds it")
        yield
    finally:
        os.close(handle)


def _left(path: Path, error: OSError | UnicodeDecodeError) -> str:
    found = error.strerror if isinstance(error, OSError) else f"bytes that are no UTF-8 ({error.reason})"
    return f"{path} is left as it is: {found}"
