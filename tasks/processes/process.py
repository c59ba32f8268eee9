"""The one way to run a command: bounded in time and memory, and nothing of it survives its end or ours."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from helmsman.errors import HelmsmanError, OperatorError, WorldError
from helmsman.records.agent import Survivor
from tasks.processes.streams import Excerpt, Lines, Pipes, appending
from tasks.system.supervised import Launch, Network, NetworkRefusedError, Supervised, supervised
from tasks.system.supervisor import TAG
from tasks.system.tagged import end_tagged
from tasks.system_errors import EXHAUSTED, NO_ROOM, ROOM

__all__ = ["TAG", "Ended", "end_tagged", "never", "run"]

Reason = Literal["itself", "deadline", "idle", "stop"]

_TICK = 0.2  # how often exit, limits and stop() are looked at while output comes or nothing happens


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
    survivors: tuple[Survivor, ...] = ()
    """What the command started and nobody could end. Empty: nothing of it is left."""


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
    launch = Launch(argv, cwd, env, tag, grace, network, has_stdin=bool(stdin), merge_stderr=merge_stderr, pass_fds=pass_fds)
    with ExitStack() as stack:
        sinks = [stack.enter_context(appending(output_file))] if output_file else []
        sinks += [output.add, lines.add] if on_line else [output.add]
        command, pipes = _start(launch, stack), stack.enter_context(Pipes())
        pipes.attach(command.process, stdin, sinks, [errors.add])
        pipes.follow(command.report, Lines(command.hear).add)
        if on_start:
            on_start(command.pid)
        by = _follow(command, pipes, partial(_reached, pipes, started + deadline, idle, stop))
        pipes.drain()
        lines.finish()
    seconds = time.monotonic() - started
    survivors = tuple(command.survivors)
    return Ended(command.exit_code, by, seconds, output.head, output.tail, errors.text, output.total, survivors)


def _reached(pipes: Pipes, deadline: float, idle: float | Callable[[], float] | None, stop: Callable[[], bool]) -> Reason | None:
    """The limit that the command has come to."""
    now, patience = time.monotonic(), idle() if callable(idle) else idle
    if stop():
        return "stop"
    if now >= deadline:
        return "deadline"
    return "idle" if patience is not None and now - pipes.last_output >= patience else None


def _start(launch: Launch, stack: ExitStack) -> Supervised:
    try:
        return stack.enter_context(supervised(launch))
    except NetworkRefusedError as error:
        raise OperatorError(
            f"The command {launch.argv[-1]!r} is to run in a network of its own, and this machine gives it none",
            expected="a kernel that lets this user make network namespaces",
            found=str(error),
            remedy='allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or set network = "host"',
        ) from error
    except (OSError, ValueError) as error:
        raise _not_started(launch.argv, launch.cwd, error) from error


def _not_started(argv: Sequence[str], cwd: Path, error: OSError | ValueError) -> HelmsmanError:
    problem, found = f"The command {argv[0]!r} could not be started in {cwd}", str(error)
    if isinstance(error, OSError) and error.errno in EXHAUSTED:
        return WorldError(f"{problem}: {NO_ROOM}", found=found, remedy=ROOM)
    return OperatorError(
        problem,
        expected="a program that can be executed and a directory that exists",
        found=found,
        remedy="install the program or correct its path, PATH or the directory; pass long texts on stdin",
    )


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
            command.give_up()
            break
        pipes.serve(_TICK)
    return by
