"""Variables for agent and checks, the agent's program, the nesting depth of loops, and protection of our own processes.

Light: the command line uses it before it imports anything else.
"""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from helmsman.errors import OperatorError

if TYPE_CHECKING:
    from helmsman.config import ClaudeConfig, LoopConfig

BASIC_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "COLUMNS",
    "*_proxy", "*_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
)  # fmt: skip

AGENT_VARIABLES = ("ANTHROPIC_*", "CLAUDE_*", "AWS_BEARER_TOKEN_BEDROCK", "API_TIMEOUT_MS", "IS_SANDBOX", "DISABLE_*")

PYTHON_VARIABLES = "PYTHON*", "LD_*", "DYLD_*", "VIRTUAL_ENV"
"""Variables that our own processes need to start; everything else can be passed on without readers."""

SESSION_VARIABLES = (
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT",
    "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA",
)  # fmt: skip
"""Most describe a session, and some let others control it; a loop started from inside one must not pass them on."""
NEVER_PASSED = (*SESSION_VARIABLES, "HELMSMAN_STATE_KEY")
"""Never passed on, whatever the operator's patterns. The last is the signing key, which only our own drivers may have."""

AGENT_DEFAULTS = {
    # Without it the CLI puts git's status before the message: it changes with every commit, so the provider's cache ends there,
    # and our message contains branch and commits anyway. This also drops the CLI's instructions on commits and its trailer.
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
}
"""Defaults that the operator can override."""
AGENT_FIXED = {
    "DISABLE_AUTOUPDATER": "1",  # the CLI must not change between two iterations
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # they outlive the turn and overwrite its result
}
DEPTH = "HELMSMAN_DEPTH"
"""`1/0`: inside of one loop, which allows no nested loops. The outermost loop sets the limit."""
NEUTRAL = Path("/")
PR_SET_DUMPABLE = 4  # of Linux, in sys/prctl.h
_DEPTH = re.compile(r"([0-9]{1,3})/([0-9]{1,3})")
BUNDLED_IN = "claude_agent_sdk"


def agent_environment(source: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Variables for the agent: the basic ones, its own, and the operator's."""
    return AGENT_DEFAULTS | _select(source, (*BASIC_VARIABLES, *AGENT_VARIABLES, *names)) | AGENT_FIXED


def other_environment(source: Mapping[str, str], own: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Variables for an agent other than Claude Code: the basic ones, its own, and the operator's."""
    return _select(source, (*BASIC_VARIABLES, *own, *names))


def check_environment(source: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Variables for a check: the basic ones and the operator's; no credentials of the agent."""
    return _select(source, (*BASIC_VARIABLES, *names)) | {"CI": source.get("CI", "1"), "GIT_NO_REPLACE_OBJECTS": "1"}


def own_environment() -> Mapping[str, str]:
    return os.environ


def _select(source: Mapping[str, str], patterns: Iterable[str]) -> dict[str, str]:
    allowed = tuple(patterns)
    return {
        name: value
        for name, value in source.items()
        if name not in NEVER_PASSED and any(fnmatchcase(name, pattern) for pattern in allowed)
    }


def inner_depth(config: "LoopConfig", environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Nesting variable for processes of this loop."""
    depth, limit = _parse_depth(own_environment() if environment is None else environment)
    return {DEPTH: f"{depth + 1}/{config.limits.nesting if limit is None else limit}"}


def refuse_nested(environment: Mapping[str, str] | None = None) -> None:
    """Raise OperatorError inside of a loop that does not allow this depth."""
    depth, limit = _parse_depth(own_environment() if environment is None else environment)
    if limit is not None and depth > limit:
        raise OperatorError(
            "this runs inside a loop; a nested loop would multiply the cost",
            expected=f"{limit} nested loops at most (limits.nesting of the outermost)",
            found=f"depth {depth}",
            remedy="do the work here, or let a person start the loop; to allow it: limits.nesting in the outermost loop",
        )


def _parse_depth(environment: Mapping[str, str]) -> tuple[int, int | None]:
    match = _DEPTH.fullmatch(environment.get(DEPTH, ""))
    return (int(match[1]), int(match[2])) if match else (0, None)


def neutral_directory() -> Path:
    """Working directory of all our processes that may import Prefect.

    Prefect reads settings from `prefect.toml`, `.env` and `pyproject.toml` in the working directory, and one of them names a
    logging configuration, which may call any function. Other libraries search the parents of the working directory. The root
    has no parent, always exists, belongs to no repository, and only root may write to it, which a sandboxed agent is not. A
    folder below the user's home could be written by any process of that user.
    """
    return NEUTRAL


def hide_process() -> None:
    """Prevent the user's other processes, including the agent's, from reading environment and memory of this one.

    Linux only. `/proc/PID/environ` then belongs to root, only root can attach a debugger, and there are no core dumps.
    Forked processes inherit it, until they execute another program. It does not protect against root.
    """
    if sys.platform != "linux":
        return
    with suppress(ImportError, OSError, AttributeError):  # a Python without ctypes, a C library without prctl
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, *map(ctypes.c_ulong, (0, 0, 0, 0)))


def survive_broken_pipe() -> None:
    """Silence a console when its reader has exited, so that the loop continues.

    By default rich exits the process. Prefect's log of a run under a worker goes through rich to a pipe of the worker, so
    the death of a worker would end its live loops.
    """
    from rich.console import Console  # here, as the command line imports this module before anything else

    def silence(self: Console) -> None:
        self.quiet = True
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.file.fileno())  # flushing buffered output would fail at the interpreter's shutdown
        os.close(null)

    Console.on_broken_pipe = silence


def find_binary(config: "ClaudeConfig") -> Path:
    """`claude.binary`, or `claude` on PATH, or the one bundled in claude-agent-sdk. Raises OperatorError if there is none."""
    if config.binary:
        name = os.path.expanduser(config.binary)  # noqa: PTH111 - a bare name must stay bare for the lookup on PATH
        path = None if "/" in name and not Path(name).is_absolute() else shutil.which(name)
        if path is None:
            raise OperatorError(
                "claude.binary does not name an executable program",
                expected="a name on PATH, or an absolute path",
                found=config.binary,
                remedy="give the path of the Claude Code command line",
            )
        return Path(path).absolute()
    if on_path := shutil.which("claude"):
        return Path(on_path).absolute()  # absolute: PATH may have relative entries, and the agent has another working directory
    spec = importlib.util.find_spec(BUNDLED_IN)
    bundled = Path(spec.origin).parent / "_bundled" / "claude" if spec and spec.origin else None
    if bundled is None or not bundled.is_file():
        raise OperatorError(
            "the Claude Code command line was not found",
            expected="claude.binary, `claude` on PATH, or the package claude-agent-sdk",
            remedy="npm install -g @anthropic-ai/claude-code, or pip install 'helmsman[claude]', or set claude.binary",
        )
    return bundled
