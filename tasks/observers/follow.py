"""Reading along with a loop that another process drives: its journal as it grows, its newest record, and when its state moves."""

import os
import stat
from contextlib import closing
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
    """Tells what was appended to a journal since the last look. It may be missing, turned over or cut off: that is no error."""

    def __init__(self, journal: Path, first_look: int = FIRST_LOOK) -> None:
        """Nothing is opened before the first look, which takes that many bytes."""
        self._journal, self._first_look = journal, first_look
        self._reader: _Reader | None = None
        self._begun = False

    def news(self) -> list[LoggedEvent]:
        """What is new, oldest first; at the first look the end of what is there."""
        lines = [] if self._begun else self._begin()
        turned_over = self._is_turned_over()  # asked before: from then on, nothing more is written to the one that we read
        if self._reader is not None:
            lines += self._reader.lines()
        if turned_over:
            lines += self._turn()
        return [told for told in map(read_entry, lines) if told is not None]

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _begin(self) -> list[bytes]:
        """Go to the end. A journal that was turned over a moment ago says little: the end of the older one comes first."""
        self._begun = True
        self._reader = _open(self._journal, self._first_look)
        missing = self._first_look - (self._reader.size if self._reader else 0)
        older = _open(self._journal.with_suffix(".1.jsonl"), missing) if missing > 0 else None
        if older is None:
            return []
        lines = older.lines()
        older.close()
        return lines

    def _is_turned_over(self) -> bool:
        try:
            now = self._journal.stat()
        except OSError:
            return False
        return self._reader is None or (now.st_dev, now.st_ino) != self._reader.identity

    def _turn(self) -> list[bytes]:
        self.close()
        self._reader = _open(self._journal, AT_ONCE)
        return self._reader.lines() if self._reader else []


def last_entries(journal: Path, most: int = TAIL_BYTES) -> list[LoggedEvent]:
    """The last events of a journal, oldest first; a line that was cut off or is not ours is passed over."""
    with closing(Follower(journal, most)) as follower:
        return follower.news()


class _Reader:
    """One generation of a journal, with the line whose end is not written yet."""

    def __init__(self, handle: int, most: int) -> None:
        """Begin that many bytes before the end. Half a line is no event and is passed over as such."""
        self._handle, self._rest = handle, b""
        found = os.fstat(handle)
        self.size, self.identity = found.st_size, (found.st_dev, found.st_ino)
        os.lseek(handle, max(self.size - most, 0), os.SEEK_SET)

    def lines(self) -> list[bytes]:
        self._go_back_if_cut()
        *whole, rest = (self._rest + os.read(self._handle, AT_ONCE)).split(b"\n")
        self._rest = rest if len(rest) <= AT_ONCE else b""
        return whole

    def close(self) -> None:
        os.close(self._handle)

    def _go_back_if_cut(self) -> None:
        if os.fstat(self._handle).st_size < os.lseek(self._handle, 0, os.SEEK_CUR):
            os.lseek(self._handle, 0, os.SEEK_SET)
            self._rest = b""


def newest_record(repository: Repository, loop: str) -> IterationRecord | None:
    """Of the iteration that ended last, found without walking the whole chain. None where it lies further back or is not ours."""
    ref = state_ref(loop)
    found = read_objects(repository.common, [f"{ref}~{back}:record.json" for back in range(STATES_BACK)])
    content = next((one[1] for one in found if one is not None), None)
    try:
        return None if content is None else IterationRecord.model_validate_json(content)
    except ValidationError:
        return None


def state_mark(repository: Repository, loop: str) -> object:
    """Differs after the state has moved; costs no process. None where git keeps the ref in another way than as a file."""
    try:
        found = (repository.common / state_ref(loop)).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _open(path: Path, most: int) -> _Reader | None:
    """A pipe or a folder of that name is passed over: nobody of ours put it there, and a pipe would keep us waiting."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return _Reader(handle, most)
    os.close(handle)
    return None
