"""The driver's side of a supervised command, and clean-up after a dead driver. See also `supervisor.py`.

Processes that a dead driver left running are found by the command's tag, in three places. A supervisor, which outlives its
driver only to end the command, has the tag among its arguments. A cgroup has it in its name. Children inherit it in their
environment: this misses processes that cleared it, but is all that remains if the supervisor was killed and there is no cgroup.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote, unquote

import psutil

from helmsman.records.agent import MOST_SURVIVORS, Survivor
from tasks.system import supervisor
from tasks.system.supervisor import KILL_SECONDS, PYTHON, SUBREAPER, TAG, kill_cgroup, remove

Network = Literal["host", "own"]

_SLACK = KILL_SECONDS + 10  # beyond the grace period, for a busy machine
_UNKNOWN = "unknown processes, since the one that contained them was killed"


class NetworkRefusedError(OSError):
    """The kernel denies this user a network namespace."""


class Supervised:
    """A running command, with the reports of its supervisor so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", control: FileIO, report: FileIO, grace: float) -> None:
        self.process, self.report = process, report
        self.longest_end = grace + _SLACK
        """Seconds until all processes must have ended, after the command has exited or end() was called."""
        self.pid = 0
        self.exited = False
        self.exit_code: int | None = None
        """Negative for a signal. None until it exited, or if unknown."""
        self.survivors: list[Survivor] = []
        self._control = control

    def handle_report(self, line: bytes) -> None:
        """Process a line of the report. Raises OSError if the command could not be started."""
        event, _, rest = line.decode(errors="replace").partition(" ")
        match event:
            case "started":
                self.pid = int(rest)
            case "exited":
                self.exited, self.exit_code = True, int(rest)
            case "failed":
                step, number = rest.split()
                raise (NetworkRefusedError if step == "network" else OSError)(int(number), os.strerror(int(number)))
            case "left":
                pid, _, name = rest.partition(" ")
                if len(self.survivors) < MOST_SURVIVORS and (started := started_at(int(pid))):
                    self.survivors.append(Survivor(pid=int(pid), started=started, name=name))
            case _:
                raise ValueError(f"the supervisor says {line!r}")

    def end(self) -> None:
        """End the command and all of its processes. Returns at once; the report closes when done."""
        self._control.close()


def started_at(pid: int) -> float | None:
    """Start time in seconds since 1970. None for a process that is gone, or a zombie: in a container nobody may reap it."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def still_alive(survivors: Iterable[Survivor]) -> tuple[Survivor, ...]:
    """Survivors that are still running."""
    return tuple(survivor for survivor in survivors if survivor.started and started_at(survivor.pid) == survivor.started)


@contextmanager
def supervised(
    argv: Sequence[str], tag: str, grace: float, streams: Mapping[str, Any], *, network: Network, pass_fds: Sequence[int]
) -> Generator[Supervised]:
    """Start a command. When the block ends, none of its processes are alive but the survivors.

    `grace`: seconds between TERM and KILL. `streams`: arguments of subprocess.Popen, including `cwd` and `env`.
    The block reads the report and the command's output until they close. Raises OSError or ValueError if the command
    cannot be started.
    """
    unset = "" if "LC_CTYPE" in streams["env"] else "LC_CTYPE"
    (control_reader, control), (report, report_writer) = os.pipe(), os.pipe()
    cgroup = make_cgroup(tag)
    options = [tag, str(control_reader), str(report_writer), str(grace), network, str(cgroup or ""), unset]
    try:
        process = subprocess.Popen(
            [sys.executable, *PYTHON, str(Path(supervisor.__file__).parent), *options, *argv],
            bufsize=0,
            pass_fds=(control_reader, report_writer, *pass_fds),
            start_new_session=True,
            **streams,
        )
    except BaseException:
        os.close(control)
        os.close(report)
        end_cgroup(cgroup)
        raise
    finally:
        os.close(control_reader)
        os.close(report_writer)
    command = Supervised(cast("subprocess.Popen[bytes]", process), FileIO(control, "wb"), FileIO(report, "rb"), grace)
    try:
        command.handle_report(command.report.readline().rstrip(b"\n") or b"failed exec 3")  # ESRCH: the supervisor is gone
        yield command
    finally:
        command.end()
        _ensure_ended(command, tag, grace, cgroup)


def _ensure_ended(command: Supervised, tag: str, grace: float, cgroup: Path | None) -> None:
    """Wait for the supervisor; if it was killed or stopped, do its work as far as possible."""
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
    if lost or not SUBREAPER:
        end_tagged(tag, grace=0 if lost else grace)


# --- what is left of a command, by its tag -------------------------------------------------------------------------------

_TAG_AT = 2 + len(PYTHON)  # program, its arguments, folder, tag
_EXEC_LOOKS = 20  # an execve empties the environment for well under a millisecond; retry for 40
_EXEC_PAUSE = 0.002
_KILL_ROUNDS = 5  # processes may fork meanwhile: repeat until none is left
_KILL_WAIT = 1.0
_POLL = 0.01


def end_tagged(tag: str, *, grace: float = 5, prefix: bool = False) -> int:
    """TERM, up to `grace` seconds, KILL for all processes with the tag, except this one. Returns their number.

    `prefix`: match tags that begin with `tag`. Supervisors end their own commands.
    """

    def matches(value: str) -> bool:
        return value.startswith(tag) if prefix else value == tag

    found = _find_tagged(matches)
    _send_signal(found, signal.SIGTERM)
    _wait(found, grace)
    ended = set(found)
    for _ in range(_KILL_ROUNDS):
        if not found or not (left := _find_tagged(matches)):
            break
        ended |= left
        _send_signal(left, signal.SIGKILL)
        _wait(left, _KILL_WAIT)
    _wait([process for process, value in _list_supervisors() if matches(value)], grace + KILL_SECONDS)
    pids = {process.pid for process in ended}
    left = [folder for value, folder in cgroups() if matches(value) and os.getpid() not in members(folder)]
    return len(pids.union(*map(end_cgroup, left)))


def tags() -> dict[int, str]:
    """Tags of our readable processes, by pid."""
    processes = (process for pid in psutil.pids() if (process := _read_environment(pid)))
    by_environment = {process.pid: environment[TAG] for process, environment in processes if TAG in environment}
    return {pid: tag for tag, folder in cgroups() for pid in members(folder)} | by_environment


def supervised_tags() -> set[str]:
    """Tags of supervised commands on this machine: their drivers are alive, or died a moment ago."""
    return {tag for _, tag in _list_supervisors()}


def _list_supervisors() -> list[tuple[psutil.Process, str]]:
    """Running supervisors, with the tags of their commands."""
    supervisors = list[tuple[psutil.Process, str]]()
    for process in psutil.process_iter(["cmdline"]):
        cmdline: Sequence[str] = process.info["cmdline"] or []
        if tuple(cmdline[1 : 1 + len(PYTHON)]) == PYTHON and len(cmdline) > _TAG_AT:
            supervisors.append((process, cmdline[_TAG_AT]))
    return supervisors


def _find_tagged(matches: Callable[[str], bool]) -> set[psutil.Process]:
    found: set[psutil.Process] = set()
    pids = set(psutil.pids()).difference([os.getpid()])
    for _ in range(_EXEC_LOOKS):
        readable = [process for pid in pids if (process := _read_environment(pid))]
        found |= {process for process, environment in readable if TAG in environment and matches(environment[TAG])}
        pids = {process.pid for process, environment in readable if not environment}
        if not pids:
            break
        time.sleep(_EXEC_PAUSE)
    return found


def _read_environment(pid: int) -> tuple[psutil.Process, dict[str, str]] | None:
    """Process and its environment; None if it is gone, a zombie, a kernel thread or another user's."""
    try:
        process = psutil.Process(pid)
        return process, process.environ()
    except (psutil.Error, OSError):
        return None


def _send_signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def _wait(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Wait for processes. Not psutil.wait_procs, which would reap our own children and lose their exit codes."""

    def is_alive(process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        return False

    until = time.monotonic() + seconds
    while any(map(is_alive, processes)) and time.monotonic() < until:
        time.sleep(_POLL)


# --- cgroups -------------------------------------------------------------------------------------------------------------

_PREFIX = "helmsman-"


def make_cgroup(tag: str) -> Path | None:
    """Create an empty cgroup below our own; None if that is not possible.

    Only version 2 can end a whole group at once. Root in a container and a user's systemd session may create some; in an
    ordinary SSH session or Docker container the folder belongs to another user, and the supervisor works without.
    """
    mount = _find_mount()
    with suppress(OSError, ValueError):
        if mount is not None:
            lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            (own,) = (line.removeprefix("0::/") for line in lines if line.startswith("0::/"))
            return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{quote(tag, safe='')}.", dir=mount / own))
    return None


def cgroups() -> Iterator[tuple[str, Path]]:
    """Tag and folder of the cgroups of all commands, of any driver."""
    for folder, names, _ in os.walk(_find_mount() or ""):
        for name in names:
            if name.startswith(_PREFIX):
                yield unquote(name.removeprefix(_PREFIX).rpartition(".")[0]), Path(folder, name)


def members(cgroup: Path) -> set[int]:
    """Pids of all processes in it and below."""
    pids: set[int] = set()
    for folder, _, _ in os.walk(cgroup):
        with suppress(OSError):
            pids.update(map(int, Path(folder, "cgroup.procs").read_text(encoding="ascii").split()))
    return pids


def end_cgroup(cgroup: Path | None) -> set[int]:
    """Kill all processes in it, and remove it when they are gone. Returns their pids."""
    if cgroup is None:
        return set()
    pids = members(cgroup)
    until = time.monotonic() + KILL_SECONDS
    while members(cgroup) and time.monotonic() < until:
        kill_cgroup(str(cgroup))
        time.sleep(_POLL)
    remove(str(cgroup))
    return pids


def _find_mount() -> Path | None:
    """Mount point of the version 2 cgroups, also next to those of version 1."""
    folders = map(Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
    return next((folder for folder in folders if (folder / "cgroup.controllers").exists()), None)
