"""Finds and ends what a driver that is dead left running of its commands, by the tag of each command.

Three traces lead there. A supervisor, which outlives its driver only to end what that left, has the tag among its
arguments. A cgroup has it in its name. Children inherit it in their environment: that alone finds nobody who cleared it,
and is what remains where a supervisor was killed and no cgroup could be had.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable

import psutil

from tasks.system.cgroup import cgroups, end_cgroup, members
from tasks.system.supervisor import KILL_SECONDS, PYTHON, TAG

_TAG_AT = 2 + len(PYTHON)  # program, its arguments, folder, tag
_EXEC_LOOKS = 20  # an execve empties the environment for well under a millisecond; we look again for 40
_EXEC_PAUSE = 0.002
_KILL_ROUNDS = 5  # somebody may fork while we look: look again until nobody is left
_KILL_WAIT = 1.0
_POLL = 0.01

Matches = Callable[[str], bool]


def end_tagged(tag: str, *, grace: float = 5, prefix: bool = False) -> int:
    """TERM, up to `grace` seconds, KILL for everything tagged so, except this process. Returns how many there were.

    With `prefix`, the tag may go on after `tag`. Supervisors are left to end their own.
    """
    matches: Matches = (lambda value: value.startswith(tag)) if prefix else (lambda value: value == tag)
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
    seen: list[tuple[psutil.Process, list[str]]] = [
        (process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])
    ]
    return [
        (process, line[_TAG_AT]) for process, line in seen if len(line) > _TAG_AT and tuple(line[1 : 1 + len(PYTHON)]) == PYTHON
    ]


def _find(matches: Matches) -> set[psutil.Process]:
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
        try:
            process.send_signal(number)
        except psutil.Error:
            continue


def _wait(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Not psutil.wait_procs: it would reap our own children and take their exit codes from whoever started them."""
    until = time.monotonic() + seconds
    while any(map(_lives, processes)) and time.monotonic() < until:
        time.sleep(_POLL)


def _lives(process: psutil.Process) -> bool:
    """A zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
