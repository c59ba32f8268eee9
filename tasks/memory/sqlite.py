"""A store in one file, for one machine: opened, looked at, copied once a day, and restored where it was damaged."""

import os
import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, create_engine, event, select
from sqlalchemy.pool import ConnectionPoolEntry

from helmsman.errors import TransientError
from helmsman.plain import clean
from tasks.memory import tables
from tasks.memory.faults import DAMAGE, Damaged, primary_code, reporting_faults
from tasks.memory.store import Store
from tasks.system.files import locked

PATIENCE_SECONDS = 30.0  # Changes are short. Only a restoration waits for another one.
ATTEMPTS = 3  # one to see the damage, one with the copy, one more in case another process was quicker
SETTINGS = (
    f"PRAGMA busy_timeout={PATIENCE_SECONDS * 1000:.0f}",
    "PRAGMA cache_size=-16384",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",  # damage is seen where it is read
)
WRITER_SETTINGS = (
    "PRAGMA journal_mode=WAL",  # readers and a writer do not wait for each other; where a disk cannot, the old way is kept
    "PRAGMA synchronous=FULL",  # one iteration is one transaction: it may wait for the disk
    "PRAGMA journal_size_limit=16777216",
    "PRAGMA secure_delete=ON",  # what is forgotten is gone from the file too
)
DAMAGED_KEPT = 3
COPIES = 7  # daily copies that are kept: a week of them
COPY, DAMAGED = re.compile(r"\.backup-\d{4}-\d\d-\d\d"), re.compile(r"\.damaged-\d{8}T\d{6}")
_WORDS = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES (?)"


class SqliteFile(Store):
    """The database of one file."""

    def __init__(self, file: Path, *, read_only: bool = False) -> None:
        """Nothing is opened before it is asked. `read_only`: not even what others wrote is moved from the log into the file."""
        self._file, self.place = file, str(file)
        place, how = (f"file:{quote(str(file))}", {"mode": "ro", "uri": "true"}) if read_only else (str(file), {})
        self._engine = create_engine(URL.create("sqlite", database=place, query=how), connect_args={"timeout": PATIENCE_SECONDS})
        event.listen(self._engine, "connect", _set_up_to_read if read_only else _set_up)

    @contextmanager
    def reading(self) -> Generator[Connection]:
        try:
            with reporting_faults(self.place), self._engine.connect() as connection:
                yield connection
        except Damaged:
            with suppress(OSError):
                _beside(self._file, ".checked").unlink()  # the next opening shall look closely
            raise

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()  # closing it without is a rollback

    def files(self) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        copies = _like(self._file, COPY)
        files = [self._file, _beside(self._file, "-wal"), _beside(self._file, "-shm"), *copies]
        size = sum(file.stat().st_size for file in files if file.exists())
        return size, tuple(copy.name for copy in copies), tuple(one.name for one in _like(self._file, DAMAGED))


def _set_up(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
    _set_up_to_read(connection, entry)
    for setting in WRITER_SETTINGS:
        connection.execute(setting).close()


def _set_up_to_read(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for setting in SETTINGS:
        connection.execute(setting).close()


# --- opening ------------------------------------------------------------------------------------------------------


@contextmanager
def opened_file(file: Path, now: datetime, *, ours: bool) -> Generator[Store]:
    """The store of this file, looked at, repaired where it was damaged, in the newest version. A folder that is not `ours` keeps
    its mode.
    """
    warnings = list[str]()
    with _disk(file):
        new = _prepared(file, ours=ours)
        if new and (copies := _like(file, COPY)):
            begun = f"the memory store {file} was missing, and an empty one was created"
            warnings.append(f"{begun}; if that was not meant, put {copies[0].name} in its place")
    for _ in range(ATTEMPTS):
        try:
            database = _looked_at(file, now, warnings, new=new)
            break
        except Damaged:
            with _disk(file):
                warnings += _restored(file, now)
    else:
        raise TransientError("the memory store is damaged and could not be repaired", expected=f"a good disk under {file}")
    database.warnings = tuple(warnings)
    try:
        yield database
    finally:
        database.close()


def _looked_at(file: Path, now: datetime, warnings: list[str], *, new: bool) -> SqliteFile:
    """Every page is read once a day and after somebody has met damage. A process or machine that dies is no reason: SQLite's log
    is made for that, and reading a whole store takes seconds. Raises Damaged.
    """
    if not new and not file.stat().st_size and _like(file, COPY):  # SQLite takes it for a new one; it was more than nothing
        raise _damaged(file, EMPTY)
    database = SqliteFile(file)
    kept = (tables.lessons, tables.guardrails, tables.episodes, tables.summaries)
    try:
        database.migrate()
        checked = _beside(file, ".checked")
        with _disk(file):
            day = checked.read_text("utf-8", errors="replace") if checked.is_file() else ""
            if day != now.date().isoformat():
                with database.reading() as connection:  # a copy of nothing would be all that there is until tomorrow
                    something = any(connection.execute(select(table.c.body).limit(1)).first() for table in kept)
                warnings += _daily(file, now) if something else []
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def _disk(file: Path) -> Generator[None]:
    try:
        with reporting_faults(str(file)):
            yield
    except OSError as error:
        raise TransientError(
            "the memory store cannot be made, read or repaired",
            expected=f"a file of this user's at {file}, on a working disk",
            found=error.strerror or type(error).__name__,
            remedy="make the folder writable for this user, or name another place in memory.url",
        ) from None


# --- whether it is what was written, and its copies ---------------------------------------------------------------

EMPTY = "the file is empty"


def _problem(file: Path, how: str = "mode=rw") -> str:
    """What is wrong with any page. Empty: all are as they were written."""
    if not file.stat().st_size:
        return EMPTY
    try:
        with closing(_connected(file, how)) as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if primary_code(error) in DAMAGE:
            return clean(str(error))
        raise
    return "" if found == "ok" else clean(found.splitlines()[-1])


def _is_good(copy: Path) -> bool:
    """Read without touching it: nobody writes to a copy."""
    try:
        return not _problem(copy, "immutable=1")
    except (OSError, sqlite3.DatabaseError):
        return False


def _damaged(file: Path, problem: str) -> Damaged:
    return Damaged("the memory store is damaged", expected=f"a whole database at {file}", found=problem)


def _daily(file: Path, now: datetime) -> list[str]:
    """Look at every page, copy what is good, and remove the oldest copies; of several processes one does it. A copy that fails is
    a warning, and tried again tomorrow: the store works.
    """
    warnings, today = list[str](), now.date().isoformat()
    with suppress(TimeoutError), locked(_beside(file, ".checked"), seconds=0) as handle:
        if problem := _problem(file):
            raise _damaged(file, problem)
        warnings += _mended_index(file)
        try:
            copy = _beside(file, f".backup-{today}")
            if not copy.exists():
                _copy(file, "mode=rw", copy)
            for old in _like(file, COPY)[COPIES:]:
                old.unlink(missing_ok=True)
        except (OSError, sqlite3.Error) as error:
            warnings.append(f"the memory store could not be copied today ({error}): {file}")
        os.ftruncate(handle, 0)
        os.pwrite(handle, today.encode(), 0)
    return warnings


def _mended_index(file: Path) -> list[str]:
    """SQLite's check of pages does not look into the index of words. It is made of the lessons: nothing is lost with it."""
    with closing(_connected(file)) as connection:
        try:
            connection.execute(_WORDS, ["integrity-check"])
        except sqlite3.DatabaseError as error:
            if primary_code(error) not in DAMAGE:
                raise
            connection.execute(_WORDS, ["rebuild"])
            return [f"the memory store's index of words was damaged, and was rebuilt from its lessons: {file}"]
    return []


def _copy(source: Path | None, how: str, target: Path, aside: Path | None = None) -> None:
    """Written under another name and renamed, so that half a copy is never taken for one. `aside`: where what stands in its place
    is put, once the copy is whole. Without a source an empty store, which is no empty file: that would be taken for damage.
    """
    partial = _beside(target, f".partial-{os.getpid()}")
    try:
        os.close(_own(partial, os.O_WRONLY | os.O_TRUNC))
        with closing(_connected(partial)) as written:
            written.execute("PRAGMA journal_mode=OFF")
            written.execute("PRAGMA synchronous=OFF")
            written.execute("PRAGMA user_version=0")
            if source:
                with closing(_connected(source, how)) as read:
                    read.backup(written)
        with partial.open("rb") as handle:
            os.fsync(handle.fileno())
        if aside:
            # The log goes first, or it would be played into the copy. The store itself gets a second name: whenever this is
            # interrupted, a damaged store is found again, never none.
            with suppress(FileNotFoundError):
                _beside(target, "-wal").replace(_beside(aside, "-wal"))
            _beside(target, "-shm").unlink(missing_ok=True)
            aside.unlink(missing_ok=True)
            os.link(target, aside)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _restored(file: Path, now: datetime) -> list[str]:
    """Restore the newest good copy in place of a damaged store, or begin a new one, unless another process has. Returns what was
    done, and what may be missing.
    """
    try:
        with locked(_beside(file, ".lock"), seconds=PATIENCE_SECONDS):
            if not (problem := _problem(file)):
                return []
            good, aside = next(filter(_is_good, _like(file, COPY)), None), _beside(file, f".damaged-{now:%Y%m%dT%H%M%S}")
            _copy(good, "immutable=1", file, aside)
            _beside(file, ".checked").unlink(missing_ok=True)
            for old in _like(file, DAMAGED)[DAMAGED_KEPT:]:
                old.unlink(missing_ok=True)
                _beside(old, "-wal").unlink(missing_ok=True)
    except TimeoutError as error:
        found = f"{error.filename}: {error.strerror}"
        raise TransientError("the memory store cannot be locked", found=found, remedy="end what holds it") from None
    loss = "there was no good copy, so an empty store was created: earlier lessons are lost"
    if good:
        day = good.name.rpartition("backup-")[2]
        loss = f"the copy of {day} was restored: later lessons may be missing"
    return [f"the memory store {file} was damaged ({problem}); {loss}; the damaged file is kept as {aside.name}"]


# --- its files: nobody else reads them ----------------------------------------------------------------------------


def _beside(file: Path, end: str) -> Path:
    return file.with_name(f"{file.name}{end}")


def _like(file: Path, end: re.Pattern[str]) -> list[Path]:
    """Newest first; their names end in a date."""
    beginning = len(file.name)
    found = [one for one in file.parent.iterdir() if one.name.startswith(file.name) and end.fullmatch(one.name[beginning:])]
    return sorted(found, key=lambda one: one.name, reverse=True)


def _prepared(file: Path, *, ours: bool) -> bool:
    """Make the folder and an empty file where there are none; whether there was none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if ours:
        file.parent.chmod(0o700)
    new = not file.exists()
    if new:
        os.close(_own(file, os.O_WRONLY))
    elif file.stat().st_mode & 0o077:
        file.chmod(0o600)
    return new


def _own(file: Path, flags: int) -> int:
    """A handle on one of the store's files that is made where it is not there."""
    return os.open(file, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _connected(file: Path, how: str = "mode=rw") -> sqlite3.Connection:
    place = f"{file.absolute().as_uri()}?{how}"
    return sqlite3.connect(place, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)
