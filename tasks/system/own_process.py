"""Where our own processes stand, and who may look into them. Light: the command line asks before it imports anything else."""

import sys
from contextlib import suppress
from pathlib import Path

NEUTRAL = Path("/")
PR_SET_DUMPABLE = 4
"""Of Linux, in sys/prctl.h."""


def neutral_directory() -> Path:
    """The working directory of every process of ours that may import Prefect.

    Prefect takes settings from `prefect.toml`, `.env` and `pyproject.toml` in the working directory whenever it reads its
    settings, and one of them names a file of Python's logging, which calls whatever that names. Other libraries walk up from
    the working directory. The root has nothing above it, is always there, belongs to no repository, and only root may write to
    it, which no sandboxed agent is. A folder of our own below the user's home could be written by any process of that user.
    """
    return NEUTRAL


def hide_process() -> None:
    """Keep this user's other processes, an agent's among them, from reading the environment and the memory of this one.

    On Linux alone. `/proc/PID/environ` then belongs to root, nobody but root can attach a debugger, and there is no core dump.
    It holds for what is forked from here and ends where another program is executed. From root nothing can be hidden.
    """
    if sys.platform != "linux":
        return
    with suppress(ImportError, OSError, AttributeError):  # a Python without ctypes, a C library without prctl
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, *map(ctypes.c_ulong, (0, 0, 0, 0)))
