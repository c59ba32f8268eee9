"""guardrails.md on the disk, a person's file: read with bounds, written in one step, and no edit is ever overwritten.

Nobody locks a file that an editor holds. So the old file is taken aside first, compared, and the new one put down only where
there is none: an editor that saves in between keeps its text, and Helmsman's is written another time. An editor that has the old
file open still writes into that: it is looked at once more, the next time, before it goes.
"""

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from helmsman.memory.guardrails_file import LARGEST, Edits, read
from helmsman.records.lessons import Guardrail
from tasks.lock import locked_within
from tasks.places import helmsman_folder
from tasks.repository.git import Repository

PATIENCE_SECONDS = 5.0
"""For another process of ours that reads or writes it; each takes a moment."""
NAME = "guardrails.md"
_BYTES = 4
"""Of one character in UTF-8 at most."""
_TAKEN, _OLD = f".{NAME}.taken-", f".{NAME}.old-"
"""Names, with the fingerprint that follows, of a file while it is replaced and after it was."""
_FINGERPRINT = 16
_LATE = "guardrails-late-"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})
"""How file systems say that they know no second name for a file."""


class _Unusable(Exception):  # noqa: N818 - it never leaves this file
    """Why the file can't be used, in words."""


@dataclass(frozen=True)
class Seen:
    """The file as it was read."""

    edits: Edits | None = None
    """None: there is no such file yet, or it can't be used."""
    text: str | None = None
    fingerprint: str = ""
    """Of its bytes; empty where there was none."""
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


def read_edits(path: Path, known: Sequence[Guardrail], project: str, now: datetime) -> Seen:
    """What a person made of it. `known`: all of the project's guardrails, retired ones too. Never raises for what is there."""
    try:
        with _alone(path):
            rescued = _recovered(path)
            data = _bytes(path)
    except (_Unusable, OSError) as error:
        return Seen(usable=False, warnings=(_in_words(path, error),))
    if data is None:
        return Seen(warnings=rescued)
    return _seen(path, data, lambda text: read(text, known, project, now), rescued)


def write(path: Path, text: str, seen: Seen) -> Written:
    """Put a text in its place, unless somebody changed the file since it was seen. Never raises for what is there."""
    if not seen.usable:
        return Written(warning="; ".join(seen.warnings))
    if text == seen.text:
        return Written()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            warnings = _recovered(path)
            _replace(path, text.encode("utf-8", "replace"), seen.fingerprint)
    except (_Unusable, OSError) as error:
        return Written(warning=_in_words(path, error))
    return Written(changed=True, warning="; ".join(warnings))


def _seen(path: Path, data: bytes, understood: Callable[[str], Edits], warnings: tuple[str, ...]) -> Seen:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        found = f"{path} can't be read: bytes that are no UTF-8 ({error.reason}); it is left as it is"
        return Seen(usable=False, warnings=(*warnings, found))
    edits = understood(text)
    problems = tuple(f"{path}: {problem}" for problem in edits.problems)
    mark = hashlib.sha256(data).hexdigest()
    return Seen(edits, text, mark, usable=not edits.foreign, warnings=(*warnings, *problems))


# --- the file itself ----------------------------------------------------------------------------------------------


def _bytes(path: Path) -> bytes | None:
    """What is in it; None where there is no such file. No link is followed, and nothing is read that would not end."""
    if path.parent.is_symlink():
        raise _Unusable(f"{path.parent} is a link")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _Unusable("it is a link" if path.is_symlink() else str(error.strerror)) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _Unusable("it is something else than a file")
    with os.fdopen(handle, "rb") as file:
        return file.read(LARGEST * _BYTES + 1)


def _replace(path: Path, data: bytes, expected: str) -> None:
    """Take what is there aside, make sure that it is what was seen, and put the new text down where nothing is."""
    new = _beside(path, data)
    try:
        if _fingerprint(path) != expected:
            raise _Unusable(_CHANGED)
        if not expected:
            _put_down(new, path)
            return
        taken = path.with_name(f"{_TAKEN}{expected[:_FINGERPRINT]}")
        path.rename(taken)
        try:
            if _fingerprint(taken) != expected:
                raise _Unusable(_CHANGED)
            _put_down(new, path)
        finally:
            _let_go(path, taken)
    finally:
        new.unlink(missing_ok=True)


def _put_down(new: Path, path: Path) -> None:
    """Give the new file its name, unless somebody has taken that."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise _Unusable(_CHANGED) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(new, path)


def _copy(new: Path, path: Path) -> None:
    """Where a file has one name only. A copy that was cut off is no file: the old one comes back."""
    with path.open("xb") as file:
        try:
            file.write(new.read_bytes())
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _let_go(path: Path, taken: Path) -> None:
    """Of the old file: it comes back where nothing has its name now, else it waits for a last look."""
    if os.path.lexists(path):
        taken.rename(path.with_name(taken.name.replace(_TAKEN, _OLD)))
    else:
        taken.rename(path)


def _recovered(path: Path) -> tuple[str, ...]:
    """Put back what a process that was killed had taken aside, and look into old files before they go. What was kept is told."""
    for taken in sorted(path.parent.glob(f"{_TAKEN}*")):
        _let_go(path, taken)
    kept = [_kept(old) for old in sorted(path.parent.glob(f"{_OLD}*")) if not _gone(old)]
    return tuple(f"an edit came too late for {path} and is kept as {late.name}" for late in kept)


def _gone(old: Path) -> bool:
    """Whether an old file is as it was, and removed."""
    same = old.is_file() and not old.is_symlink() and _fingerprint(old).startswith(old.name.removeprefix(_OLD))
    if same:
        old.unlink()
    return same


def _kept(old: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=_LATE, suffix=".md", dir=old.parent)
    os.close(handle)
    return old.replace(name)


def _beside(path: Path, data: bytes) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{NAME}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        Path(name).chmod(stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o644)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _fingerprint(path: Path) -> str:
    data = _bytes(path)
    return "" if data is None else hashlib.sha256(data).hexdigest()


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Among processes of ours. Where there is no folder yet there is nothing to guard."""
    if not path.parent.is_dir():
        yield
        return
    if path.parent.is_symlink():
        raise _Unusable(f"{path.parent} is a link")
    handle = os.open(path.with_name(f".{NAME}.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        if not locked_within(handle, PATIENCE_SECONDS):
            raise _Unusable("another process holds it")
        yield
    finally:
        os.close(handle)


def _in_words(path: Path, error: Exception) -> str:
    found = error.strerror if isinstance(error, OSError) else str(error)
    return f"{path} is left as it is: {found}"


_CHANGED = "somebody changed it meanwhile"
