"""What happens, told to whoever listens: a bounded file beside the loop, and displays in this process.

Observers never stop a loop: a listener that fails is dropped with a line in the log, a full disk loses lines of the journal.
"""

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from helmsman.records.events import Event, read_event
from helmsman.render.activity import LoggedEvent
from tasks.system.secrets import without_secrets

LONGEST_JOURNAL = 4 * 1024 * 1024  # bytes before the journal is turned over; one older generation is kept

Listener = Callable[[Event], None]

_listeners: list[Listener] = []
_telling = threading.RLock()
_log = logging.getLogger(__name__)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Have a listener told of every event while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _forget(listener)


def publish(event: Event) -> None:
    """Tell everybody, one event after the other: hooks and checks speak from threads of their own. No event says a secret."""
    event = without_secrets(event)
    with _telling:
        for listener in tuple(_listeners):
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - an observer may fail in any way; it never stops a loop
                _forget(listener)
                _log.exception("an observer failed and is no longer notified")


def _forget(listener: Listener) -> None:
    if listener in _listeners:
        _listeners.remove(listener)


def journal_to(path: Path) -> Listener:
    """A listener that appends each event to a file with the time in front."""

    def append(event: Event) -> None:
        if path.exists() and path.stat().st_size > LONGEST_JOURNAL:
            path.replace(path.with_suffix(".1.jsonl"))
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {event.model_dump_json()}\n")

    return append


def read_entry(line: bytes) -> LoggedEvent | None:
    """None where it is no line of ours."""
    moment, _, event = line.decode(errors="replace").partition(" ")
    try:
        at = datetime.fromisoformat(moment)
        return LoggedEvent(at, read_event(event)) if at.tzinfo else None
    except ValueError:  # pydantic's is one as well
        return None
