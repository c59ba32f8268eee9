"""Finds and ends processes by a tag in their environment.

Children inherit the environment through setsid, double forks and the death of whoever started them; process groups and
parents do not reach that far. A program that clears the environment *and* leaves its session escapes.
"""

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable

import psutil

TAG = "HELMSMAN_TAG"

_EXEC_LOOKS = 20  # an execve empties the environment for well under a millisecond; we look again for 40
_EXEC_PAUSE = 0.002
_KILL_ROUNDS = 5  # somebody may fork while we look: look again until nobody is left
_KILL_WAIT = 1.0
_POLL = 0.01

Matches = Callable[[str], bool]


def end_tagged(tag: str, *, grace: float = 5, prefix: bool = False, known: Collection[int] = ()) -> int:
    """TERM, up to `grace` seconds, KILL for every process tagged so, except this one. Returns how many there were.

    With `prefix`, the tag may go on after `tag`. The pids in `known` are not looked at.
    """
    matches: Matches = (lambda value: value.startswith(tag)) if prefix else (lambda value: value == tag)
    found = _find(matches, known)
    _signal(found, signal.SIGTERM)
    _wait(found, grace)
    ended = set(found)
    for _ in range(_KILL_ROUNDS):
        if not found or not (left := _find(matches, known)):
            break
        ended |= left
        _signal(left, signal.SIGKILL)
        _wait(left, _KILL_WAIT)
    return len(ended)


def tags() -> dict[int, str]:
    """The tag of every process of ours that can be looked at, by its number."""
    seen = (found for pid in psutil.pids() if (found := _environment(pid)))
    return {process.pid: environment[TAG] for process, environment in seen if TAG in environment}


def _find(matches: Matches, known: Collection[int]) -> set[psutil.Process]:
    found: set[psutil.Process] = set()
    pids = set(psutil.pids()).difference(known, [os.getpid()])
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
    while any(map(lives, processes)) and time.monotonic() < until:
        time.sleep(_POLL)


def lives(process: psutil.Process) -> bool:
    """A zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
