"""What outlives a loop: a SQLite file of this user's, or a PostgreSQL server of a team's.

`from tasks.memory import opening` costs nothing: the database library is brought in when a store is opened.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.errors import OperatorError, TransientError
from tasks.memory.guardrails_file import delete, guardrails_place, sync_edits, write_down
from tasks.memory.recalling import recall
from tasks.repository.git import Repository, git, succeeds
from tasks.system.environment import ours
from tasks.system.paths import state_home

if TYPE_CHECKING:
    from tasks.memory.reads import Reads
    from tasks.memory.store import Change, Store
else:  # these bring the database library in
    Change = Reads = Store = object

__all__ = [
    "Change",
    "Reads",
    "Store",
    "chosen_url",
    "delete",
    "guardrails_place",
    "looking",
    "opening",
    "project_of",
    "recall",
    "sync_edits",
    "write_down",
]

URL = "HELMSMAN_MEMORY_URL"  # wins over memory.url, and may hold a password
FILE = "sqlite:///"
LENGTH = 16  # characters of the id: enough that no two projects of anybody share one


@contextmanager
def opening(url: str, now: datetime) -> Generator[Store]:
    """A store while the block runs; an empty URL is this user's own file. Raises TransientError when there can be none."""
    if _is_server(url):
        from tasks.memory.postgres import opened_server  # brings the database library in

        opened = opened_server(url)
    else:
        from tasks.memory.sqlite import opened_file

        opened = opened_file(_file_of(url), now, ours=not url)
    with opened as store:
        yield store


@contextmanager
def looking(url: str) -> Generator[Reads | None]:
    """The store of a URL for whoever only looks; None where there is none of this version. Raises TransientError.

    Nothing of it is made, repaired or moved on.
    """
    store: Store | None = None
    if _is_server(url):
        from tasks.memory.postgres import PostgresServer

        store = PostgresServer(url)
    elif (file := _file_of(url)).is_file():
        from tasks.memory.sqlite import SqliteFile

        store = SqliteFile(file, read_only=True)
    try:
        yield store if store and store.is_of_this_version() else None
    finally:
        if store:
            store.close()


def chosen_url(configured: str) -> str:
    """Where the memory is, given what the configuration says; empty: in this user's own file."""
    return ours().get(URL) or configured


def _is_server(url: str) -> bool:
    return bool(url) and not url.startswith("sqlite:")


def _file_of(url: str) -> Path:
    """The file that a URL names, which is no server's. Raises TransientError."""
    if not url:
        return state_home() / "memory" / "memory.db"
    named = Path(url.removeprefix(FILE)).expanduser()
    if not url.startswith(FILE) or not named.is_absolute() or "?" in url or "\x00" in url:
        raise TransientError(
            "memory.url names no file",
            expected="four slashes and a whole path, as sqlite:////folder/memory.db",
            found=repr(url)[:200],
            remedy="set HELMSMAN_MEMORY__URL",
        )
    return named


@lru_cache(maxsize=64)
def project_of(repository: Repository) -> str:
    """The beginning of the first commit's id, of several first ones the smallest. A shallow clone is a project of its own.

    Of the work alone: the states of loops and what `git stash` keeps begin with a commit of their own. A bare repository may
    point to a branch that is not there, while its worktrees have others. Raises OperatorError where there is no commit.
    """
    common = repository.common
    work = ("HEAD",) if succeeds(common, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") else ("--branches", "--remotes")
    roots = git(common, "rev-list", "--max-parents=0", *work).split()
    if not roots:
        raise OperatorError("the project has no first commit to be known by", found=str(common), remedy="make a commit")
    return min(roots)[:LENGTH]
