"""Finding the agent's program."""

import importlib.util
import os
import shutil
from pathlib import Path

from helmsman.config import ClaudeConfig
from helmsman.errors import OperatorError

BUNDLED_IN = "claude_agent_sdk"


def find_binary(config: ClaudeConfig) -> Path:
    """`claude.binary`, else `claude` on PATH, else the one bundled in claude-agent-sdk; OperatorError when there is none."""
    if config.binary:
        return _named(config.binary)
    on_path = shutil.which("claude")
    found = Path(on_path).absolute() if on_path else _bundled()  # the agent stands elsewhere, where PATH may name another one
    if found is None:
        raise OperatorError(
            "the Claude Code command line was not found",
            expected="claude.binary, `claude` on PATH, or the package claude-agent-sdk",
            remedy="npm install -g @anthropic-ai/claude-code, or pip install 'helmsman[claude]', or set claude.binary",
        )
    return found


def _named(binary: str) -> Path:
    named = os.path.expanduser(binary)  # noqa: PTH111 - a bare name must stay bare to be looked up on PATH
    path = None if "/" in named and not Path(named).is_absolute() else shutil.which(named)
    if path is None:
        raise OperatorError(
            "claude.binary names no program that can be run",
            expected="a name on PATH, or an absolute path",
            found=binary,
            remedy="give the path of the Claude Code command line",
        )
    return Path(path).absolute()


def _bundled() -> Path | None:
    spec = importlib.util.find_spec(BUNDLED_IN)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return path if path.is_file() else None
