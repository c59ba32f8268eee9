"""The embedded engine's database: check whether this Prefect can read it, and move it away if not.

It is Prefect's own file, shared by all projects of this user. A newer release migrates its tables, and an older one then fails to
start; so does one with a file truncated by a full disk. It holds nothing that a loop needs to continue: that is in git.
"""

import importlib.util
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import psutil

from tasks.engine.embedded import MODULE, prefect_home

SUFFIXES = "", "-wal", "-shm", "-journal"
"""Suffixes of SQLite's files, appended to the full name of the database."""
VERSIONS = Path("server", "database", "_migrations", "versions", "sqlite")


def database_of(environment: Mapping[str, str]) -> Path | None:
    """Path of the database; None if another database is configured or the file does not exist yet."""
    if any(name.endswith("DATABASE_CONNECTION_URL") and environment[name] for name in environment):
        return None
    file = prefect_home(environment) / "prefect.db"
    return file if file.exists() else None


class Problem(NamedTuple):
    """Why this Prefect cannot use the file."""

    why: str
    of_the_file: bool
    """Whether a new file would solve it: not a problem of the disk, of permissions or of a lock."""


def find_problem(file: Path) -> Problem | None:
    """Why the file cannot be used; None if it can, or if another process has locked it."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            rows = database.execute("select version_num from alembic_version").fetchall()
    except sqlite3.OperationalError as error:
        return None if "no such table" in str(error) or "locked" in str(error) else Problem(str(error), of_the_file=False)
    except sqlite3.DatabaseError as error:
        return Problem(str(error), of_the_file=True)
    prefect = importlib.util.find_spec("prefect")  # revisions are read from its file names, without importing it
    folder = Path(prefect.origin).parent / VERSIONS if prefect and prefect.origin else Path()
    revisions = {part for path in folder.glob("*.py") for part in path.stem.split("_")}
    unknown = [str(row[0]) for row in rows if row[0] not in revisions]
    return Problem(f"a newer Prefect has changed it (revision {', '.join(unknown)})", of_the_file=True) if unknown else None


def processes_using(file: Path) -> list[int]:
    """Ids of the processes that have the file open, under any name."""
    return [process.pid for process in psutil.process_iter() if _has_open(process, file.resolve())]


def move_aside(file: Path, now: datetime) -> Path:
    """Rename the database with its companion files; delete nothing. Returns the new path."""
    aside = file.with_name(f"{file.name}.aside-{now:%Y%m%d-%H%M%S}")
    for ending in SUFFIXES:
        path = file.with_name(file.name + ending)
        if path.exists():
            path.rename(aside.with_name(aside.name + ending))
    return aside


def _has_open(process: psutil.Process, file: Path) -> bool:
    """Whether the process has the resolved path open. An embedded engine, whose open files are hidden, counts as a user."""
    try:
        return any(Path(opened.path).resolve() == file for opened in process.open_files())
    except (psutil.Error, OSError) as error:
        with suppress(psutil.Error, OSError):
            return isinstance(error, psutil.AccessDenied) and MODULE in process.cmdline()
        return False
