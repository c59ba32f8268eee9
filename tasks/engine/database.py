"""The embedded engine's database: whether this Prefect can read it, and putting it aside where it cannot.

It is Prefect's own file, shared by every project of this user. A newer release changes its tables, and an older one then refuses
to start; so does one that a full disk has cut off. Nothing that a loop needs to go on is in it: that is in git.
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

BESIDE = "", "-wal", "-shm", "-journal"
"""SQLite finds these by the whole name of the database that they belong to."""
VERSIONS = Path("server", "database", "_migrations", "versions", "sqlite")


def database_of(environment: Mapping[str, str]) -> Path | None:
    """The file, or None where another database was chosen or no run has made it yet."""
    if any(name.endswith("DATABASE_CONNECTION_URL") and environment[name] for name in environment):
        return None
    file = prefect_home(environment) / "prefect.db"
    return file if file.exists() else None


class Trouble(NamedTuple):
    """Why this Prefect cannot use the file."""

    why: str
    of_the_file: bool
    """Not of the disk, of permissions or of somebody at work in it: another file would do."""


def trouble(file: Path) -> Trouble | None:
    """None where it can be used, or is locked by somebody who does."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            rows = database.execute("select version_num from alembic_version").fetchall()
    except sqlite3.OperationalError as error:
        return None if "no such table" in str(error) or "locked" in str(error) else Trouble(str(error), of_the_file=False)
    except sqlite3.DatabaseError as error:
        return Trouble(str(error), of_the_file=True)
    prefect = importlib.util.find_spec("prefect")  # its revisions, by the names of its files: none of it is imported
    folder = Path(prefect.origin).parent / VERSIONS if prefect and prefect.origin else Path()
    known = {part for path in folder.glob("*.py") for part in path.stem.split("_")}
    unknown = [str(row[0]) for row in rows if row[0] not in known]
    return Trouble(f"a newer Prefect has changed it (revision {', '.join(unknown)})", of_the_file=True) if unknown else None


def users(file: Path) -> list[int]:
    """Numbers of the processes that have it open, by whatever name."""
    return [process.pid for process in psutil.process_iter() if _has_open(process, file.resolve())]


def put_aside(file: Path, now: datetime) -> Path:
    """Rename it with what belongs to it; nothing is deleted. Returns its new place."""
    aside = file.with_name(f"{file.name}.aside-{now:%Y%m%d-%H%M%S}")
    for ending in BESIDE:
        part = file.with_name(file.name + ending)
        if part.exists():
            part.rename(aside.with_name(aside.name + ending))
    return aside


def _has_open(process: psutil.Process, file: Path) -> bool:
    """`file`: without links, as the system tells what is open. An embedded engine, which hides it, counts as one that has."""
    try:
        return any(Path(one.path).resolve() == file for one in process.open_files())
    except (psutil.Error, OSError) as error:
        with suppress(psutil.Error, OSError):
            return isinstance(error, psutil.AccessDenied) and MODULE in process.cmdline()
        return False
