"""The editor in which somebody types the plugin's commands: sessions of the real Claude Code CLI, with everyday permissions."""

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
"""Without a word on permissions: what a command does not grant is refused, because nobody is there to ask."""
FORM = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"<command-name>/helmsman:([a-z]+)</command-name>")


@dataclass(frozen=True)
class Editor:
    """Opened in the repository of a command line."""

    helmsman: ScriptedCommandLine

    def type(self, prompt: str) -> Session:
        """One session from its start to its end, in which only this is typed."""
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
    """Which of the plugin's commands was typed in the session of a request; empty where it is another one's."""
    found = COMMAND.search(request.prompt)
    return found[1] if found else ""


def form_of(request: Request) -> str:
    """The form of a command that the model is told to fill in."""
    (form,) = FORM.findall(request.prompt)
    return str(form)


def tool_results(session: Session) -> list[tuple[bool, str]]:
    """For each tool call whether it went wrong, and what came of it."""
    contents: list[Any] = [part for event in session.of_type("user") for part in event["message"]["content"]]
    return [(bool(part.get("is_error")), str(part["content"])) for part in contents if part["type"] == "tool_result"]
