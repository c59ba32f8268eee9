"""The installed command as a person starts it: in an unrelated folder, with an explicit environment."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from deployments.demo_model import Script, ScriptedModel, environment
from tests.fakes.processes import PATIENCE, Ended, processes, wait_for_end
from tests.fakes.terminal import Terminal
from tests.fakes.warm_process import COMMAND_LINE, WarmProcess

LOGGED_IN = {"IS_SANDBOX": "1", "CLAUDE_CODE_OAUTH_TOKEN": "t"}
HELMSMAN = Path(sys.executable).with_name("helmsman")

RESULT_KEYS = {
    "loop", "outcome", "rule", "reason", "iterations", "agent_calls", "cost_usd", "tokens", "seconds",
    "branch", "commit", "state_ref", "checks", "merged", "issue", "later", "verified",
}  # fmt: skip
"""What `--json` prints of a loop, and nothing else."""
CHECK_KEYS = {"command", "passed", "exit_code", "tests_passed", "tests_failed", "tests_skipped"}


@dataclass(frozen=True)
class CommandLine:
    folder: Path
    """Where it is started; a repository, where there is one, lies in it."""
    variables: Mapping[str, str]
    warm: bool = field(default=True, kw_only=True)
    """Fork from a process that has imported everything instead of starting Python."""

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    def run(self, *arguments: str | Path, **variables: str) -> Ended:
        return wait_for_end(self.start(*arguments, **variables))

    def start(self, *arguments: str | Path, **variables: str) -> "subprocess.Popen[str]":
        """A process with these variables besides its own."""
        environment = {**self.variables, **variables}
        if self.warm:
            return WarmProcess(COMMAND_LINE, [str(argument) for argument in arguments], self.folder, environment)
        return subprocess.Popen(
            [HELMSMAN, *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def operator_sets(self, text: str) -> Path:
        """Write the user's own configuration file and return its path."""
        home = self.variables.get("HELMSMAN_HOME")
        path = Path(home, "config.toml") if home else Path(self.variables["HOME"], ".config/helmsman/config.toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_in_terminal(self, *arguments: str | Path, typed: str) -> Ended:
        """Run it in a terminal of 120 columns with typed-ahead input. The screen is its output."""
        variables, size = {**self.variables, "TERM": "xterm"}, (120, 40)
        if self.warm:
            terminal = Terminal.running_warm([str(argument) for argument in arguments], self.folder, variables, size)
        else:
            terminal = Terminal.running([HELMSMAN, *arguments], self.folder, variables, size)
        with terminal as person:
            return person.run_typed(typed, PATIENCE)


@dataclass(frozen=True)
class ScriptedCommandLine(CommandLine):
    """With a model to drive loops with."""

    model: ScriptedModel

    def run_loop(self, *arguments: str | Path, **variables: str) -> Ended:
        """Start a loop named `loop` in the repository and wait for its end."""
        return self.run("run", *arguments, "--name", "loop", "--yes", "--repo", self.repository, **variables)

    def run_json(self, command: str, *arguments: str | Path) -> Any:
        """The JSON that a command prints; it must succeed."""
        told = self.run(command, *arguments, "--repo", self.repository, "--json")
        assert told.exit_code == 0, told.errors
        return json.loads(told.output)


def trust_repositories(state: Path, *repositories: Path) -> None:
    """Trust the commands of these repositories, given by folder or bare repository."""
    state.mkdir(parents=True, exist_ok=True)
    known = {str((one if one.suffix == ".git" else one / ".git").resolve()): {"commands": True} for one in repositories}
    (state / "trust.json").write_text(json.dumps({"repositories": known}))


def offline_command_line(folder: Path, *, warm: bool = True, **variables: str) -> CommandLine:
    """A command line without engine and agent, for commands that need neither.

    It shares this process's keys, as if one user had written the loops, and nothing else of its state folder.
    """
    (folder / "home").mkdir()
    own = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **LOGGED_IN, **variables}
    state = folder / own.get("HELMSMAN_HOME", "home/.local/state/helmsman")
    trust_repositories(state, folder / "repository")
    keys = Path(os.environ["HELMSMAN_HOME"], "keys")
    if "HELMSMAN_HOME" not in own:
        keys.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state / "keys").symlink_to(keys)
    return CommandLine(folder, own, warm=warm)


@contextmanager
def scripted_command_line(folder: Path, api_url: str, script: Script, *, warm: bool = True) -> Generator[ScriptedCommandLine]:
    """A command line with a scripted model and an engine; kill processes that are left at the end."""
    (folder / "home").mkdir()
    trust_repositories(folder / "state", folder / "repository")
    with ScriptedModel(script) as model:
        own = {"PATH": os.environ["PATH"], "HELMSMAN_HOME": str(folder / "state"), "PREFECT_HOME": str(folder / "prefect")}
        variables = {**own, "PREFECT_API_URL": api_url, **environment(model.url, folder / "home")}
        try:
            yield ScriptedCommandLine(folder, variables, model, warm=warm)
        finally:
            for process in processes("HOME", str(folder / "home")):
                with suppress(psutil.Error):
                    process.send_signal(signal.SIGKILL)


def read_object(output: str) -> dict[str, Any]:
    """The only JSON object of an output."""
    (line,) = output.splitlines()
    found = json.loads(line)
    assert isinstance(found, dict)
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
