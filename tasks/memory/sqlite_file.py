"""A store in one file, for one machine."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import URL, Connection, create_engine, event, select
from sqlalchemy.pool import ConnectionPoolEntry

from helmsman.errors import WorldError
from tasks.memory import tables
from tasks.memory.faults import Damaged, told
from tasks.memory.own_files import beside, prepare, used
from tasks.memory.repairing import (
    BUSY_SECONDS,
    back_up,
    check_is_due,
    checked,
    copies,
    daily,
    damage,
    damaged_files,
    emptied,
    index_problem,
    repaired,
    suspect,
)
from tasks.memory.schema import VERSION, checked_version, migrate

ATTEMPTS = 3
"""One to see the damage, one with the copy, one more in case another process was quicker."""
SETTINGS = (
    f"PRAGMA busy_timeout={BUSY_SECONDS * 1000:.0f}",
    "PRAGMA journal_mode=WAL",  # readers and a writer do not wait for each other; where a disk cannot, the old way is kept
    "PRAGMA synchronous=FULL",  # one iteration is one transaction: it may wait for the disk
    "PRAGMA journal_size_limit=16777216",
    "PRAGMA cache_size=-16384",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA secure_delete=ON",  # what is forgotten is gone from the file too
    "PRAGMA cell_size_check=ON",  # damage is seen where it is read
)


class SqliteFile:
    """The database of one file. When another process has restored the file meanwhile, the new one is taken."""

    def __init__(self, file: Path) -> None:
        """Nothing is opened before it is asked."""
        self._file = file
        self._engine = create_engine(URL.create("sqlite", database=str(file)), connect_args={"timeout": BUSY_SECONDS})
        event.listen(self._engine, "connect", _set_up)
        self._identity = _identity(file)

    @property
    def place(self) -> str:
        return str(self._file)

    @contextmanager
    def reading(self) -> Generator[Connection]:
        with self._watched(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        with used(self._file), self.reading() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()  # closing it without is a rollback

    def size(self) -> int:
        files = [self._file, beside(self._file, "-wal"), beside(self._file, "-shm"), *copies(self._file)]
        return sum(file.stat().st_size for file in files if file.exists())

    def backups(self) -> tuple[str, ...]:
        return tuple(copy.name for copy in copies(self._file))

    def damaged(self) -> tuple[str, ...]:
        return tuple(one.name for one in damaged_files(self._file))

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _watched(self) -> Generator[None]:
        identity = _identity(self._file)
        if identity != self._identity:
            self._engine.dispose()
            self._identity = identity
        try:
            with told(self.place):
                yield
        except Damaged:
            suspect(self._file)
            raise


@contextmanager
def opened_file(file: Path, now: datetime, backups: int, *, ours: bool) -> Generator[tuple[SqliteFile, tuple[str, ...]]]:
    """The database of this file, looked at, repaired where it was damaged, in the newest version."""
    warnings = [_emptied(file)] if prepare(file, ours=ours) and copies(file) else []
    database = _ready(file, now, backups, warnings)
    try:
        yield database, tuple(warnings)
    finally:
        database.close()


def _ready(file: Path, now: datetime, backups: int, warnings: list[str]) -> SqliteFile:
    for _ in range(ATTEMPTS):
        try:
            return _looked_at(file, now, backups, warnings)
        except Damaged:
            with told(str(file)), _disk(file):
                warnings += [done for done in [repaired(file, now)] if done]
    raise WorldError("the memory store is damaged, and stays so", expected=f"a good disk under {file}")


def _looked_at(file: Path, now: datetime, backups: int, warnings: list[str]) -> SqliteFile:
    """Raises Damaged."""
    with told(str(file)), _disk(file):
        _refuse(file, damage(file) or ("" if warnings else emptied(file)))  # one that was begun anew is empty, and told
    database = SqliteFile(file)
    try:
        with database.reading() as connection:
            new = checked_version(connection) < VERSION
        if new:
            with database.writing() as connection:
                migrate(connection)
        if check_is_due(file, now) and _holds_something(database):
            warnings += _daily(file, now, backups)
    except BaseException:
        database.close()
        raise
    return database


def _holds_something(database: SqliteFile) -> bool:
    """A copy of nothing would be all that there is until tomorrow."""
    kept = (tables.lessons, tables.guardrails, tables.episodes, tables.summaries)
    with database.reading() as connection:
        return any(connection.execute(select(table.c.body).limit(1)).first() for table in kept)


def _daily(file: Path, now: datetime, backups: int) -> list[str]:
    """Look at every page, and copy what is good. A copy that fails is a warning, and tried again tomorrow: the store works."""
    with told(str(file)), _disk(file), daily(file, now) as mine:
        if mine:
            _refuse(file, checked(file) or ("the index of words" if index_problem(file) else ""))
            return _copied(file, now, backups)
    return []


def _copied(file: Path, now: datetime, backups: int) -> list[str]:
    try:
        back_up(file, now.date(), backups)
    except (OSError, sqlite3.Error) as error:
        return [f"the memory store could not be copied today ({error}): {file}"]
    return []


def _refuse(file: Path, problem: str) -> None:
    if problem:
        raise Damaged("the memory store is damaged", expected=f"a whole database at {file}", found=problem)


@contextmanager
def _disk(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise WorldError(
            "the memory store cannot be read or repaired", expected=f"a working disk under {file}", found=str(error)
        ) from None


def _emptied(file: Path) -> str:
    newest = copies(file)[0].name
    return f"the memory store {file} was gone, and an empty one was begun; if that was not meant, put {newest} in its place"


def _identity(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def _set_up(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for setting in SETTINGS:
        connection.execute(setting).close()
