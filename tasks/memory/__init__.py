"""What outlives a loop: a SQLite file of this user's, or a PostgreSQL server of a team's.

`from tasks.memory import opening` costs nothing: the database library is brought in when a store is opened.
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from tasks.memory.guardrails_file import delete, guardrails_place, sync_edits, write_down
from tasks.memory.projects import chosen_url, file_of, is_server, project_of
from tasks.memory.recalling import recall

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


@contextmanager
def opening(url: str, now: datetime) -> Generator[Store]:
    """A store while the block runs; an empty URL is this user's own file. Raises TransientError when there can be none."""
    if is_server(url):
        from tasks.memory.postgres import opened_server  # brings the database library in

        opened = opened_server(url)
    else:
        from tasks.memory.sqlite import opened_file

        opened = opened_file(file_of(url), now, ours=not url)
    with opened as store:
        yield store


@contextmanager
def looking(url: str) -> Generator[Reads | None]:
    """The store of a URL for whoever only looks; None where there is none of this version. Raises TransientError.

    A server's as it stands, of a file a copy: nothing of it is made, repaired or moved on.
    """
    with ExitStack() as stack:
        if is_server(url):
            from tasks.memory.postgres import PostgresServer

            store = PostgresServer(url)
        else:
            from tasks.memory.sqlite import copied_file

            store = stack.enter_context(copied_file(file_of(url)))
        if store:
            stack.callback(store.close)
        yield store if store and store.is_of_this_version() else None
