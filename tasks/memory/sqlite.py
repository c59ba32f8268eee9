"""Store in one SQLite file, for one machine: checked on open_store, copied once a day, and restored after damage."""

import os
import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry

from helmsman.errors import TransientError
from helmsman.plain import clean
from tasks.memory.store import DAMAGE, DISK_FAULTS, Damaged, Store, primary_code, reporting_faults
from tasks.system.files import locked

PATIENCE_SECONDS = 30.0  # changes are short; only a restoration waits for another one
ATTEMPTS = 3  # one that detects the damage, one with the copy, one more if another process was faster
SETTINGS = (
    f"PRAGMA busy_timeout={PATIENCE_SECONDS * 1000:.0f}",
    "PRAGMA cache_size=-16384",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",  # detect damage on reading
)
WRITER_SETTINGS = (
    "PRAGMA journal_mode=WAL",  # readers and a writer do not block each other; some disks do not support it and keep the default
    "PRAGMA synchronous=FULL",  # one transaction for each iteration: it may wait for the disk
    "PRAGMA journal_size_limit=16777216",
    "PRAGMA secure_delete=ON",  # erase deleted content from the file too
)
DAMAGED_KEPT = 3
COPIES = 7  # daily copies to keep: a week
COPY, DAMAGED = re.compile(r"\.backup-\d{4}-\d\d-\d\d"), re.compile(r"\.damaged-\d{8}T\d{6}")
_INDEX_COMMAND = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES (?)"


class SqliteFile(Store):
    """Store in a SQLite file."""

    def __init__(self, file: Path, *, read_only: bool = False) -> None:
        """Configure the engine; connects on first use. `read_only`: do not even checkpoint the log of other writers."""
        self._file, self.place = file, str(file)
        path, query = (f"file:{quote(str(file))}", {"mode": "ro", "uri": "true"}) if read_only else (str(file), {})
        self._engine = create_engine(URL.create("sqlite", database=path, query=query), connect_args={"timeout": PATIENCE_SECONDS})

        def configure(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
            connection.isolation_level = None  # we begin transactions explicitly
            for setting in SETTINGS if read_only else (*SETTINGS, *WRITER_SETTINGS):
                connection.execute(setting).close()

        event.listen(self._engine, "connect", configure)

    @contextmanager
    def reading(self) -> Generator[Connection]:
        try:
            with reporting_faults(self.place), self._engine.connect() as connection:
                yield connection
        except Damaged:
            with suppress(OSError):
                _sibling(self._file, ".checked").unlink()  # check every page on the next opening
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
            connection.commit()  # closing without commit rolls back

    def files(self) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        copies = _find_files(self._file, COPY)
        files = [self._file, _sibling(self._file, "-wal"), _sibling(self._file, "-shm"), *copies]
        size = sum(file.stat().st_size for file in files if file.exists())
        return size, tuple(copy.name for copy in copies), tuple(file.name for file in _find_files(self._file, DAMAGED))


# --- opening ------------------------------------------------------------------------------------------------------


def open_file(file: Path, now: datetime, *, ours: bool) -> SqliteFile:
    """Open the file's store: checked, repaired if damaged, and migrated. A folder that is not `ours` keeps its mode."""
    warnings = list[str]()
    with reporting_faults(str(file), faults=DISK_FAULTS):
        new = _prepare_file(file, ours=ours)
        if new and (copies := _find_files(file, COPY)):
            warning = f"the memory store {file} was missing, and an empty one was created"
            warnings.append(f"{warning}; if it should exist, replace it with {copies[0].name}")
    for _ in range(ATTEMPTS):
        try:
            database = _open_checked(file, now, warnings, new=new)
        except Damaged:
            with reporting_faults(str(file), faults=DISK_FAULTS):
                warnings += _restore(file, now)
        else:
            database.warnings = tuple(warnings)
            return database
    raise TransientError("the memory store is damaged and could not be repaired", expected=f"a working disk at {file}")


def _open_checked(file: Path, now: datetime, warnings: list[str], *, new: bool) -> SqliteFile:
    """Open and migrate the store. Checks every page once a day and after damage. Not after a crash: SQLite's log handles that,
    and reading a whole store takes seconds. Raises Damaged.
    """
    if not new and not file.stat().st_size and _find_files(file, COPY):  # SQLite would treat it as new, but it had content
        raise _damaged_error(file, EMPTY)
    database = SqliteFile(file)
    try:
        database.migrate()
        checked = _sibling(file, ".checked")
        with reporting_faults(str(file), faults=DISK_FAULTS):
            day = checked.read_text("utf-8", errors="replace") if checked.is_file() else ""
            if not new and day != now.date().isoformat():  # a copy of a new store has no content
                warnings += _check_and_copy(file, now)
    except BaseException:
        database.close()
        raise
    return database


# --- checks and copies ---------------------------------------------------------------------------------------------

EMPTY = "the file is empty"


def _problem(file: Path, mode: str = "mode=rw") -> str:
    """Check all pages; returns the problem, or an empty string."""
    if not file.stat().st_size:
        return EMPTY
    try:
        with closing(_connect(file, mode)) as connection:
            result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if primary_code(error) in DAMAGE:
            return clean(str(error))
        raise
    return "" if result == "ok" else clean(result.splitlines()[-1])


def _damaged_error(file: Path, problem: str) -> Damaged:
    return Damaged("the memory store is damaged", expected=f"an intact database at {file}", found=problem)


def _check_and_copy(file: Path, now: datetime) -> list[str]:
    """Check every page, copy a good store, and remove the oldest copies; only one process does it. A failed copy is only a
    warning, retried tomorrow: the store works.
    """
    warnings, today = list[str](), now.date().isoformat()
    with suppress(TimeoutError), locked(_sibling(file, ".checked"), seconds=0) as handle:
        if problem := _problem(file):
            raise _damaged_error(file, problem)
        warnings += _repair_index(file)
        try:
            copy = _sibling(file, f".backup-{today}")
            if not copy.exists():
                _copy(file, "mode=rw", copy)
            for old in _find_files(file, COPY)[COPIES:]:
                old.unlink(missing_ok=True)
        except (OSError, sqlite3.Error) as error:
            warnings.append(f"the memory store could not be copied today ({error}): {file}")
        os.ftruncate(handle, 0)
        os.pwrite(handle, today.encode(), 0)
    return warnings


def _repair_index(file: Path) -> list[str]:
    """Check and rebuild the index of words, which SQLite's page check does not cover. It is derived from the lessons."""
    with closing(_connect(file)) as connection:
        try:
            connection.execute(_INDEX_COMMAND, ["integrity-check"])
        except sqlite3.DatabaseError as error:
            if primary_code(error) not in DAMAGE:
                raise
            connection.execute(_INDEX_COMMAND, ["rebuild"])
            return [f"the memory store's index of words was damaged, and was rebuilt from its lessons: {file}"]
    return []


def _copy(source: Path | None, mode: str, target: Path, aside: Path | None = None) -> None:
    """Copy a store under another name and rename it, so that a partial copy is never used. `aside`: new name for an existing
    target, once the copy is complete. Without a source writes an empty store, not an empty file, which would count as damage.
    """
    partial = _sibling(target, f".partial-{os.getpid()}")
    try:
        os.close(_open_private(partial, os.O_WRONLY | os.O_TRUNC))
        with closing(_connect(partial)) as copy_connection:
            copy_connection.execute("PRAGMA journal_mode=OFF")
            copy_connection.execute("PRAGMA synchronous=OFF")
            copy_connection.execute("PRAGMA user_version=0")
            if source:
                with closing(_connect(source, mode)) as source_connection:
                    source_connection.backup(copy_connection)
        with partial.open("rb") as handle:
            os.fsync(handle.fileno())
        if aside:
            # Move the log first, or SQLite would replay it into the copy. The store gets a second name: after an interruption
            # the damaged store is still found.
            with suppress(FileNotFoundError):
                _sibling(target, "-wal").replace(_sibling(aside, "-wal"))
            _sibling(target, "-shm").unlink(missing_ok=True)
            aside.unlink(missing_ok=True)
            os.link(target, aside)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _restore(file: Path, now: datetime) -> list[str]:
    """Replace a damaged store by the newest good copy or a new store, unless another process has. Returns warnings on what was
    done, and what may be missing.
    """
    try:
        with locked(_sibling(file, ".lock"), seconds=PATIENCE_SECONDS):
            if not (problem := _problem(file)):
                return []
            good = next((copy for copy in _find_files(file, COPY) if not _problem(copy, "immutable=1")), None)
            aside = _sibling(file, f".damaged-{now:%Y%m%dT%H%M%S}")
            _copy(good, "immutable=1", file, aside)
            _sibling(file, ".checked").unlink(missing_ok=True)
            for old in _find_files(file, DAMAGED)[DAMAGED_KEPT:]:
                old.unlink(missing_ok=True)
                _sibling(old, "-wal").unlink(missing_ok=True)
    except TimeoutError as error:
        holder = f"{error.filename}: {error.strerror}"
        raise TransientError("the memory store cannot be locked", found=holder, remedy="end the process that holds it") from None
    loss = "there was no good copy, so an empty store was created: earlier lessons are lost"
    if good:
        day = good.name.rpartition("backup-")[2]
        loss = f"the copy of {day} was restored: later lessons may be missing"
    return [f"the memory store {file} was damaged ({problem}); {loss}; the damaged file is kept as {aside.name}"]


# --- files, readable only for the user -----------------------------------------------------------------------------


def _sibling(file: Path, suffix: str) -> Path:
    return file.with_name(f"{file.name}{suffix}")


def _find_files(file: Path, suffix: re.Pattern[str]) -> list[Path]:
    """Files of the store with this suffix, newest first; the suffixes contain a date."""
    length = len(file.name)
    files = [path for path in file.parent.iterdir() if path.name.startswith(file.name) and suffix.fullmatch(path.name[length:])]
    return sorted(files, key=lambda path: path.name, reverse=True)


def _prepare_file(file: Path, *, ours: bool) -> bool:
    """Create the folder and an empty file if missing; returns whether the file is new."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if ours:
        file.parent.chmod(0o700)
    new = not file.exists()
    if new:
        os.close(_open_private(file, os.O_WRONLY))
    elif file.stat().st_mode & 0o077:
        file.chmod(0o600)
    return new


def _open_private(file: Path, flags: int) -> int:
    """Open one of the store's files, creating it if missing."""
    return os.open(file, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _connect(file: Path, mode: str = "mode=rw") -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?{mode}"
    return sqlite3.connect(uri, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)
