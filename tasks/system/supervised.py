"""A command under a supervisor, as its driver sees it. `supervisor.py` says who ends whom."""

import os
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Literal

import psutil

from helmsman.records.agent import MOST_SURVIVORS, Survivor
from tasks.system import supervisor
from tasks.system.cgroup import end_cgroup, make_cgroup
from tasks.system.tagged import end_tagged

Network = Literal["host", "own"]

_SLACK = supervisor.KILL_SECONDS + 10  # beyond the grace, for a machine that is busy
_UNKNOWN = "unknown processes, since the one that contained them was killed"


class NetworkRefusedError(OSError):
    """The kernel gives this user no network namespace."""


@dataclass(frozen=True)
class Launch:
    """What is run, and how."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    tag: str
    grace: float
    """Seconds between TERM and KILL."""
    network: Network = "host"
    has_stdin: bool = False
    merge_stderr: bool = False
    pass_fds: Sequence[int] = ()


class Supervised:
    """A running command, with what its supervisor has reported so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", control: FileIO, report: FileIO, grace: float) -> None:
        self.process, self.report = process, report
        self.longest_end = grace + _SLACK
        """Seconds that it may take until all have ended, once the command has exited or is to end."""
        self.pid = 0
        self.exited = False
        self.exit_code: int | None = None
        """Negative for a signal. None until it exited, and where nobody saw that."""
        self.contained: bool | None = None
        """Whether everything has ended but the survivors. None: not reported yet. False: this system cannot tell."""
        self.survivors: list[Survivor] = []
        self.failure: OSError | None = None
        """Why the command could not be started."""
        self._control = control

    def hear(self, line: bytes) -> None:
        """Take in a line of the report."""
        event, _, rest = line.decode(errors="replace").partition(" ")
        match event:
            case "started":
                self.pid = int(rest)
            case "exited":
                self.exited, self.exit_code = True, int(rest)
            case "done":
                self.contained = rest == "yes"
            case "failed":
                step, number = rest.split()
                kind = NetworkRefusedError if step == "network" else OSError
                self.failure = kind(int(number), os.strerror(int(number)))
            case "left":
                pid, _, name = rest.partition(" ")
                if len(self.survivors) < MOST_SURVIVORS and (started := started_at(int(pid))):
                    self.survivors.append(Survivor(pid=int(pid), started=started, name=name))
            case _:
                raise ValueError(f"the supervisor says {line!r}")

    def end(self) -> None:
        """Have the command and all that it started ended. Returns at once; the report closes when that is done."""
        self._control.close()

    def give_up(self) -> None:
        """The supervisor does not come to its end. Leaving the block does what can be done without it."""
        self.process.kill()


def started_at(pid: int) -> float | None:
    """Seconds since 1970. None for a process that is gone, or a zombie: in a container there may be nobody who collects them."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def still_alive(survivors: Iterable[Survivor]) -> tuple[Survivor, ...]:
    """Those that have not ended meanwhile."""
    return tuple(one for one in survivors if one.started and started_at(one.pid) == one.started)


@contextmanager
def supervised(launch: Launch) -> Generator[Supervised]:
    """Start a command. Nothing that it started is alive when the block has been left, but the survivors.

    The block reads the report and the command's output until they close. Raises OSError or ValueError where the command
    cannot be started.
    """
    cgroup = make_cgroup(launch.tag)
    try:
        command = _start(launch, cgroup)
    except BaseException:
        end_cgroup(cgroup)
        raise
    try:
        command.hear(command.report.readline().rstrip(b"\n") or b"failed exec 3")  # ESRCH: the supervisor is gone
        if command.failure:
            raise command.failure
        yield command
    finally:
        command.end()
        _require_end(command, launch, cgroup)


def _start(launch: Launch, cgroup: Path | None) -> Supervised:
    (heard, control), (report, told) = os.pipe(), os.pipe()
    unset = "" if "LC_CTYPE" in launch.env else "LC_CTYPE"
    options = [launch.tag, str(heard), str(told), str(launch.grace), launch.network, str(cgroup or ""), unset]
    try:
        process = subprocess.Popen(
            [sys.executable, *supervisor.PYTHON, str(Path(supervisor.__file__).parent), *options, *launch.argv],
            cwd=launch.cwd,
            env=launch.env,
            bufsize=0,
            stdin=subprocess.PIPE if launch.has_stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if launch.merge_stderr else subprocess.PIPE,
            pass_fds=(heard, told, *launch.pass_fds),
            start_new_session=True,
        )
    except BaseException:
        os.close(control)
        os.close(report)
        raise
    finally:
        os.close(heard)
        os.close(told)
    return Supervised(process, FileIO(control, "wb"), FileIO(report, "rb"), launch.grace)


def _require_end(command: Supervised, launch: Launch, cgroup: Path | None) -> None:
    """A supervisor that does not end by itself was killed or stopped by somebody: its work is done here, as far as it can be."""
    with suppress(subprocess.TimeoutExpired):
        command.process.wait(command.longest_end)
    for stream in (command.report, command.process.stdin, command.process.stdout, command.process.stderr):
        if stream:
            stream.close()
    lost = command.process.returncode != 0
    if lost:
        command.process.kill()
        command.process.wait()
        end_cgroup(cgroup)
        command.survivors.append(Survivor(pid=command.process.pid, started=0, name=_UNKNOWN))
    if lost or command.contained is False:
        end_tagged(launch.tag, grace=0 if lost else launch.grace)
