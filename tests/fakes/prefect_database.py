"""A migrated Prefect database: migrations take eight seconds, and every new server would run them."""

import fcntl
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tasks.engine.embedded import SERVER

NAME = "prefect.db"
_shared: list[Path] = []
"""Folder that all workers share; the first that needs a database makes it there."""


def share_database(folder: Path) -> None:
    """Share one database from now on. Otherwise, as in a benchmark, each server starts with an empty one."""
    _shared[:] = [folder / "migrated"]


def copy_database(home: Path) -> None:
    """Copy it into a folder that becomes PREFECT_HOME, unless the folder has one."""
    home.mkdir(parents=True, exist_ok=True)
    if _shared and not (home / NAME).exists():
        shutil.copy(_made(_shared[0]), home / NAME)


@cache
def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / NAME).exists():
            _migrate(folder / "home")
            (folder / "home" / NAME).rename(folder / NAME)
    return folder / NAME


def _migrate(home: Path) -> None:
    """Migrate as a server does at its start; SQLite removes its journal when the last connection closes."""
    home.mkdir(exist_ok=True)
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "PREFECT_HOME": str(home), **SERVER}
    command = [sys.executable, "-P", "-m", "prefect", "server", "database", "upgrade", "--yes"]
    done = subprocess.run(command, cwd=home, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
