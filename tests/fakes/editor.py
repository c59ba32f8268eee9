"""The editor in which a person types the plugin's commands: the real Claude Code CLI with default permissions."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deployments.demo_model import Request
from tests.fakes.claude_cli import Session, bundled_cli
from tests.fakes.command_line import HELMSMAN, ScriptedCommandLine

ROOT = Path(__file__).parents[2]
ARGUMENTS = ("-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "", "--plugin-dir", str(ROOT / "plugin"))
"""No permission flags: what a command does not grant is refused, as no person can be asked."""
FORM = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"<command-name>/helmsman:([a-z]+)</command-name>")


@dataclass(frozen=True)
class Editor:
    """Opened in the repository of a command line."""

    helmsman: ScriptedCommandLine

    def type(self, prompt: str) -> Session:
        """Run one session with this prompt."""
        environment = {**self.helmsman.variables, "PATH": f"{HELMSMAN.parent}{os.pathsep}{os.environ['PATH']}"}
        ended = subprocess.run(
            [bundled_cli(), *ARGUMENTS],
            input=prompt,
            cwd=self.helmsman.repository,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return Session(ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr)


def command_of(request: Request) -> str:
    """The plugin command typed in the session of a request; empty for other sessions."""
    found = COMMAND.search(request.prompt)
    return found[1] if found else ""


def form_of(request: Request) -> str:
    """The form that the command's prompt asks the model to fill in."""
    (form,) = FORM.findall(request.prompt)
    return str(form)


def tool_results(session: Session) -> list[tuple[bool, str]]:
    """For each tool call whether it failed, and its result."""
    contents: list[Any] = [part for event in session.of_type("user") for part in event["message"]["content"]]
    return [(bool(part.get("is_error")), str(part["content"])) for part in contents if part["type"] == "tool_result"]
