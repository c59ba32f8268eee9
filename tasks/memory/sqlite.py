"""A store in one file, for one machine."""

import fcntl
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import URL, Connection, create_engine, event, select
from sqlalchemy.pool import ConnectionPoolEntry

from helmsman.errors import WorldError
from tasks.memory import tables
from tasks.memory.faults import Damaged, told
from tasks.memory.repairing import (
    COPY,
    DAMAGED,
    PATIENCE_SECONDS,
    beside,
    check_is_due,
    daily,
    damage,
    emptied,
    identity,
    like,
    locked,
    prepared,
    refuse,
    repaired,
    suspect,
)
from tasks.memory.store import Store

ATTEMPTS = 3
"""One to see the damage, one with the copy, one more in case another process was quicker."""
SETTINGS = (
    f"PRAGMA busy_timeout={PATIENCE_SECONDS * 1000:.0f}",
    "PRAGMA journal_mode=WAL",  # readers and a writer do not wait for each other; where a disk cannot, the old way is kept
    "PRAGMA synchronous=FULL",  # one iteration is one transaction: it may wait for the disk
    "PRAGMA journal_size_limit=16777216",
    "PRAGMA cache_size=-16384",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA secure_delete=ON",  # what is forgotten is gone from the file too
    "PRAGMA cell_size_check=ON",  # damage is seen where it is read
)


class SqliteFile(Store):
    """The database of one file. When another process has restored the file meanwhile, the new one is taken."""

    def __init__(self, file: Path) -> None:
        """Nothing is opened before it is asked."""
        self._file, self.place = file, str(file)
        self._engine = create_engine(URL.create("sqlite", database=str(file)), connect_args={"timeout": PATIENCE_SECONDS})
        event.listen(self._engine, "connect", _set_up)
        self._identity = identity(file)

    @contextmanager
    def reading(self) -> Generator[Connection]:
        if self._identity != identity(self._file):
            self.close()
            self._identity = identity(self._file)
        try:
            with told(self.place), self._engine.connect() as connection:
                yield connection
        except Damaged:
            suspect(self._file)
            raise

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        with locked(self._file, fcntl.LOCK_SH), self.reading() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()  # closing it without is a rollback

    def files(self) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        copies = like(self._file, COPY)
        files = [self._file, beside(self._file, "-wal"), beside(self._file, "-shm"), *copies]
        size = sum(file.stat().st_size for file in files if file.exists())
        return size, tuple(copy.name for copy in copies), tuple(one.name for one in like(self._file, DAMAGED))

    def close(self) -> None:
        self._engine.dispose()


@contextmanager
def opened_file(file: Path, now: datetime, backups: int, *, ours: bool) -> Generator[Store]:
    """The store of this file, looked at, repaired where it was damaged, in the newest version. A folder that is not `ours` keeps
    its mode.
    """
    warnings = list[str]()
    if prepared(file, ours=ours) and (copies := like(file, COPY)):
        begun = f"the memory store {file} was gone, and an empty one was begun"
        warnings.append(f"{begun}; if that was not meant, put {copies[0].name} in its place")
    database = _ready(file, now, backups, warnings)
    database.warnings = tuple(warnings)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def copied_file(file: Path) -> Generator[SqliteFile | None]:
    """A copy, with what was written and is not in the file itself yet; None where there is nothing."""
    if not file.is_file() or file.is_symlink():
        yield None
        return
    with TemporaryDirectory(prefix="helmsman-memory-") as folder:
        for part in (file, beside(file, "-wal")):
            if part.is_file():
                shutil.copyfile(part, Path(folder, part.name))
        yield SqliteFile(Path(folder, file.name))


def _ready(file: Path, now: datetime, backups: int, warnings: list[str]) -> SqliteFile:
    for _ in range(ATTEMPTS):
        try:
            return _looked_at(file, now, backups, warnings)
        except Damaged:
            with _disk(file):
                warnings += filter(None, [repaired(file, now)])
    raise WorldError("the memory store is damaged, and stays so", expected=f"a good disk under {file}")


def _looked_at(file: Path, now: datetime, backups: int, warnings: list[str]) -> SqliteFile:
    """Raises Damaged."""
    with _disk(file):
        refuse(file, damage(file) or ("" if warnings else emptied(file)))  # one that was begun anew is empty, and told
    database = SqliteFile(file)
    try:
        database.migrate()
        if check_is_due(file, now) and _holds_something(database):
            with _disk(file):
                warnings += daily(file, now, backups)
    except BaseException:
        database.close()
        raise
    return database


def _holds_something(database: SqliteFile) -> bool:
    """A copy of nothing would be all that there is until tomorrow."""
    kept = (tables.lessons, tables.guardrails, tables.episodes, tables.summaries)
    with database.reading() as connection:
        return any(connection.execute(select(table.c.body).limit(1)).first() for table in kept)


@contextmanager
def _disk(file: Path) -> Generator[None]:
    try:
        with told(str(file)):
            yield
    except OSError as error:
        problem = "the memory store cannot be read or repaired"
        raise WorldError(problem, expected=f"a working disk under {file}", found=str(error)) from None


def _set_up(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for setting in SETTINGS:
        connection.execute(setting).close()
