"""A URL as an open store."""

import shutil
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from helmsman.errors import WorldError
from tasks.memory.postgres import PostgresServer, opened_server
from tasks.memory.repairing import beside
from tasks.memory.sqlite import SqliteFile, opened_file
from tasks.memory.store import Store
from tasks.memory.tables import VERSION, checked_version
from tasks.places import state_home

FILE = "sqlite:///"


@contextmanager
def opened(url: str, now: datetime, backups: int) -> Generator[Store]:
    with opened_server(url) if _is_server(url) else opened_file(_file(url), now, backups, ours=not url) as store:
        yield store


@contextmanager
def looked_into(url: str) -> Generator[Store | None]:
    """A store as it is: a server's as it stands, of a file a copy, so that nothing of it is made, repaired or moved on."""
    with ExitStack() as stack:
        database = PostgresServer(url) if _is_server(url) else _copied(_file(url), stack)
        if database is None:
            yield None
            return
        stack.callback(database.close)
        with database.reading() as connection:
            known = checked_version(connection) == VERSION
        yield Store(database) if known else None


def _copied(file: Path, stack: ExitStack) -> SqliteFile | None:
    """With what was written and is not in the file itself yet; None where there is nothing."""
    if not file.is_file() or file.is_symlink():
        return None
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="helmsman-memory-")))
    for part in (file, beside(file, "-wal")):
        if part.is_file():
            shutil.copyfile(part, folder / part.name)
    return SqliteFile(folder / file.name)


def _is_server(url: str) -> bool:
    return bool(url) and not url.startswith("sqlite:")


def _file(url: str) -> Path:
    if not url:
        return state_home() / "memory" / "memory.db"
    named = Path(url.removeprefix(FILE)).expanduser()
    if not url.startswith(FILE) or not named.is_absolute() or "?" in url or "\x00" in url:
        raise WorldError(
            "memory.url names no file",
            expected="four slashes and a whole path, as sqlite:////folder/memory.db",
            found=repr(url)[:200],
            remedy="set it by HELMSMAN_MEMORY__URL",
        )
    return named
