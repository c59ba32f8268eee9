"""Reading along with a loop that another process drives: its journal as it grows, its newest record, and when its state moves."""

import os
import stat
from contextlib import closing, suppress
from pathlib import Path

from pydantic import ValidationError

from helmsman.records.iteration import IterationRecord
from helmsman.render.activity import LoggedEvent
from tasks.repository.git import Repository
from tasks.repository.objects import read_objects
from tasks.repository.state_ref import state_ref
from tasks.system.journal import read_entry

FIRST_LOOK = 1024 * 1024
"""Bytes at the end of a journal that are read back at the start: what the loop is doing now stands there."""
TAIL_BYTES = 64 * 1024
"""Of those, what is enough to say where a loop stands, for whoever looks once."""
AT_ONCE = 4 * 1024 * 1024
"""Bytes that one look takes at most; the rest waits for the next. A line that is longer is none of ours."""
STATES_BACK = 5
"""How far back a record is looked for: a cancel, an interrupted attempt or a question makes a state that has none."""


class Follower:
    """Tells what was appended to a journal since the last look. It may be missing or turned over: that is no error."""

    def __init__(self, journal: Path, first_look: int = FIRST_LOOK) -> None:
        """Nothing is opened before the first look, which takes that many bytes from the end."""
        self._journal, self._most = journal, first_look
        self._handle: int | None = None
        self._rest = b""
        """Of the line whose end is not written yet."""

    def news(self) -> list[LoggedEvent]:
        """What is new, oldest first; at the first look the end of what is there."""
        turned_over = False  # asked before: from then on, nothing more is written to the one that we read
        with suppress(OSError):
            turned_over = self._handle is None or not os.path.samestat(self._journal.stat(), os.fstat(self._handle))
        lines = self._lines()
        if turned_over:
            self.close()
            with suppress(OSError):
                self._open()
            self._most = AT_ONCE
            lines += self._lines()
        return [told for told in map(read_entry, lines) if told is not None]

    def _open(self) -> None:
        """So many bytes before its end. A pipe or a folder of that name is passed over: a pipe would keep us waiting."""
        handle = os.open(self._journal, os.O_RDONLY | os.O_NONBLOCK)
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode):
            os.lseek(handle, max(found.st_size - self._most, 0), os.SEEK_SET)
            self._handle = handle
        else:
            os.close(handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self._rest = None, b""

    def _lines(self) -> list[bytes]:
        """Half a line, as at the first look, is no event and is passed over as such."""
        if self._handle is None:
            return []
        *whole, rest = (self._rest + os.read(self._handle, AT_ONCE)).split(b"\n")
        self._rest = rest if len(rest) <= AT_ONCE else b""
        return whole


def last_entries(journal: Path, most: int = TAIL_BYTES) -> list[LoggedEvent]:
    """The last events of a journal, oldest first; a line that was cut off or is not ours is passed over."""
    with closing(Follower(journal, most)) as follower:
        return follower.news()


def newest_record(repository: Repository, loop: str) -> IterationRecord | None:
    """Of the iteration that ended last, found without walking the whole chain. None where it lies further back or is not ours."""
    ref = state_ref(loop)
    found = read_objects(repository.common, [f"{ref}~{back}:record.json" for back in range(STATES_BACK)])
    content = next((one[1] for one in found if one is not None), None)
    try:
        return None if content is None else IterationRecord.model_validate_json(content)
    except ValidationError:
        return None
