"""A command under a supervisor, as its driver sees it, and how it is ended after its driver. `supervisor.py` says who ends whom.

What a dead driver left running of a command is found by the command's tag. Three traces lead there. A supervisor, which outlives
its driver only to end what that left, has the tag among its arguments. A cgroup has it in its name. Children inherit it in their
environment: that alone finds nobody who cleared it, and is what remains where a supervisor was killed and no cgroup could be had.
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
from tasks.system.supervisor import KILL_SECONDS, PYTHON, TAG, kill_cgroup, remove

Network = Literal["host", "own"]

_SLACK = KILL_SECONDS + 10  # beyond the grace, for a machine that is busy
_UNKNOWN = "unknown processes, since the one that contained them was killed"


class NetworkRefusedError(OSError):
    """The kernel gives this user no network namespace."""


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
        self._control = control

    def take(self, line: bytes) -> None:
        """Take in a line of the report. Raises OSError where it says that the command could not be started."""
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
                raise (NetworkRefusedError if step == "network" else OSError)(int(number), os.strerror(int(number)))
            case "left":
                pid, _, name = rest.partition(" ")
                if len(self.survivors) < MOST_SURVIVORS and (started := started_at(int(pid))):
                    self.survivors.append(Survivor(pid=int(pid), started=started, name=name))
            case _:
                raise ValueError(f"the supervisor says {line!r}")

    def end(self) -> None:
        """Have the command and all that it started ended. Returns at once; the report closes when that is done."""
        self._control.close()


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
def supervised(
    argv: Sequence[str], tag: str, grace: float, streams: Mapping[str, Any], *, network: Network, pass_fds: Sequence[int]
) -> Generator[Supervised]:
    """Start a command. Nothing that it started is alive when the block has been left, but the survivors.

    `grace`: seconds between TERM and KILL. `streams`: of subprocess.Popen, with the folder and the environment of the command.
    The block reads the report and the command's output until they close. Raises OSError or ValueError where the command
    cannot be started.
    """
    unset = "" if "LC_CTYPE" in streams["env"] else "LC_CTYPE"
    (heard, control), (report, told) = os.pipe(), os.pipe()
    cgroup = make_cgroup(tag)
    options = [tag, str(heard), str(told), str(grace), network, str(cgroup or ""), unset]
    try:
        process = subprocess.Popen(
            [sys.executable, *PYTHON, str(Path(supervisor.__file__).parent), *options, *argv],
            bufsize=0,
            pass_fds=(heard, told, *pass_fds),
            start_new_session=True,
            **streams,
        )
    except BaseException:
        os.close(control)
        os.close(report)
        end_cgroup(cgroup)
        raise
    finally:
        os.close(heard)
        os.close(told)
    command = Supervised(cast("subprocess.Popen[bytes]", process), FileIO(control, "wb"), FileIO(report, "rb"), grace)
    try:
        command.take(command.report.readline().rstrip(b"\n") or b"failed exec 3")  # ESRCH: the supervisor is gone
        yield command
    finally:
        command.end()
        _require_end(command, tag, grace, cgroup)


def _require_end(command: Supervised, tag: str, grace: float, cgroup: Path | None) -> None:
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
        end_tagged(tag, grace=0 if lost else grace)


# --- what is left of a command, by its tag -------------------------------------------------------------------------------

_TAG_AT = 2 + len(PYTHON)  # program, its arguments, folder, tag
_EXEC_LOOKS = 20  # an execve empties the environment for well under a millisecond; we look again for 40
_EXEC_PAUSE = 0.002
_KILL_ROUNDS = 5  # somebody may fork while we look: look again until nobody is left
_KILL_WAIT = 1.0
_POLL = 0.01


def end_tagged(tag: str, *, grace: float = 5, prefix: bool = False) -> int:
    """TERM, up to `grace` seconds, KILL for everything tagged so, except this process. Returns how many there were.

    With `prefix`, the tag may go on after `tag`. Supervisors are left to end their own.
    """

    def matches(value: str) -> bool:
        return value.startswith(tag) if prefix else value == tag

    found = _find(matches)
    _signal(found, signal.SIGTERM)
    _wait(found, grace)
    ended = set(found)
    for _ in range(_KILL_ROUNDS):
        if not found or not (left := _find(matches)):
            break
        ended |= left
        _signal(left, signal.SIGKILL)
        _wait(left, _KILL_WAIT)
    _wait([process for process, value in _supervisors() if matches(value)], grace + KILL_SECONDS)
    pids = {process.pid for process in ended}
    left = [folder for value, folder in cgroups() if matches(value) and os.getpid() not in members(folder)]
    return len(pids.union(*map(end_cgroup, left)))


def tags() -> dict[int, str]:
    """The tag of every process of ours that can be looked at, by its number."""
    seen = (found for pid in psutil.pids() if (found := _environment(pid)))
    by_environment = {process.pid: environment[TAG] for process, environment in seen if TAG in environment}
    return {pid: tag for tag, folder in cgroups() for pid in members(folder)} | by_environment


def supervised_tags() -> set[str]:
    """Tags of the commands on this machine that are supervised: their drivers live, or died a moment ago."""
    return {tag for _, tag in _supervisors()}


def _supervisors() -> list[tuple[psutil.Process, str]]:
    """With the tag of the command of each."""
    found = list[tuple[psutil.Process, str]]()
    for process in psutil.process_iter(["cmdline"]):
        line: Sequence[str] = process.info["cmdline"] or []
        if tuple(line[1 : 1 + len(PYTHON)]) == PYTHON and len(line) > _TAG_AT:
            found.append((process, line[_TAG_AT]))
    return found


def _find(matches: Callable[[str], bool]) -> set[psutil.Process]:
    found: set[psutil.Process] = set()
    pids = set(psutil.pids()).difference([os.getpid()])
    for _ in range(_EXEC_LOOKS):
        seen = [process for pid in pids if (process := _environment(pid))]
        found |= {process for process, environment in seen if TAG in environment and matches(environment[TAG])}
        pids = {process.pid for process, environment in seen if not environment}
        if not pids:
            break
        time.sleep(_EXEC_PAUSE)
    return found


def _environment(pid: int) -> tuple[psutil.Process, dict[str, str]] | None:
    """None for one that is gone, a zombie, a kernel thread or somebody else's."""
    try:
        process = psutil.Process(pid)
        return process, process.environ()
    except (psutil.Error, OSError):
        return None


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def _wait(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Not psutil.wait_procs: it would reap our own children and take their exit codes from whoever started them."""

    def lives(process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        return False

    until = time.monotonic() + seconds
    while any(map(lives, processes)) and time.monotonic() < until:
        time.sleep(_POLL)


# --- cgroups -------------------------------------------------------------------------------------------------------------

_PREFIX = "helmsman-"


def make_cgroup(tag: str) -> Path | None:
    """An empty one below our own; None where none can be had.

    Only version 2 can end a whole group at once. A container's root and a user's systemd session may make some; in an ordinary
    SSH session or Docker container the folder belongs to somebody else, and the supervisor does without.
    """
    mount = _mount()
    with suppress(OSError, ValueError):
        if mount is not None:  # our own cgroup lies below the mount, or there is none for us
            lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            (own,) = (line.removeprefix("0::") for line in lines if line.startswith("0::"))
            below = mount[0] / Path(own).relative_to(mount[1])
            return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{quote(tag, safe='')}.", dir=below))
    return None


def cgroups() -> Iterator[tuple[str, Path]]:
    """Tag and folder of every cgroup of a command, whoever made it."""
    mount = _mount()
    for folder, names, _ in os.walk(mount[0]) if mount else ():
        for name in names:
            if name.startswith(_PREFIX):
                yield unquote(name.removeprefix(_PREFIX).rpartition(".")[0]), Path(folder, name)


def members(cgroup: Path) -> set[int]:
    """Pids of everybody in it and below."""
    found: set[int] = set()
    for folder, _, _ in os.walk(cgroup):
        with suppress(OSError):
            found.update(map(int, Path(folder, "cgroup.procs").read_text(encoding="ascii").split()))
    return found


def end_cgroup(cgroup: Path | None) -> set[int]:
    """Kill everybody in it, and remove it when they are gone. Returns whom there were."""
    if cgroup is None:
        return set()
    found = members(cgroup)
    until = time.monotonic() + KILL_SECONDS
    while members(cgroup) and time.monotonic() < until:
        kill_cgroup(str(cgroup))
        time.sleep(_POLL)
    remove(str(cgroup))
    return found


def _mount() -> tuple[Path, str] | None:
    """Where cgroups of version 2 are mounted, and which of them is at the top there."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            mounted, _, what = line.partition(" - ")
            if what.split()[0] == "cgroup2":
                _, _, _, top, folder, *_ = mounted.split()
                return Path(folder), top
    return None
