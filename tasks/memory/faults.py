"""Translate errors of databases and disks into ours, with remedies, and without passwords."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from helmsman.errors import TransientError
from helmsman.plain import clean

DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
LONGEST = 300
REMEDIES = {
    sqlite3.SQLITE_FULL: "free some space on that disk",
    sqlite3.SQLITE_READONLY: "make the file and its folder writable for this user",
    sqlite3.SQLITE_CANTOPEN: "make the file and its folder writable for this user",
    sqlite3.SQLITE_BUSY: "end the process that locks the store",
    sqlite3.SQLITE_IOERR: "check the disk: space, quota and health",
    sqlite3.SQLITE_CORRUPT: "reopen the store: the last good copy is restored",
    sqlite3.SQLITE_NOTADB: "reopen the store: the last good copy is restored",
}


FAULTS = SQLAlchemyError, sqlite3.Error
DISK_FAULTS = *FAULTS, OSError


class Damaged(TransientError):  # noqa: N818 - a state, as in Fenced
    """The SQLite file is damaged."""


@contextmanager
def reporting_faults(place: str, secret: str = "", faults: tuple[type[Exception], ...] = FAULTS) -> Generator[None]:
    """Raise TransientError for such a fault in the block."""
    try:
        yield
    except faults as error:
        cause = getattr(error, "orig", None) or error
        code, found = primary_code(cause), f"{type(cause).__name__}: {clean(str(cause))[:LONGEST]}"
        raise (Damaged if code in DAMAGE else TransientError)(
            "the memory store fails",
            expected=f"a working store at {place}",
            found=found.replace(secret, "***") if secret else found,
            remedy=REMEDIES.get(code) or "make sure that the store can be reached, or set memory.url or memory.use",
        ) from None  # the chain would contain statements and their parameters


def primary_code(cause: BaseException) -> int:
    """SQLite's primary error code; -1 for other errors."""
    return (getattr(cause, "sqlite_errorcode", None) or -1) & 0xFF if isinstance(cause, sqlite3.Error) else -1
