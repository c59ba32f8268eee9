"""`helmsman memory export` and `import`: everything that is known, from one machine to another."""

import os
import re
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from deployments.memory.opened import answer, emit, opened_memory, tell_notes
from deployments.memory.pages import import_lines, size
from helmsman.errors import OperatorError
from helmsman.plain import clean

STANDARD_OUTPUT = Path("-")
LONGEST_PREFIX = 100
_CHECKSUM = re.compile(r'"sha256":"([0-9a-f]{64})"')


@dataclass(frozen=True)
class Written:
    bytes: int
    sha256: str
    """That the document names."""


def export_to(repo: Path, file: Path, *, force: bool, as_json: bool) -> None:
    """Write the document whole or not at all; `-`: to standard output, and nothing else."""
    if file == STANDARD_OUTPUT:
        _print(repo)
        return
    _refuse(file, force=force)
    with opened_memory(repo) as memory:
        written = _write(file, memory.store.export(), force=force)
        path = str(file.absolute())
        line = f"{clean(path)}: {size(written.bytes)}, SHA-256 {written.sha256}"
        answer(memory, [line], {"file": path, **asdict(written)}, as_json=as_json)


def import_from(repo: Path, file: Path, *, as_json: bool) -> None:
    with opened_memory(repo) as memory:
        merged = memory.store.import_(file)
        answer(memory, import_lines(merged), asdict(merged), as_json=as_json)


def _print(repo: Path) -> None:
    """From a file of nobody's: who reads it may take all day, while a server ends what asks and does not listen."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as whole:
        with opened_memory(repo) as memory:
            tell_notes(memory)
            _lay_ready(whole, memory.store.export())
        emit(whole)


def _lay_ready(whole: IO[str], pieces: Iterable[str]) -> None:
    try:
        whole.writelines(pieces)
        whole.seek(0)
    except OSError as error:
        found, remedy = f"{tempfile.gettempdir()}: {error.strerror}", "free some space there, or name another folder by TMPDIR"
        raise OperatorError("nothing was exported: there is no room to get it ready", found=found, remedy=remedy) from error


def _refuse(file: Path, *, force: bool) -> None:
    try:
        found = os.lstat(file)
    except FileNotFoundError:
        return
    except OSError as error:  # a name that no file can have
        raise _cannot(file, error.strerror or str(error)) from error
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "something that is no file"
        raise _cannot(file, what, "name a file, or - to print it")
    if not force:
        raise _there(file)


def _write(file: Path, pieces: Iterable[str], *, force: bool) -> Written:
    """By way of a file beside it that only this user reads: nobody ever sees half a document."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name[:LONGEST_PREFIX]}.", dir=file.absolute().parent)
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from error
    part = Path(name)
    try:
        written = _put(handle, pieces)
        _give_name(part, file, force=force)
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from error
    finally:
        part.unlink(missing_ok=True)
    return written


def _put(handle: int, pieces: Iterable[str]) -> Written:
    count, last = 0, ""
    with os.fdopen(handle, "wb") as target:
        for piece in pieces:
            count, last = count + target.write(piece.encode()), piece
        target.flush()
        os.fsync(target.fileno())
    found = _CHECKSUM.search(last)
    return Written(count, found.group(1) if found else "")


def _give_name(part: Path, file: Path, *, force: bool) -> None:
    if force:
        part.replace(file)
        return
    try:
        os.link(part, file)  # never over what somebody put there meanwhile
    except FileExistsError:
        raise _there(file) from None
    except OSError:  # a file system without second names
        _refuse(file, force=False)
        part.replace(file)


def _there(file: Path) -> OperatorError:
    return OperatorError(
        "nothing was exported: the file is there already", found=str(file), remedy="name another file, or replace it with --force"
    )


def _cannot(file: Path, found: str, remedy: str = "name another file, or print it with -") -> OperatorError:
    expected = "a file in a folder that is there and may be written to"
    return OperatorError(
        "nothing was exported: the file cannot be written", expected=expected, found=f"{file}: {found}", remedy=remedy
    )
