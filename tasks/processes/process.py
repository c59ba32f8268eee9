"""The one way to run a command: bounded in time and memory, and nothing of it survives its end or ours."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from helmsman.errors import HelmsmanError, OperatorError, WorldError
from tasks.processes.bounded import Excerpt, Lines, appending
from tasks.processes.ending import Family, end
from tasks.processes.leash import leash
from tasks.processes.piping import Pipes
from tasks.processes.tagged import TAG, end_tagged
from tasks.system_errors import EXHAUSTED, ROOM

__all__ = ["TAG", "Ended", "end_tagged", "never", "run"]

Reason = Literal["itself", "deadline", "idle", "stop"]

_TICK = 0.2  # how often exit, limits and stop() are looked at while output comes or nothing happens


@dataclass(frozen=True)
class Ended:
    """How a command ended. `exit_code` is negative for a signal, None for a process that even SIGKILL did not end."""

    exit_code: int | None
    by: Reason
    seconds: float
    head: str
    tail: str  # empty when the head holds all of stdout
    stderr: str  # empty when merged into stdout
    output_bytes: int


@dataclass(frozen=True)
class _Limits:
    """Instants on the monotonic clock: a clock that is set does not end a run."""

    deadline: float
    idle: float | None
    stop: Callable[[], bool]

    def reached(self, last_output: float) -> Reason | None:
        now = time.monotonic()
        if self.stop():
            return "stop"
        if now >= self.deadline:
            return "deadline"
        return "idle" if self.idle is not None and now - last_output >= self.idle else None


def never() -> bool:
    """The `stop` of a command that nobody stops."""
    return False


def _ignore(_: object) -> None:
    pass


def run(  # noqa: PLR0913 - each says one thing about the command, by keyword
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    tag: str,
    deadline: float,
    idle: float | None = None,
    grace: float = 5,
    stdin: bytes = b"",
    merge_stderr: bool = False,
    output_file: Path | None = None,
    on_line: Callable[[bytes], None] | None = None,
    on_start: Callable[[int], None] | None = None,
    stop: Callable[[], bool] = never,
    keep: int = 65536,
) -> Ended:
    """Runs the command to its end, or ends it after `deadline` seconds, `idle` silent ones, or when `stop()` says so.

    The environment is `env` and the tag, nothing more. The tag must be this run's own: whoever carries it ends with it.
    `on_line` gets each line of stdout, in this thread. Whatever is raised here meanwhile, a KeyboardInterrupt included,
    ends the command first. Raises an OperatorError for a command that cannot be started.
    """
    started, older = time.monotonic(), frozenset(psutil.pids())
    output, errors, lines = Excerpt(keep), Excerpt(keep // 2), Lines(on_line or _ignore)
    with contextlib.ExitStack() as stack:
        sinks = [stack.enter_context(appending(output_file))] if output_file else []
        sinks += [output.add, lines.add] if on_line else [output.add]
        hold, pipes = stack.enter_context(leash(tag, grace)), stack.enter_context(Pipes())
        child = _start(argv, cwd, {**env, TAG: tag}, piped=bool(stdin), merged=merge_stderr)
        family = Family(child, tag, older, started, grace)
        try:
            hold(child.pid)
            pipes.attach(child, stdin, sinks, [errors.add])
            (on_start or _ignore)(child.pid)
            by = _follow(child, pipes, _Limits(started + deadline, idle, stop))
            end(family, pipes)
            pipes.drain()
            lines.finish()
        except BaseException:
            pipes.close()
            end(family, pipes)
            raise
    seconds = time.monotonic() - started
    return Ended(child.returncode, by, seconds, output.head, output.tail, errors.text, output.total)


def _start(argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, piped: bool, merged: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            bufsize=0,
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _not_started(argv, cwd, error) from error


def _not_started(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> HelmsmanError:
    problem, found = f"The command {argv[0]!r} could not be started in {cwd}", str(error)
    if isinstance(error, OSError) and error.errno in EXHAUSTED:
        return WorldError(problem, found=found, remedy=ROOM)
    return OperatorError(
        problem,
        expected="a program that can be executed and a directory that exists",
        found=found,
        remedy="install the program or correct its path, PATH or the directory; pass long texts on stdin",
    )


def _follow(child: subprocess.Popen[bytes], pipes: Pipes, limits: _Limits) -> Reason:
    while child.poll() is None:
        if reason := limits.reached(pipes.last_output):
            return reason
        _wait(child, pipes)
    return "itself"


def _wait(child: subprocess.Popen[bytes], pipes: Pipes) -> None:
    """Closed pipes are the first sign of an end; without them only the process itself can tell."""
    if pipes.open:
        pipes.serve(_TICK)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_TICK)
