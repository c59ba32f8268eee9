"""Webhook deliveries, stored in a file: an accepted event is kept until its run exists, and no event counts twice.

Any number of receivers may share the file. Each call is one transaction on its own connection.
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
from tasks.system.paths import private_folder, state_home
from tasks.system.secrets import without_secrets

FORGET_AFTER = timedelta(days=30)
"""A message that is repeated later finds its loop in the repository, which does not start one twice either."""
MOST_AT_ONCE = 100  # events returned by one call of `waiting`
PATIENCE_SECONDS = 10  # for another process to end its transaction

TABLES = """
CREATE TABLE IF NOT EXISTS deliveries (name TEXT PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS pushes (key TEXT PRIMARY KEY, at REAL NOT NULL, push TEXT NOT NULL, run TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS waiting ON pushes (at) WHERE run = '';
"""


Event = Push | IssueEvent
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
"""The two types are unambiguous: each requires fields that the other lacks."""


def key_of(event: Event) -> str:
    """Key of an event, the same for every message about it."""
    return push_key(event) if isinstance(event, Push) else event_key(event)


def deliveries_file() -> Path:
    return state_home() / "receiver" / "deliveries.sqlite"


class Deliveries:
    """The store of deliveries. Every method raises TransientError where the file cannot be used: a full disk, a stuck lock."""

    def __init__(self, file: Path) -> None:
        """Create the file where it is missing."""
        self._file = file
        with self._transient_errors():
            private_folder(file.parent)
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.fchmod(handle, 0o600)  # also for a file of an earlier version
            os.close(handle)
        with self._transaction() as database:
            for statement in filter(str.strip, TABLES.split(";")):
                database.execute(statement)

    def accept(self, delivery: str, events: Sequence[Event], now: datetime) -> list[Event]:
        """Store the events of a delivery durably, and return the new ones; a repeated delivery is ignored."""
        moment = now.timestamp()
        with self._transaction() as database:
            before = (moment - FORGET_AFTER.total_seconds(),)
            database.execute("DELETE FROM deliveries WHERE at < ?", before)
            database.execute("DELETE FROM pushes WHERE at < ? AND run != ''", before)
            if not database.execute("INSERT OR IGNORE INTO deliveries VALUES (?, ?)", (delivery, moment)).rowcount:
                return []
            new, statement = list[Event](), "INSERT OR IGNORE INTO pushes (key, at, push) VALUES (?, ?, ?)"
            for event in map(without_secrets, events):
                if database.execute(statement, (key_of(event), moment, event.model_dump_json())).rowcount:
                    new.append(event)
            return new

    def waiting(self) -> list[Event]:
        """Events without a run, oldest first."""
        with self._transaction() as database:
            rows = database.execute("SELECT push FROM pushes WHERE run = '' ORDER BY at LIMIT ?", (MOST_AT_ONCE,)).fetchall()
        return [_EVENTS.validate_json(text) for (text,) in rows]

    def started(self, event: Event, run: str) -> None:
        """Store the run of an event, which is no longer waiting."""
        with self._transaction() as database:
            database.execute("UPDATE pushes SET run = ? WHERE key = ?", (run, key_of(event)))

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with (
            self._transient_errors(),
            closing(sqlite3.connect(self._file, timeout=PATIENCE_SECONDS, isolation_level=None)) as database,
        ):
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")  # without it, closing rolls everything back

    @contextmanager
    def _transient_errors(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise TransientError(
                "webhook deliveries cannot be stored",
                found=f"{self._file}: {error}",
                remedy="check the disk; the sender may retry",
            ) from error
