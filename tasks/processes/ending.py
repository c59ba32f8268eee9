"""Ends a command and all that it started: its process group first, then whoever carries its tag elsewhere."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Collection
from dataclasses import dataclass

import psutil

from tasks.processes.piping import Pipes
from tasks.processes.tagged import end_tagged, lives

_TICK = 0.01
_REAP = 5.0  # a killed process that is not gone by then hangs in the kernel
_SHORT = 10.0  # in a run of this length no pid comes round again


@dataclass(frozen=True)
class Family:
    """The command, which leads its own process group, and all that it may have started."""

    child: subprocess.Popen[bytes]
    tag: str
    older: Collection[int]  # pids from before the command
    started: float
    grace: float


def end(family: Family, pipes: Pipes) -> None:
    """TERM, `grace` seconds, KILL: first for the group, then for all that left it. Ends what a normal end left behind.

    Output is read meanwhile: a command on its way out may have a last word, and must not block on a full pipe.
    """
    until = time.monotonic() + family.grace
    try:
        _signal_group(family.child.pid, signal.SIGTERM)
        while _group_lives(family.child.pid) and time.monotonic() < until:
            pipes.serve(_TICK)
            time.sleep(_TICK)
    finally:
        _signal_group(family.child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            family.child.wait(_REAP)
        short = time.monotonic() - family.started < _SHORT
        grace = max(0.0, until - time.monotonic())
        end_tagged(family.tag, grace=grace, known=family.older if short else ())


def _signal_group(group: int, number: int) -> bool:
    """Whether somebody was left to get it, be it a zombie."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # the second is what macOS says of a group of zombies
        return False
    return True


def _group_lives(group: int) -> bool:
    """Zombies do not count: in a container there may be nobody who reaps them."""
    return _signal_group(group, 0) and any(_is_member(pid, group) for pid in psutil.pids())


def _is_member(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group and lives(psutil.Process(pid))
    except (ProcessLookupError, PermissionError, psutil.Error):
        return False
