"""Find the agent's program."""

import importlib.util
import os
import shutil
from pathlib import Path

from helmsman.config import ClaudeConfig
from helmsman.errors import OperatorError

BUNDLED_IN = "claude_agent_sdk"


def find_binary(config: ClaudeConfig) -> Path:
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
