"""The one way to run a command: bounded in time and memory, and nothing of it survives its end or ours."""

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import IO, Any, Literal

from helmsman.errors import OperatorError
from helmsman.records.agent import Survivor
from tasks.system.faults import raising_transient_errors, transient_error
from tasks.system.supervised import Network, NetworkRefusedError, Supervised, end_tagged, supervised
from tasks.system.supervisor import TAG

LONGEST_LINE = 16 * 2**20
_CHUNK = 65536  # what a pipe holds by default
_DRAIN_READS = 32  # twice the largest pipe of an unprivileged user: afterwards somebody is still writing
_TICK = 0.2  # how often exit, limits and stop() are looked at while output comes or nothing happens
__all__ = ["TAG", "Ended", "end_tagged", "never", "run"]
Reason = Literal["itself", "deadline", "idle", "stop"]
Sink = Callable[[bytes], object]


@dataclass
class Excerpt:
    """The first and the last `keep` bytes of a stream."""

    keep: int
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        room = self.keep - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(0, len(self._tail) - self.keep)]
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


@dataclass
class Lines:
    """Cuts a stream into lines without their newlines; of a longer line than `longest` the rest is dropped."""

    on_line: Callable[[bytes], None]
    longest: int = LONGEST_LINE
    _line: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._line += first[: self.longest - len(self._line)]
        for part in others:
            self.on_line(bytes(self._line))
            self._line = bytearray(part[: self.longest])

    def finish(self) -> None:
        """Hands over a last line that no newline ended."""
        if self._line:
            self.on_line(bytes(self._line))


@contextmanager
def appending(path: Path) -> Generator[Sink]:
    """Yields a function that appends to the file, unbuffered: what it was given survives our own death."""

    def write(chunk: bytes) -> None:
        left = memoryview(chunk)
        with raising_transient_errors():
            while left:
                left = left[file.write(left) :]

    with FileIO(path, "ab") as file:
        yield write


class Pipes:
    """Nothing here blocks longer than asked, whatever the command does or leaves undone."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: bytes, output: Iterable[Sink], errors: Iterable[Sink]) -> None:
        """Serves the pipes that the child was started with. What a sink raises comes out of serve() or drain()."""
        self._selector = selectors.DefaultSelector()
        self._stdin = memoryview(stdin)
        self.last_output = time.monotonic()
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)
            self._selector.register(child.stdin, selectors.EVENT_WRITE, partial(self._feed, child.stdin))
        for stream, sinks in ((child.stdout, output), (child.stderr, errors)):
            if stream:
                self._selector.register(stream, selectors.EVENT_READ, partial(self._read, stream, sinks))

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            self._close(key.fileobj)
        self._selector.close()

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


@dataclass(frozen=True)
class Ended:
    """How a command ended. `exit_code` is negative for a signal, None where nobody saw it exit."""

    exit_code: int | None
    by: Reason
    seconds: float
    head: str
    tail: str  # empty when the head holds all of stdout
    stderr: str  # empty when merged into stdout
    output_bytes: int
    survivors: tuple[Survivor, ...] = ()  # What the command started and nobody could end. Empty: nothing of it is left.


def never() -> bool:
    """The `stop` of a command that nobody stops."""
    return False


def run(  # noqa: PLR0913 - each says one thing about the command, by keyword
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    tag: str,
    deadline: float,
    idle: float | Callable[[], float] | None = None,
    grace: float = 5,
    stdin: bytes = b"",
    merge_stderr: bool = False,
    output_file: Path | None = None,
    on_line: Callable[[bytes], None] | None = None,
    on_start: Callable[[int], None] | None = None,
    stop: Callable[[], bool] = never,
    keep: int = 65536,
    network: Network = "host",
    pass_fds: Sequence[int] = (),
) -> Ended:
    """Runs the command to its end, or ends it after `deadline` seconds, `idle` silent ones, or when `stop()` says so.

    `idle` may be asked anew at each look: who knows what the command is doing knows how long it may be silent.

    The environment is `env` and the tag, nothing more. The tag must be this run's own: whoever carries it ends with it.
    `on_line` gets each line of stdout, in this thread. Whatever is raised here meanwhile, a KeyboardInterrupt included,
    ends the command first. Raises an OperatorError for a command that cannot be started. With `network="own"` it has
    nothing but a loopback of its own. It inherits `pass_fds`, under the same numbers.
    """
    started = time.monotonic()  # a clock that is set does not end a run
    output, errors, lines = Excerpt(keep), Excerpt(keep // 2), Lines(on_line or (lambda _: None))
    streams = {"stdin": subprocess.PIPE if stdin else subprocess.DEVNULL, "stdout": subprocess.PIPE}
    streams["stderr"] = subprocess.STDOUT if merge_stderr else subprocess.PIPE
    with ExitStack() as stack:
        sinks = [stack.enter_context(appending(output_file))] if output_file else []
        sinks += [output.add, lines.add] if on_line else [output.add]
        with _reporting_failed_start(argv, cwd):
            where: dict[str, Any] = {"cwd": cwd, "env": env, **streams}
            command = stack.enter_context(supervised(argv, tag, grace, where, network=network, pass_fds=pass_fds))
        pipes = stack.enter_context(closing(Pipes(command.process, stdin, sinks, [errors.add])))
        pipes.follow(command.report, Lines(command.take).add)
        if on_start:
            on_start(command.pid)
        by = _follow(command, pipes, lambda: _reached(stop, started + deadline, idle, pipes.last_output))
        pipes.drain()
        lines.finish()
    seconds = time.monotonic() - started
    survivors = tuple(command.survivors)
    return Ended(command.exit_code, by, seconds, output.head, output.tail, errors.text, output.total, survivors)


def _reached(
    stop: Callable[[], bool], until: float, idle: float | Callable[[], float] | None, last_output: float
) -> Reason | None:
    """The limit that a command has come to."""
    patience, now = idle() if callable(idle) else idle, time.monotonic()
    if stop():
        return "stop"
    if now >= until:
        return "deadline"
    return "idle" if patience is not None and now - last_output >= patience else None


@contextmanager
def _reporting_failed_start(argv: Sequence[str], cwd: Path) -> Generator[None]:
    try:
        yield
    except NetworkRefusedError as error:
        raise OperatorError(
            f"The command {argv[-1]!r} needs a network namespace, which this machine does not allow",
            expected="a kernel that lets this user make network namespaces",
            found=str(error),
            remedy='allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or set network = "host"',
        ) from error
    except (OSError, ValueError) as error:
        raise transient_error(error) or OperatorError(
            f"The command {argv[0]!r} could not be started in {cwd}",
            expected="a program that can be executed and a directory that exists",
            found=str(error),
            remedy="install the program or correct its path, PATH or the directory; pass long texts on stdin",
        ) from error


def _follow(command: Supervised, pipes: Pipes, reached: Callable[[], Reason | None]) -> Reason:
    """Serve the pipes until everything has ended. Output is read meanwhile: a command on its way out may have a last word."""
    by: Reason = "itself"
    patience = float("inf")
    while not command.report.closed:
        reason = None if command.exited or by != "itself" else reached()
        if reason:
            by = reason
            command.end()
        if patience == float("inf") and (reason or command.exited):
            patience = time.monotonic() + command.longest_end
        if time.monotonic() >= patience:
            command.process.kill()  # leaving the block does what can be done without a supervisor
            break
        pipes.serve(_TICK)
    return by
