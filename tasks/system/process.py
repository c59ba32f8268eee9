"""Run a command with limits on time and memory; none of its processes survives its end or ours."""

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
_CHUNK = 65536  # default capacity of a pipe
_DRAIN_READS = 32  # twice the largest pipe of an unprivileged user: after that somebody is still writing
_TICK = 0.2  # interval for checking exit, limits and stop()
__all__ = ["TAG", "ProcessResult", "end_tagged", "never_stop", "run"]
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
        head_room = self.keep - len(self._head)
        self._head += chunk[:head_room]
        self._tail += chunk[head_room:]
        del self._tail[: max(0, len(self._tail) - self.keep)]
        self.total += len(chunk)

    @property
    def head(self) -> str:
        return self._head.decode(errors="replace")

    @property
    def tail(self) -> str:
        """Empty if the head contains everything."""
        return self._tail.decode(errors="replace")

    @property
    def text(self) -> str:
        """Head and tail, separated by a line with the number of missing bytes."""
        missing = self.total - len(self._head) - len(self._tail)
        if not missing:
            return (self._head + self._tail).decode(errors="replace")
        return f"{self.head}\n[{missing} bytes left out]\n{self.tail}"


@dataclass
class Lines:
    """Split a stream into lines without newlines; truncate lines to `longest` bytes."""

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
        """Pass on a last line without newline."""
        if self._line:
            self.on_line(bytes(self._line))


@contextmanager
def appending(path: Path) -> Generator[Sink]:
    """Yield a function that appends to the file, unbuffered, so that output survives our own death."""

    def write(chunk: bytes) -> None:
        remaining = memoryview(chunk)
        with raising_transient_errors():
            while remaining:
                remaining = remaining[file.write(remaining) :]

    with FileIO(path, "ab") as file:
        yield write


class Pipes:
    """Non-blocking reader and writer of a command's pipes: never blocks longer than asked."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: bytes, output: Iterable[Sink], errors: Iterable[Sink]) -> None:
        """Register the child's pipes. Exceptions of sinks propagate from serve() or drain()."""
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
        """Also read a stream that is not output of the command, so it does not reset the idle time."""
        self._selector.register(stream, selectors.EVENT_READ, partial(self._read, stream, [sink], is_output=False))

    def serve(self, seconds: float) -> None:
        """Read and write for that time, or until the other side has closed everything."""
        until = time.monotonic() + seconds
        while self._selector.get_map() and (left := until - time.monotonic()) > 0:
            self._serve_ready(left)

    def drain(self) -> None:
        """Read what is in the pipes without waiting: another process may hold their other end."""
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
        except BrokenPipeError:  # it has closed its stdin
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
            self.last_output = time.monotonic()  # after the sinks: a slow sink must not count as silence of the command

    def _close(self, stream: Any) -> None:
        self._selector.unregister(stream)
        stream.close()


@dataclass(frozen=True)
class ProcessResult:
    """How a command ended. `exit_code` is negative for a signal, None if unknown."""

    exit_code: int | None
    by: Reason
    seconds: float
    head: str
    tail: str  # empty if the head contains all of stdout
    stderr: str  # empty when merged into stdout
    output_bytes: int
    survivors: tuple[Survivor, ...] = ()  # processes of the command that could not be killed


def never_stop() -> bool:
    """Value of `stop` for a command that is never stopped."""
    return False


def run(  # noqa: PLR0913 - each is one independent option, by keyword
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
    stop: Callable[[], bool] = never_stop,
    keep: int = 65536,
    network: Network = "host",
    pass_fds: Sequence[int] = (),
) -> ProcessResult:
    """Run the command until it exits, for up to `deadline` seconds, `idle` seconds without output, or until `stop()` is true.

    `idle` may be a function, called at each check: the limit may depend on what the command is doing.

    The environment is `env` and the tag, nothing more. The tag must be unique to this run: all processes with it are ended.
    `on_line` is called with each line of stdout, in this thread. Any exception raised meanwhile, even KeyboardInterrupt,
    ends the command first. Raises OperatorError for a command that cannot be started. With `network="own"` it has only
    its own loopback. It inherits `pass_fds`, under the same numbers.
    """
    started = time.monotonic()  # setting the clock must not end a run
    output, errors, lines = Excerpt(keep), Excerpt(keep // 2), Lines(on_line or (lambda _: None))
    streams = {"stdin": subprocess.PIPE if stdin else subprocess.DEVNULL, "stdout": subprocess.PIPE}
    streams["stderr"] = subprocess.STDOUT if merge_stderr else subprocess.PIPE
    with ExitStack() as stack:
        sinks = [stack.enter_context(appending(output_file))] if output_file else []
        sinks += [output.add, lines.add] if on_line else [output.add]
        with _reporting_start_failure(argv, cwd):
            popen_options: dict[str, Any] = {"cwd": cwd, "env": env, **streams}
            command = stack.enter_context(supervised(argv, tag, grace, popen_options, network=network, pass_fds=pass_fds))
        pipes = stack.enter_context(closing(Pipes(command.process, stdin, sinks, [errors.add])))
        pipes.follow(command.report, Lines(command.handle_report).add)
        if on_start:
            on_start(command.pid)
        ended_by = _serve_until_end(command, pipes, lambda: _reached_limit(stop, started + deadline, idle, pipes.last_output))
        pipes.drain()
        lines.finish()
    seconds = time.monotonic() - started
    survivors = tuple(command.survivors)
    return ProcessResult(command.exit_code, ended_by, seconds, output.head, output.tail, errors.text, output.total, survivors)


def _reached_limit(
    stop: Callable[[], bool], until: float, idle: float | Callable[[], float] | None, last_output: float
) -> Reason | None:
    """The limit that a command has reached, or None."""
    idle_seconds, now = idle() if callable(idle) else idle, time.monotonic()
    if stop():
        return "stop"
    if now >= until:
        return "deadline"
    return "idle" if idle_seconds is not None and now - last_output >= idle_seconds else None


@contextmanager
def _reporting_start_failure(argv: Sequence[str], cwd: Path) -> Generator[None]:
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


def _serve_until_end(command: Supervised, pipes: Pipes, reached: Callable[[], Reason | None]) -> Reason:
    """Serve the pipes until everything has ended: a command may still print while it terminates."""
    ended_by: Reason = "itself"
    give_up_at = float("inf")
    while not command.report.closed:
        reason = None if command.exited or ended_by != "itself" else reached()
        if reason:
            ended_by = reason
            command.end()
        if give_up_at == float("inf") and (reason or command.exited):
            give_up_at = time.monotonic() + command.longest_end
        if time.monotonic() >= give_up_at:
            command.process.kill()  # the context manager cleans up without a supervisor
            break
        pipes.serve(_TICK)
    return ended_by
