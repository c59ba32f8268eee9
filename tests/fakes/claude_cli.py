"""The real Claude Code CLI that the wheel of claude-agent-sdk carries, run against a scripted model."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deployments.demo_model import environment

ARGUMENTS = (
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--dangerously-skip-permissions",
    "--setting-sources",
    "",
    "--strict-mcp-config",
)


@dataclass(frozen=True)
class Session:
    exit_code: int
    events: list[dict[str, Any]]
    stderr: str

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def result(self) -> dict[str, Any]:
        return self.of_type("result")[-1]


def bundled_cli() -> Path:
    """Where the CLI is. Its absence is a failure of the set-up, never a reason to skip."""
    spec = find_spec("claude_agent_sdk")
    assert spec is not None, "claude-agent-sdk is not installed: pip install -e '.[claude]'"
    assert spec.origin is not None, "claude-agent-sdk has no folder"
    cli = Path(spec.origin).parent / "_bundled" / "claude"
    assert cli.is_file(), f"this claude-agent-sdk carries no CLI at {cli}: install its wheel, not its source"
    return cli


def subscription(url: str, home: Path) -> dict[str, str]:
    """Variables without a key, so that the CLI is asked."""
    known = environment(url, home)
    known["ANTHROPIC_AUTH_TOKEN"] = known.pop("ANTHROPIC_API_KEY")
    return known


def run_claude(prompt: str, *options: str, folder: Path, environment: Mapping[str, str]) -> Session:
    """One session to its end. The environment is exactly what is given, and where to find programs."""
    ended = subprocess.run(
        [bundled_cli(), *ARGUMENTS, *options],
        input=prompt,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    return Session(ended.returncode, events, ended.stderr)
