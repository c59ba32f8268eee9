"""What webhooks have delivered, in a file: what was accepted is not forgotten before its run exists, and nothing counts twice.

Any number of receivers may share the file. Each call is one transaction on a connection of its own.
"""

import os
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter

from helmsman.errors import TransientError
from helmsman.parsers.issues import event_key
from helmsman.parsers.pushes import push_key
from helmsman.records.triggers import IssueEvent, Push
from tasks.system.paths import closed, state_home
from tasks.system.secrets import without_secrets

FORGET_AFTER = timedelta(days=30)
"""A message that comes again after that long finds its loop in the repository, which starts none twice either."""
MOST_AT_ONCE = 100  # events that are handed out in one go
PATIENCE_SECONDS = 10  # for another process to end its transaction

TABLES = """
CREATE TABLE IF NOT EXISTS deliveries (name TEXT PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS pushes (key TEXT PRIMARY KEY, at REAL NOT NULL, push TEXT NOT NULL, run TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS waiting ON pushes (at) WHERE run = '';
"""


Event = Push | IssueEvent
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
"""Neither can be read as the other: each requires what the other lacks."""


def key_of(event: Event) -> str:
    """The same for every message about the same event."""
    return push_key(event) if isinstance(event, Push) else event_key(event)


def deliveries_file() -> Path:
    return state_home() / "receiver" / "deliveries.sqlite"


class Deliveries:
    """Every method raises TransientError where the file cannot be used: a full disk, a lock that is never let go."""

    def __init__(self, file: Path) -> None:
        """Make the file where it is missing."""
        self._file = file
        with self._usable():
            closed(file.parent)
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.fchmod(handle, 0o600)  # one that an earlier version made
            os.close(handle)
        with self._transaction() as database:
            for statement in filter(str.strip, TABLES.split(";")):
                database.execute(statement)

    def accept(self, delivery: str, events: Sequence[Event], now: datetime) -> list[Event]:
        """Keep the events of a delivery, and return the new ones; of a delivery that came before, none is looked at.

        When this returns, they are on the disk.
        """
        moment = now.timestamp()
        with self._transaction() as database:
            before = (moment - FORGET_AFTER.total_seconds(),)
            database.execute("DELETE FROM deliveries WHERE at < ?", before)
            database.execute("DELETE FROM pushes WHERE at < ? AND run != ''", before)
            if not database.execute("INSERT OR IGNORE INTO deliveries VALUES (?, ?)", (delivery, moment)).rowcount:
                return []
            new, statement = list[Event](), "INSERT OR IGNORE INTO pushes (key, at, push) VALUES (?, ?, ?)"
            for one in map(without_secrets, events):
                if database.execute(statement, (key_of(one), moment, one.model_dump_json())).rowcount:
                    new.append(one)
            return new

    def waiting(self) -> list[Event]:
        """Events without a run, oldest first."""
        with self._transaction() as database:
            found = database.execute("SELECT push FROM pushes WHERE run = '' ORDER BY at LIMIT ?", (MOST_AT_ONCE,)).fetchall()
        return [_EVENTS.validate_json(text) for (text,) in found]

    def started(self, event: Event, run: str) -> None:
        """Remember the run of an event: it waits no longer."""
        with self._transaction() as database:
            database.execute("UPDATE pushes SET run = ? WHERE key = ?", (run, key_of(event)))

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._usable(), closing(sqlite3.connect(self._file, timeout=PATIENCE_SECONDS, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")  # without it, closing takes everything back

    @contextmanager
    def _usable(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise TransientError(
                "webhook deliveries cannot be stored",
                found=f"{self._file}: {error}",
                remedy="check the disk; the sender may retry",
            ) from error
