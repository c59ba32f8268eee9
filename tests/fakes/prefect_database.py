"""A Prefect database on which all migrations have run: they take eight seconds, and every new server would begin with them."""

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
"""Folder of all workers of a test run; the first that needs a database makes it there."""


def share_database(folder: Path) -> None:
    """From now on. Where nobody shares anything, as in a benchmark, each server begins with an empty database."""
    _shared[:] = [folder / "migrated"]


def copy_database(home: Path) -> None:
    """Put one into the folder that is to be a server's PREFECT_HOME, unless it has one."""
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
    """As a server does at its start; sqlite leaves no journal behind once nobody has it open."""
    home.mkdir(exist_ok=True)
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "PREFECT_HOME": str(home), **SERVER}
    command = [sys.executable, "-P", "-m", "prefect", "server", "database", "upgrade", "--yes"]
    done = subprocess.run(command, cwd=home, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
