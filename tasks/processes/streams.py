"""What goes through the pipes of a running command: fed and read in the caller's thread, and kept in a bounded place.

Head and tail are in memory, lines of bounded length are handed over, the whole stream is on the disk.
"""

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from io import FileIO
from pathlib import Path
from typing import IO, Any, Self

from helmsman.errors import WorldError

LONGEST_LINE = 16 * 2**20
_CHUNK = 65536  # what a pipe holds by default
_DRAIN_READS = 32  # twice the largest pipe of an unprivileged user: afterwards somebody is still writing

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

    def write(chunk: bytes) -> None:
        left = memoryview(chunk)
        with _keeping(path):
            while left:
                left = left[file.write(left) :]

    with _keeping(path):
        file = FileIO(path, "ab")
    with file:
        yield write


@contextmanager
def _keeping(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise WorldError(
            f"The output of a command could not be kept in {path}",
            found=str(error),
            remedy="free space on that disk and make the directory writable, then resume",
        ) from error


class Pipes:
    """Nothing here blocks longer than asked, whatever the command does or leaves undone."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._stdin = memoryview(b"")
        self.last_output = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._selector.get_map().values()):
            self._close(key.fileobj)
        self._selector.close()

    def attach(self, child: subprocess.Popen[bytes], stdin: bytes, output: Iterable[Sink], errors: Iterable[Sink]) -> None:
        """Serves the pipes that the child was started with. What a sink raises comes out of serve() or drain()."""
        self._stdin = memoryview(stdin)
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)
            self._selector.register(child.stdin, selectors.EVENT_WRITE, partial(self._feed, child.stdin))
        for stream, sinks in ((child.stdout, output), (child.stderr, errors)):
            if stream:
                self._selector.register(stream, selectors.EVENT_READ, partial(self._read, stream, sinks))

    def follow(self, stream: IO[bytes], sink: Sink) -> None:
        """Serves a stream that is no output of the command: it is no sign of life."""
        self._selector.register(stream, selectors.EVENT_READ, partial(self._read, stream, [sink], is_output=False))

    def serve(self, seconds: float) -> None:
        """Returns after that time, or as soon as the other side has closed everything."""
        until = time.monotonic() + seconds
        while self._selector.get_map() and (left := until - time.monotonic()) > 0:
            self._serve_ready(left)

    def drain(self) -> None:
        """Reads what lies in the pipes and waits for nothing more: a stranger may hold their other end."""
        for _ in range(_DRAIN_READS):
            if not (self._selector.get_map() and self._serve_ready(0)):
                return

    def _serve_ready(self, seconds: float) -> bool:
        ready = self._selector.select(seconds)
        for key, _ in ready:
            key.data()
        return bool(ready)

    def _feed(self, stream: IO[bytes]) -> None:
        try:
            self._stdin = self._stdin[os.write(stream.fileno(), self._stdin[:_CHUNK]) :]
        except BrokenPipeError:  # it does not want to read on
            self._stdin = memoryview(b"")
        if not self._stdin:
            self._close(stream)

    def _read(self, stream: IO[bytes], sinks: Iterable[Sink], *, is_output: bool = True) -> None:
        chunk = os.read(stream.fileno(), _CHUNK)
        if not chunk:
            self._close(stream)
            return
        for sink in sinks:
            sink(chunk)
        if is_output:
            self.last_output = time.monotonic()  # after the sinks: their own slowness is not the command's silence

    def _close(self, stream: Any) -> None:
        self._selector.unregister(stream)
        stream.close()
