"""Publish events to listeners: a bounded journal file for the loop, and displays in this process.

Observers never stop a loop: a failing listener is removed with a log message, a full disk loses lines of the journal.
"""

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from helmsman.records.events import Event, MemoryNoted, ObserverFailed, read_event
from helmsman.render.activity import LoggedEvent
from tasks.system.secrets import without_secrets

LONGEST_JOURNAL = 4 * 1024 * 1024  # bytes before the journal is rotated; one older generation is kept

Listener = Callable[[Event], None]

_listeners: list[Listener] = []
_publish_lock = threading.RLock()
_log = logging.getLogger(__name__)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Register a listener for events during the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _remove_listener(listener)


def publish(event: Event) -> None:
    """Notify all listeners, one event at a time, as hooks and checks publish from their own threads. Secrets are redacted."""
    event = without_secrets(event)
    with _publish_lock:
        for listener in tuple(_listeners):
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
                _remove_listener(listener)
                _log.exception("an observer failed and is no longer notified")


def report_problem(why: str) -> None:
    """Report an observer's problem: in the display, the journal and the run's log, or to the process's log without a loop."""
    if _listeners:
        publish(ObserverFailed(why=why))
    else:
        _log.warning("%s", why)


def note(*lines: str) -> None:
    """Publish lines for people; empty ones are left out."""
    if noted := tuple(filter(None, lines)):
        publish(MemoryNoted(lines=noted))


def _remove_listener(listener: Listener) -> None:
    if listener in _listeners:
        _listeners.remove(listener)


def journal_to(path: Path) -> Listener:
    """Listener that appends each event to a file, prefixed with the time."""

    def append(event: Event) -> None:
        if path.exists() and path.stat().st_size > LONGEST_JOURNAL:
            path.replace(path.with_suffix(".1.jsonl"))
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {event.model_dump_json()}\n")

    return append


def read_entry(line: bytes) -> LoggedEvent | None:
    """Parse a line of the journal; None for an invalid line."""
    moment, _, event = line.decode(errors="replace").partition(" ")
    try:
        at = datetime.fromisoformat(moment)
        return LoggedEvent(at, read_event(event)) if at.tzinfo else None
    except ValueError:  # includes pydantic's
        return None
