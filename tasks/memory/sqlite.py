"""A store in one file, for one machine: opened, looked at, copied once a day, and restored where it was damaged."""

import fcntl
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import URL, Connection, create_engine, event, select
from sqlalchemy.pool import ConnectionPoolEntry

from helmsman.errors import TransientError
from helmsman.plain import clean
from tasks.memory import tables
from tasks.memory.faults import DAMAGE, Damaged, primary_code, reporting_faults
from tasks.memory.store import Store
from tasks.system.lock import held

PATIENCE_SECONDS = 30.0  # Changes are short. Only a restoration waits for all of them, and all of them for it.
ATTEMPTS = 3  # one to see the damage, one with the copy, one more in case another process was quicker
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
MAGIC, HEADER = b"SQLite format 3\x00", 100
DAMAGED_KEPT = 3
COPIES = 7  # daily copies that are kept: a week of them
COPY, DAMAGED = re.compile(r"\.backup-\d{4}-\d\d-\d\d"), re.compile(r"\.damaged-\d{8}T\d{6}")


class SqliteFile(Store):
    """The database of one file. When another process has restored the file meanwhile, the new one is taken."""

    def __init__(self, file: Path) -> None:
        """Nothing is opened before it is asked."""
        self._file, self.place = file, str(file)
        self._engine = create_engine(URL.create("sqlite", database=str(file)), connect_args={"timeout": PATIENCE_SECONDS})
        event.listen(self._engine, "connect", _set_up)
        self._identity = _identity(file)

    @contextmanager
    def reading(self) -> Generator[Connection]:
        if self._identity != _identity(self._file):
            self.close()
            self._identity = _identity(self._file)
        try:
            with reporting_faults(self.place), self._engine.connect() as connection:
                yield connection
        except Damaged:
            _suspect(self._file)
            raise

    @contextmanager
    def snapshot(self) -> Generator[Connection]:
        with self.reading() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        with _locked(self._file, fcntl.LOCK_SH), self.reading() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()  # closing it without is a rollback

    def files(self) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        copies = _like(self._file, COPY)
        files = [self._file, _beside(self._file, "-wal"), _beside(self._file, "-shm"), *copies]
        size = sum(file.stat().st_size for file in files if file.exists())
        return size, tuple(copy.name for copy in copies), tuple(one.name for one in _like(self._file, DAMAGED))


def _set_up(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
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
            database = _looked_at(file, now, warnings)
            break
        except Damaged:
            with _disk(file):
                warnings += filter(None, [_repaired(file, now)])
    else:
        raise TransientError("the memory store is damaged and could not be repaired", expected=f"a good disk under {file}")
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
        for part in (file, _beside(file, "-wal")):
            if part.is_file():
                shutil.copyfile(part, Path(folder, part.name))
        yield SqliteFile(Path(folder, file.name))


def _looked_at(file: Path, now: datetime, warnings: list[str]) -> SqliteFile:
    """Every page is read once a day and after somebody has met damage. A process or machine that dies is no reason: SQLite's log
    is made for that, and reading a whole store takes seconds. Raises Damaged.
    """
    with _disk(file):
        _require_whole(file, _damage(file))
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


# --- whether it is what was written -------------------------------------------------------------------------------


def _damage(file: Path) -> str:
    """What the first bytes tell, at every opening, before SQLite plays its log into them. Empty: nothing is wrong with them.

    That a file is cut SQLite sees itself. One of no bytes it takes for new, but a store that has copies was more than nothing.
    """
    with file.open("rb") as handle:
        header = handle.read(HEADER)
    if not header:
        return "the file is empty" if _like(file, COPY) else ""
    return "" if len(header) == HEADER and header.startswith(MAGIC) else "the file does not begin as a database does"


def _page_problem(file: Path, how: str = "mode=rw") -> str:
    """What is wrong with any page. Empty: all are as they were written."""
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
        return not (copy.is_symlink() or _damage(copy) or _page_problem(copy, "immutable=1"))
    except (OSError, sqlite3.DatabaseError):
        return False


def _index_problem(file: Path, *, repair: bool = False) -> str:
    """SQLite's check of pages does not look into the index of words. It is made of the lessons: nothing is lost with it."""
    do = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES (?)"
    with closing(_connected(file)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'helmsman_lesson_words'").fetchone():
            return ""
        try:
            connection.execute(do, ["integrity-check"])
        except sqlite3.DatabaseError as error:
            if primary_code(error) not in DAMAGE:
                raise
            if repair:
                connection.execute(do, ["rebuild"])
            return "the index of words"
    return ""


def _require_whole(file: Path, problem: str) -> None:
    if problem:
        raise Damaged("the memory store is damaged", expected=f"a whole database at {file}", found=problem)


def _suspect(file: Path) -> None:
    """The next opening shall look closely."""
    with suppress(OSError):
        _beside(file, ".checked").unlink()


# --- copies -------------------------------------------------------------------------------------------------------


def _daily(file: Path, now: datetime) -> list[str]:
    """Look at every page, copy what is good, and remove the oldest copies; of several processes one does it. A copy that fails is
    a warning, and tried again tomorrow: the store works.
    """
    warnings, today = list[str](), now.date().isoformat()
    with suppress(TimeoutError), held(_beside(file, ".checked"), 0) as handle:
        _require_whole(file, _page_problem(file) or _index_problem(file))
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
            _put_aside(target, aside)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _repaired(file: Path, now: datetime) -> str:
    """Restore the newest good copy in place of a damaged store, or begin a new one. What was done and what may be missing; empty
    where another process has repaired it.
    """
    with _locked(file, fcntl.LOCK_EX):
        problem = _damage(file) or _page_problem(file)
        if not problem:
            made = f"the memory store's index of words was damaged, and was rebuilt from its lessons: {file}"
            return made if _index_problem(file, repair=True) else ""
        good, aside = next(filter(_is_good, _like(file, COPY)), None), _beside(file, f".damaged-{now:%Y%m%dT%H%M%S}")
        _copy(good, "immutable=1", file, aside)
        _suspect(file)
        for old in _like(file, DAMAGED)[DAMAGED_KEPT:]:
            old.unlink(missing_ok=True)
            _beside(old, "-wal").unlink(missing_ok=True)
    loss = "there was no good copy, so an empty store was created: earlier lessons are lost"
    if good:
        day = good.name.rpartition("backup-")[2]
        loss = f"the copy of {day} was restored: later lessons may be missing"
    return f"the memory store {file} was damaged ({problem}); {loss}; the damaged file is kept as {aside.name}"


def _put_aside(file: Path, aside: Path) -> None:
    """The store itself last, and by a second name: whenever this is interrupted, a damaged store is found again, never none. Its
    log must go first, or it would be played into the copy.
    """
    with suppress(FileNotFoundError):
        _beside(file, "-wal").replace(_beside(aside, "-wal"))
    _beside(file, "-shm").unlink(missing_ok=True)
    aside.unlink(missing_ok=True)
    try:
        os.link(file, aside)
    except OSError:  # a file system without second names
        file.replace(aside)


# --- its files: nobody else reads them, and none of them leads somewhere else -------------------------------------


def _beside(file: Path, end: str) -> Path:
    return file.with_name(f"{file.name}{end}")


def _like(file: Path, end: re.Pattern[str]) -> list[Path]:
    """Newest first; their names end in a date."""
    beginning = len(file.name)
    found = [one for one in file.parent.iterdir() if one.name.startswith(file.name) and end.fullmatch(one.name[beginning:])]
    return sorted(found, key=lambda one: one.name, reverse=True)


def _prepared(file: Path, *, ours: bool) -> bool:
    """Make the folder and an empty file where there are none; whether there was none. Raises TransientError where something else
    stands there.
    """
    folder = file.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    places = [file, *(_beside(file, end) for end in ("-wal", "-shm"))]
    strange = [one for one in places if one.is_symlink() or (one.exists() and not stat.S_ISREG(one.stat().st_mode))]
    if ours and folder.is_symlink():
        strange.insert(0, folder)
    for one in strange[:1]:
        raise TransientError(
            "the memory store is not a plain file",
            expected=f"a plain file or folder of this user's at {one}",
            found="a link" if one.is_symlink() else "a folder" if one.is_dir() else "no plain file",
            remedy="move it away, or name another place in memory.url",
        )
    if ours:
        folder.chmod(0o700)
    if file.exists():
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)
        return False
    os.close(_own(file, os.O_WRONLY))
    if _like(file, COPY):
        with closing(_connected(file)) as connection:
            connection.execute("PRAGMA user_version=0")  # beside its copies, a file of no bytes is taken for damage
    return True


def _own(file: Path, flags: int) -> int:
    """A handle on one of the store's files that is made where it is not there."""
    return os.open(file, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


@contextmanager
def _locked(file: Path, how: int) -> Generator[None]:
    """Shared while the store is changed, exclusive while its files are exchanged."""
    lock = _beside(file, ".lock")
    with ExitStack() as stack:
        try:
            stack.enter_context(held(lock, PATIENCE_SECONDS, how))
        except OSError as error:
            found = f"{lock}: {error.strerror or type(error).__name__}"
            raise TransientError("the memory store cannot be locked", found=found, remedy="end what holds it") from None
        yield


def _connected(file: Path, how: str = "mode=rw") -> sqlite3.Connection:
    place = f"{file.absolute().as_uri()}?{how}"
    return sqlite3.connect(place, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)


def _identity(file: Path) -> tuple[int, int]:
    found = os.stat_result([0] * 10)
    with suppress(OSError):
        found = file.stat()
    return found.st_dev, found.st_ino
