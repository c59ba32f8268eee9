"""Whether an embedded store is what was written, its daily copy, and what is done when it is not."""

import os
import re
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path

import psutil

from helmsman.plain import clean
from tasks.lock import locked_within
from tasks.memory.faults import DAMAGE, primary_code
from tasks.memory.own_files import alone, beside, opened_own, refuse_links

MAGIC = b"SQLite format 3\x00"
HEADER = 100
DAMAGED_KEPT = 3
BUSY_SECONDS = 30.0
_COPY = re.compile(r"\.backup-\d{4}-\d\d-\d\d")
_DAMAGED = re.compile(r"\.damaged-\d{8}T\d{6}")
_INDEX_CHECK = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES ('integrity-check')"
_INDEX_REBUILD = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES ('rebuild')"


def damage(file: Path) -> str:
    """What a look at the first bytes tells, at every opening. Empty: nothing is wrong with them."""
    with file.open("rb") as handle:
        header = handle.read(HEADER)
        size = os.fstat(handle.fileno()).st_size
    if not size:
        return ""  # new
    if len(header) < HEADER or not header.startswith(MAGIC):
        return "the file does not begin as a database does"
    expected = _page_size(header) * int.from_bytes(header[28:32])
    if size < expected and not _log_size(file):  # with a log, the end of the file may be on its way
        return f"the file is cut: {size} of {expected} bytes"
    return ""


def emptied(file: Path) -> str:
    """A store that has copies was more than nothing, while SQLite takes a file of no bytes for a new one."""
    return "the file is empty" if not file.stat().st_size and copies(file) else ""


def check_is_due(file: Path, now: datetime) -> bool:
    """Once a day, after somebody has met damage, and after the machine went down under an open store. A process that was killed
    is no reason: SQLite's log is made for that, and reading a whole store takes seconds.
    """
    try:
        checked = beside(file, ".checked").read_text("utf-8", errors="replace")
    except OSError:
        return True
    return checked != now.date().isoformat() or _left_by_a_fallen_machine(file)


def suspect(file: Path) -> None:
    """The next opening shall look closely."""
    with suppress(OSError):
        beside(file, ".checked").unlink()


def checked(file: Path) -> str:
    """What is wrong with any page. Empty: all are as they were written."""
    try:
        with closing(_connected(f"{file.absolute().as_uri()}?mode=rw")) as connection:
            return _page_problem(connection)
    except sqlite3.DatabaseError as error:
        if primary_code(error) in DAMAGE:
            return clean(str(error))
        raise


def damaged_files(file: Path) -> list[Path]:
    """Those that were put aside, newest first."""
    return _like(file, _DAMAGED)


@contextmanager
def daily(file: Path, now: datetime) -> Generator[bool]:
    """Whether this process is to do what is done once a day; of several one. It counts as done when the block does not raise."""
    refuse_links(beside(file, ".checked"))
    handle = opened_own(beside(file, ".checked"), os.O_RDWR)
    try:
        mine = locked_within(handle, 0)
        yield mine
        if mine:
            os.ftruncate(handle, 0)
            os.pwrite(handle, now.date().isoformat().encode(), 0)
    finally:
        os.close(handle)


def back_up(file: Path, today: date, keep: int) -> None:
    """Copy the store beside itself, unless today's copy is there, and remove the oldest copies. It is written under another name
    and renamed, so that half a copy is never taken for one.
    """
    copy = beside(file, f".backup-{today.isoformat()}")
    if not copy.exists():
        partial = beside(file, f".partial-{os.getpid()}")
        try:
            _copied(file, partial)
            partial.replace(copy)
        finally:
            partial.unlink(missing_ok=True)
    for old in copies(file)[keep:]:
        old.unlink(missing_ok=True)


def copies(file: Path) -> list[Path]:
    """The daily copies, newest first."""
    return _like(file, _COPY)


def repaired(file: Path, now: datetime) -> str:
    """Restore the newest good copy in place of a damaged store, or begin a new one. What was done and what may be missing; empty
    where another process has repaired it.
    """
    with alone(file):
        problem = damage(file) or emptied(file) or checked(file)
        if problem:
            return _restored(file, now, problem)
        return _index_repaired(file)


def _restored(file: Path, now: datetime, problem: str) -> str:
    good = next((copy for copy in copies(file) if not copy.is_symlink() and not _copy_problem(copy)), None)
    fresh = beside(file, f".partial-{os.getpid()}")
    try:
        _laid_down(good, fresh) if good else _begun(fresh)
        aside = beside(file, f".damaged-{now:%Y%m%dT%H%M%S}")
        _put_aside(file, aside)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
    suspect(file)
    _forget_old_damage(file)
    return _told(file, aside, good, problem)


def _told(file: Path, aside: Path, good: Path | None, problem: str) -> str:
    if good is None:
        loss = "no good copy was there, so an empty store was begun: what was learnt before is missing"
    else:
        day = good.name.rpartition("backup-")[2]
        loss = f"the copy of {day} was restored: what was learnt since then may be missing"
    return f"the memory store {file} was damaged ({problem}); {loss}; the damaged file is kept as {aside.name}"


def _laid_down(good: Path, fresh: Path) -> None:
    fresh.unlink(missing_ok=True)
    handle = opened_own(fresh, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(handle, "wb") as target, good.open("rb") as source:
        shutil.copyfileobj(source, target, 2**20)
        target.flush()
        os.fsync(target.fileno())


def _begun(fresh: Path) -> None:
    """An empty store that is no empty file: beside its copies, others would take that for damage."""
    fresh.unlink(missing_ok=True)
    os.close(opened_own(fresh, os.O_WRONLY | os.O_EXCL))
    with closing(_connected(str(fresh))) as connection:
        connection.execute("PRAGMA user_version=0")


def _put_aside(file: Path, aside: Path) -> None:
    """The store itself last, and by a second name: whenever this is interrupted, a damaged store is found again, never none. Its
    log must go first, or it would be played into the copy.
    """
    with suppress(FileNotFoundError):
        beside(file, "-wal").replace(beside(aside, "-wal"))
    beside(file, "-shm").unlink(missing_ok=True)
    aside.unlink(missing_ok=True)
    try:
        os.link(file, aside)
    except OSError:  # a file system without second names
        file.replace(aside)


def _forget_old_damage(file: Path) -> None:
    for old in damaged_files(file)[DAMAGED_KEPT:]:
        old.unlink(missing_ok=True)
        beside(old, "-wal").unlink(missing_ok=True)


def _index_repaired(file: Path) -> str:
    """The index of words is made of the lessons, so nothing is lost with it."""
    with closing(_connected(f"{file.absolute().as_uri()}?mode=rw")) as connection:
        if not _index_problem(connection):
            return ""
        connection.execute(_INDEX_REBUILD)
    return f"the memory store's index of words was damaged, and made anew from its lessons: {file}"


def _copied(file: Path, partial: Path) -> None:
    os.close(opened_own(partial, os.O_WRONLY | os.O_TRUNC))
    with closing(_connected(f"{file.absolute().as_uri()}?mode=rw")) as source, closing(_connected(str(partial))) as target:
        target.execute("PRAGMA journal_mode=OFF")
        target.execute("PRAGMA synchronous=OFF")
        source.backup(target)
    with partial.open("rb") as handle:
        os.fsync(handle.fileno())


def _copy_problem(copy: Path) -> str:
    """Read without touching it: nobody writes to a copy."""
    try:
        problem = damage(copy)
        with closing(_connected(f"{copy.absolute().as_uri()}?immutable=1")) as connection:
            return problem or _page_problem(connection)
    except (OSError, sqlite3.DatabaseError) as error:
        return str(error)


def _page_problem(connection: sqlite3.Connection) -> str:
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    return "" if found == "ok" else clean(found.splitlines()[-1])


def index_problem(file: Path) -> bool:
    with closing(_connected(f"{file.absolute().as_uri()}?mode=rw")) as connection:
        return _index_problem(connection)


def _index_problem(connection: sqlite3.Connection) -> bool:
    """SQLite's check of pages does not look into the index of words."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'helmsman_lesson_words'").fetchone():
        return False
    try:
        connection.execute(_INDEX_CHECK)
    except sqlite3.DatabaseError as error:
        if primary_code(error) in DAMAGE:
            return True
        raise
    return False


def _connected(place: str) -> sqlite3.Connection:
    return sqlite3.connect(place, uri=place.startswith("file:"), timeout=BUSY_SECONDS, isolation_level=None)


def _page_size(header: bytes) -> int:
    size = int.from_bytes(header[16:18])
    return 65_536 if size == 1 else size


def _log_size(file: Path) -> int:
    try:
        return beside(file, "-wal").stat().st_size
    except OSError:
        return 0


def _left_by_a_fallen_machine(file: Path) -> bool:
    try:
        log = beside(file, "-wal").stat()
    except OSError:
        return False
    return bool(log.st_size) and log.st_mtime < psutil.boot_time()


def _like(file: Path, end: re.Pattern[str]) -> list[Path]:
    """Newest first; their names end in a date."""
    beginning = len(file.name)
    found = [one for one in file.parent.iterdir() if one.name.startswith(file.name) and end.fullmatch(one.name[beginning:])]
    return sorted(found, key=lambda one: one.name, reverse=True)
