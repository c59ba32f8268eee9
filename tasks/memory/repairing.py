"""The files of a store of this user's: whether they are what was written, daily copies, and what is done when they are not."""

import fcntl
import os
import re
import sqlite3
import stat
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from helmsman.errors import WorldError
from helmsman.plain import clean
from tasks.lock import held
from tasks.memory.faults import DAMAGE, Damaged, primary_code

PATIENCE_SECONDS = 30.0
"""Changes are short. Only a restoration waits for all of them, and all of them for it."""
MAGIC, HEADER = b"SQLite format 3\x00", 100
DAMAGED_KEPT = 3
COPY, DAMAGED = re.compile(r"\.backup-\d{4}-\d\d-\d\d"), re.compile(r"\.damaged-\d{8}T\d{6}")
_INDEX = "SELECT 1 FROM sqlite_master WHERE name = 'helmsman_lesson_words'"
_INDEX_DO = "INSERT INTO helmsman_lesson_words (helmsman_lesson_words) VALUES (?)"

# --- whether it is what was written -------------------------------------------------------------------------------


def damage(file: Path) -> str:
    """What a look at the first bytes tells, at every opening. Empty: nothing is wrong with them."""
    with file.open("rb") as handle:
        header = handle.read(HEADER)
        size = os.fstat(handle.fileno()).st_size
    if not size:
        return ""  # new
    if len(header) < HEADER or not header.startswith(MAGIC):
        return "the file does not begin as a database does"
    page = int.from_bytes(header[16:18])
    expected = (65_536 if page == 1 else page) * int.from_bytes(header[28:32])
    log = beside(file, "-wal")
    if size < expected and not (log.exists() and log.stat().st_size):  # with a log, the end of the file may be on its way
        return f"the file is cut: {size} of {expected} bytes"
    return ""


def emptied(file: Path) -> str:
    """A store that has copies was more than nothing, while SQLite takes a file of no bytes for a new one."""
    return "the file is empty" if not file.stat().st_size and like(file, COPY) else ""


def check_is_due(file: Path, now: datetime) -> bool:
    """Once a day, and after somebody has met damage. A process or machine that dies is no reason: SQLite's log is made for that,
    and reading a whole store takes seconds.
    """
    try:
        return beside(file, ".checked").read_text("utf-8", errors="replace") != now.date().isoformat()
    except OSError:
        return True


def suspect(file: Path) -> None:
    """The next opening shall look closely."""
    with suppress(OSError):
        beside(file, ".checked").unlink()


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
        return not (copy.is_symlink() or damage(copy) or _page_problem(copy, "immutable=1"))
    except (OSError, sqlite3.DatabaseError):
        return False


def _index_problem(file: Path, *, repair: bool = False) -> str:
    """SQLite's check of pages does not look into the index of words. It is made of the lessons: nothing is lost with it."""
    with closing(_connected(file)) as connection:
        if not connection.execute(_INDEX).fetchone():
            return ""
        try:
            connection.execute(_INDEX_DO, ["integrity-check"])
        except sqlite3.DatabaseError as error:
            if primary_code(error) not in DAMAGE:
                raise
            if repair:
                connection.execute(_INDEX_DO, ["rebuild"])
            return "the index of words"
    return ""


def refuse(file: Path, problem: str) -> None:
    if problem:
        raise Damaged("the memory store is damaged", expected=f"a whole database at {file}", found=problem)


# --- copies -------------------------------------------------------------------------------------------------------


def daily(file: Path, now: datetime, backups: int) -> list[str]:
    """Look at every page, and copy what is good; of several processes one does it. A copy that fails is a warning, and tried
    again tomorrow: the store works.
    """
    warnings = list[str]()
    with suppress(TimeoutError), held(beside(file, ".checked"), 0, mode=0o600) as handle:
        refuse(file, _page_problem(file) or _index_problem(file))
        try:
            _back_up(file, now, backups)
        except (OSError, sqlite3.Error) as error:
            warnings.append(f"the memory store could not be copied today ({error}): {file}")
        os.ftruncate(handle, 0)
        os.pwrite(handle, now.date().isoformat().encode(), 0)
    return warnings


def _back_up(file: Path, now: datetime, keep: int) -> None:
    """Copy the store beside itself, unless today's copy is there, and remove the oldest copies. It is written under another name
    and renamed, so that half a copy is never taken for one.
    """
    copy, partial = beside(file, f".backup-{now.date().isoformat()}"), beside(file, f".partial-{os.getpid()}")
    if not copy.exists():
        try:
            _copy(file, "mode=rw", partial)
            partial.replace(copy)
        finally:
            partial.unlink(missing_ok=True)
    for old in like(file, COPY)[keep:]:
        old.unlink(missing_ok=True)


def _copy(file: Path, how: str, target: Path) -> None:
    os.close(own(target, os.O_WRONLY | os.O_TRUNC))
    with closing(_connected(file, how)) as source, closing(_connected(target)) as written:
        written.execute("PRAGMA journal_mode=OFF")
        written.execute("PRAGMA synchronous=OFF")
        source.backup(written)
    with target.open("rb") as handle:
        os.fsync(handle.fileno())


def repaired(file: Path, now: datetime) -> str:
    """Restore the newest good copy in place of a damaged store, or begin a new one. What was done and what may be missing; empty
    where another process has repaired it.
    """
    with locked(file, fcntl.LOCK_EX):
        problem = damage(file) or emptied(file) or _page_problem(file)
        if problem:
            return _restored(file, now, problem)
        repaired_index = _index_problem(file, repair=True)
    made = f"the memory store's index of words was damaged, and made anew from its lessons: {file}"
    return made if repaired_index else ""


def _restored(file: Path, now: datetime, problem: str) -> str:
    good = next(filter(_is_good, like(file, COPY)), None)
    fresh, aside = beside(file, f".partial-{os.getpid()}"), beside(file, f".damaged-{now:%Y%m%dT%H%M%S}")
    try:
        _copy(good, "immutable=1", fresh) if good else _begin(fresh)
        _put_aside(file, aside)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)
    suspect(file)
    for old in like(file, DAMAGED)[DAMAGED_KEPT:]:
        old.unlink(missing_ok=True)
        beside(old, "-wal").unlink(missing_ok=True)
    loss = "no good copy was there, so an empty store was begun: what was learnt before is missing"
    if good:
        day = good.name.rpartition("backup-")[2]
        loss = f"the copy of {day} was restored: what was learnt since then may be missing"
    return f"the memory store {file} was damaged ({problem}); {loss}; the damaged file is kept as {aside.name}"


def _begin(fresh: Path) -> None:
    """An empty store that is no empty file: beside its copies, others would take that for damage."""
    os.close(own(fresh, os.O_WRONLY | os.O_TRUNC))
    with closing(_connected(fresh)) as connection:
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


# --- its files: nobody else reads them, and none of them leads somewhere else -------------------------------------


def beside(file: Path, end: str) -> Path:
    return file.with_name(f"{file.name}{end}")


def like(file: Path, end: re.Pattern[str]) -> list[Path]:
    """Newest first; their names end in a date."""
    beginning = len(file.name)
    found = [one for one in file.parent.iterdir() if one.name.startswith(file.name) and end.fullmatch(one.name[beginning:])]
    return sorted(found, key=lambda one: one.name, reverse=True)


def prepared(file: Path, *, ours: bool) -> bool:
    """Make the folder and an empty file where there are none; whether there was none. Raises WorldError where something else
    stands there.
    """
    folder = file.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if ours:
            refuse_links(folder)
            folder.chmod(0o700)
        refuse_links(file, beside(file, "-wal"), beside(file, "-shm"))
        if not file.exists():
            os.close(own(file, os.O_WRONLY))
            return True
        mode = file.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise _strange(file, "a folder" if stat.S_ISDIR(mode) else "no plain file")
        if mode & 0o077:
            file.chmod(0o600)
    except OSError as error:
        raise WorldError(
            "the memory store cannot be made",
            expected=f"a file of this user's at {file}",
            found=error.strerror or type(error).__name__,
            remedy="make the folder writable for this user, or name another place in memory.url",
        ) from None
    return False


def own(file: Path, flags: int) -> int:
    """A handle on one of the store's files that is made where it is not there."""
    return os.open(file, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def refuse_links(*files: Path) -> None:
    for file in files:
        if file.is_symlink():
            raise _strange(file, "a link")


def _strange(file: Path, found: str) -> WorldError:
    return WorldError(
        "the memory store is not what it should be",
        expected=f"a plain file or folder of this user's at {file}",
        found=found,
        remedy="move it away, or name another place in memory.url",
    )


@contextmanager
def locked(file: Path, how: int) -> Generator[None]:
    """Shared while the store is changed, exclusive while its files are exchanged."""
    lock = beside(file, ".lock")
    with ExitStack() as stack:
        try:
            stack.enter_context(held(lock, PATIENCE_SECONDS, how, mode=0o600))
        except OSError as error:
            found = f"{lock}: {error.strerror or type(error).__name__}"
            raise WorldError("the memory store cannot be locked", found=found, remedy="end what holds it") from None
        yield


def _connected(file: Path, how: str = "mode=rw") -> sqlite3.Connection:
    place = f"{file.absolute().as_uri()}?{how}"
    return sqlite3.connect(place, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)


def identity(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
