"""Follow a loop that another process drives: read new events from its journal."""

import os
import stat
from contextlib import closing, suppress
from pathlib import Path

from helmsman.render.activity import LoggedEvent
from tasks.system.journal import read_entry

FIRST_LOOK = 1024 * 1024
"""Bytes read from the end of a journal at the start: they contain the current activity."""
TAIL_BYTES = 64 * 1024
"""Bytes from the end that suffice to read a loop's state once."""
AT_ONCE = 4 * 1024 * 1024
"""Maximum bytes per read; the next one continues. A longer line is not one of ours."""


class Follower:
    """Reads what was appended to a journal since the last call. A missing or rotated journal is not an error."""

    def __init__(self, journal: Path, first_look: int = FIRST_LOOK) -> None:
        """`first_look`: bytes from the end that the first call reads. Opens no file."""
        self._journal, self._limit = journal, first_look
        self._handle: int | None = None
        self._rest = b""
        """Start of a line that is not complete yet."""

    def read_new(self) -> list[LoggedEvent]:
        """New events, oldest first; the first call reads the end of the journal."""
        is_rotated = False  # checked before reading: nothing is written to the old file after a rotation
        with suppress(OSError):
            is_rotated = self._handle is None or not os.path.samestat(self._journal.stat(), os.fstat(self._handle))
        lines = self._lines()
        if is_rotated:
            self.close()
            with suppress(OSError):
                self._open()
            self._limit = AT_ONCE
            lines += self._lines()
        return [entry for entry in map(read_entry, lines) if entry is not None]

    def _open(self) -> None:
        """Open and seek near the end. Ignores anything but a regular file: a pipe would block."""
        handle = os.open(self._journal, os.O_RDONLY | os.O_NONBLOCK)
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode):
            os.lseek(handle, max(status.st_size - self._limit, 0), os.SEEK_SET)
            self._handle = handle
        else:
            os.close(handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self._rest = None, b""

    def _lines(self) -> list[bytes]:
        """Complete new lines. A partial first line is not an event and is skipped later."""
        if self._handle is None:
            return []
        *complete, rest = (self._rest + os.read(self._handle, AT_ONCE)).split(b"\n")
        self._rest = rest if len(rest) <= AT_ONCE else b""
        return complete


def last_entries(journal: Path, most: int = TAIL_BYTES) -> list[LoggedEvent]:
    """Last events of a journal, oldest first; invalid lines are skipped."""
    with closing(Follower(journal, most)) as follower:
        return follower.read_new()
