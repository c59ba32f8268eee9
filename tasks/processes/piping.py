"""The pipes of a running command, served in the caller's thread: stdin is fed, output is handed over as it comes."""

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import IO, Self

from tasks.processes.bounded import Sink

_CHUNK = 65536  # what a pipe holds by default
_DRAIN_READS = 32  # twice the largest pipe of an unprivileged user: afterwards somebody is still writing


class Pipes:
    """Nothing here blocks longer than asked, whatever the command does or leaves undone."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._streams: set[IO[bytes]] = set()
        self._stdin = memoryview(b"")
        self.last_output = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._selector.close()

    @property
    def open(self) -> bool:
        return bool(self._streams)

    def attach(self, child: subprocess.Popen[bytes], stdin: bytes, output: Iterable[Sink], errors: Iterable[Sink]) -> None:
        """Serves the pipes that the child was started with. What a sink raises comes out of serve() or drain()."""
        self._stdin = memoryview(stdin)
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)
            self._register(child.stdin, selectors.EVENT_WRITE, partial(self._feed, child.stdin))
        for stream, sinks in ((child.stdout, output), (child.stderr, errors)):
            if stream:
                self._register(stream, selectors.EVENT_READ, partial(self._read, stream, sinks))

    def follow(self, stream: IO[bytes], sink: Sink) -> None:
        """Serves a stream that is no output of the command: it is no sign of life."""
        self._register(stream, selectors.EVENT_READ, partial(self._read, stream, [sink], is_output=False))

    def serve(self, seconds: float) -> None:
        """Returns after that time, or as soon as the other side has closed everything."""
        until = time.monotonic() + seconds
        while self.open and (left := until - time.monotonic()) > 0:
            self._serve_ready(left)

    def drain(self) -> None:
        """Reads what lies in the pipes and waits for nothing more: a stranger may hold their other end."""
        for _ in range(_DRAIN_READS):
            if not (self.open and self._serve_ready(0)):
                return

    def close(self) -> None:
        for stream in list(self._streams):
            self._close(stream)

    def _register(self, stream: IO[bytes], event: int, serve: Callable[[], None]) -> None:
        self._selector.register(stream, event, serve)
        self._streams.add(stream)

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

    def _close(self, stream: IO[bytes]) -> None:
        self._selector.unregister(stream)
        self._streams.remove(stream)
        stream.close()
