"""What the agent and the checks may see of our environment, how deep loops nest, and where our own processes stand.

Light: the command line asks before it imports anything else.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.errors import OperatorError

if TYPE_CHECKING:
    from helmsman.config import LoopConfig

BASIC = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "COLUMNS",
    "*_proxy", "*_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
)  # fmt: skip

AGENT = ("ANTHROPIC_*", "CLAUDE_*", "AWS_BEARER_TOKEN_BEDROCK", "API_TIMEOUT_MS", "IS_SANDBOX", "DISABLE_*")

OF_PYTHON = "PYTHON*", "LD_*", "DYLD_*", "VIRTUAL_ENV"
"""What a process of our own needs to start; everything else can be told to it where nobody reads along."""

OF_A_SESSION = (
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT",
    "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA",
)  # fmt: skip
"""Most tell a session about itself, and some let others speak to it; a loop started from inside one must not hand them on."""
NEVER = (*OF_A_SESSION, "HELMSMAN_STATE_KEY")
"""Whatever patterns an operator names. The last signs what the agent must not write; only our own drivers have it."""

USUAL = {
    # Else the CLI puts git's status before the message: it changes with every commit, so that the provider's cache ends there,
    # and our message names branch and commits by itself. The CLI's own words on commits and its trailer go as well.
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
}
"""Where the operator says nothing else."""
FIXED = {
    "DISABLE_AUTOUPDATER": "1",  # the CLI must not change between two iterations
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # they outlive the turn and overwrite its result
}
DEPTH = "HELMSMAN_DEPTH"
"""`1/0`: inside of one loop, which allows none inside of it. The outermost loop sets the limit for all below."""
NEUTRAL = Path("/")
PR_SET_DUMPABLE = 4  # of Linux, in sys/prctl.h
_DEPTH = re.compile(r"([0-9]{1,3})/([0-9]{1,3})")


def agent_environment(source: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Variables for the agent: the basic ones, its own, and those that the operator names."""
    return USUAL | _pick(source, (*BASIC, *AGENT, *names)) | FIXED


def other_environment(source: Mapping[str, str], own: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Variables for an agent other than Claude Code: the basic ones, its own, and those that the operator names."""
    return _pick(source, (*BASIC, *own, *names))


def check_environment(source: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Variables for a check: the basic ones and those that the operator names; no credentials of the agent."""
    return _pick(source, (*BASIC, *names)) | {"CI": source.get("CI", "1"), "GIT_NO_REPLACE_OBJECTS": "1"}


def ours() -> Mapping[str, str]:
    return os.environ


def _pick(source: Mapping[str, str], patterns: Iterable[str]) -> dict[str, str]:
    wanted = tuple(patterns)
    return {
        name: value
        for name, value in source.items()
        if name not in NEVER and any(fnmatchcase(name, pattern) for pattern in wanted)
    }


def inner_depth(config: "LoopConfig", environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variable for what this loop starts."""
    depth, limit = _depth(ours() if environment is None else environment)
    return {DEPTH: f"{depth + 1}/{config.limits.nesting if limit is None else limit}"}


def refuse_nested(environment: Mapping[str, str] | None = None) -> None:
    """Raise OperatorError inside of a loop that allows no loop so deep."""
    depth, limit = _depth(ours() if environment is None else environment)
    if limit is not None and depth > limit:
        raise OperatorError(
            "this runs inside a loop; a nested loop would multiply the cost",
            expected=f"{limit} loops inside of another at most (limits.nesting of the outermost)",
            found=f"depth {depth}",
            remedy="do the work here, or let a person start the loop; to allow it: limits.nesting in the outermost loop",
        )


def _depth(environment: Mapping[str, str]) -> tuple[int, int | None]:
    found = _DEPTH.fullmatch(environment.get(DEPTH, ""))
    return (int(found[1]), int(found[2])) if found else (0, None)


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


def survive_broken_pipe() -> None:
    """From here on a console whose reader is gone falls silent: whoever reads a loop's output may go away, and the loop goes on.

    By default rich ends the process then. Prefect's log of a run under a worker goes through it to a pipe that the worker
    reads, so a worker that died took its live loops along.
    """
    from rich.console import Console  # here, as the command line asks this file before it imports anything else

    def fall_silent(self: Console) -> None:
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())  # what is buffered still would break the interpreter's own end
        os.close(nowhere)

    Console.on_broken_pipe = fall_silent
