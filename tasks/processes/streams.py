"""Output of any size in a bounded place: head and tail in memory, lines of bounded length, the whole stream on disk."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from helmsman.errors import WorldError

LONGEST_LINE = 16 * 2**20

Sink = Callable[[bytes], object]


class Excerpt:
    """The first and the last `keep` bytes of a stream."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, chunk: bytes) -> None:
        room = self._keep - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(0, len(self._tail) - self._keep)]
        self.total += len(chunk)

    @property
    def head(self) -> str:
        return self._head.decode(errors="replace")

    @property
    def tail(self) -> str:
        """Empty when the head holds everything."""
        return self._tail.decode(errors="replace")

    @property
    def text(self) -> str:
        """Both in one, with a line between them that says how much is missing."""
        missing = self.total - len(self._head) - len(self._tail)
        if not missing:
            return (self._head + self._tail).decode(errors="replace")
        return f"{self.head}\n[{missing} bytes left out]\n{self.tail}"


class Lines:
    """Cuts a stream into lines without their newlines; of a longer line than `longest` the rest is dropped."""

    def __init__(self, on_line: Callable[[bytes], None], longest: int = LONGEST_LINE) -> None:
        self._on_line = on_line
        self._longest = longest
        self._line = bytearray()

    def add(self, chunk: bytes) -> None:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._grow(end)
            self._emit()
        self._grow(rest)

    def finish(self) -> None:
        """Hands over a last line that no newline ended."""
        if self._line:
            self._emit()

    def _grow(self, part: bytes) -> None:
        self._line += part[: self._longest - len(self._line)]

    def _emit(self) -> None:
        line, self._line = bytes(self._line), bytearray()
        self._on_line(line)


@contextmanager
def appending(path: Path) -> Generator[Sink]:
    """Yields a function that appends to the file, unbuffered: what it was given survives our own death."""
    try:
        file = FileIO(path, "ab")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        yield lambda chunk: _write(file, path, chunk)


def _write(file: FileIO, path: Path, chunk: bytes) -> None:
    left = memoryview(chunk)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> WorldError:
    return WorldError(
        f"The output of a command could not be kept in {path}",
        found=str(error),
        remedy="free space on that disk and make the directory writable, then resume",
    )
