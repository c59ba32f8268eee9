"""A URL as an open store."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from helmsman.errors import WorldError
from tasks.memory.postgres_server import opened_server
from tasks.memory.sqlite_file import opened_file
from tasks.memory.store import OpenStore
from tasks.places import state_home

FILE = "sqlite:///"


@contextmanager
def opened(url: str, now: datetime, backups: int) -> Generator[OpenStore]:
    if url and not url.startswith("sqlite:"):
        with opened_server(url) as server:
            yield OpenStore(server)
        return
    file = _named(url) if url else state_home() / "memory" / "memory.db"
    with opened_file(file, now, backups, ours=not url) as (database, warnings):
        yield OpenStore(database, warnings)


def _named(url: str) -> Path:
    named = Path(url.removeprefix(FILE)).expanduser()
    if not url.startswith(FILE) or not named.is_absolute() or "?" in url or "\x00" in url:
        raise WorldError(
            "memory.url names no file",
            expected="four slashes and a whole path, as sqlite:////folder/memory.db",
            found=repr(url)[:200],
            remedy="set it by HELMSMAN_MEMORY__URL",
        )
    return named
