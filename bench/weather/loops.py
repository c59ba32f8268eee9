"""The loops in the storm: what their agents do, how each must end, and their folders."""

import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from deployments.demo_model import Request, Turn, bash, call, environment, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import loop_names, show_state
from tests.fakes.warm_process import COMMAND_LINE, ColdProcess, WarmProcess

AGENT = Path(__file__).with_name("agent.py")
Process = subprocess.Popen[str]

ALWAYS = (
    "limits.agent_failures=50",
    "limits.calls_per_hour=100000",
    "retry.attempts=2",
    "retry.first_delay_seconds=0.3",
)
"""Delays as short as the storm's faults; all other settings are defaults."""
INSTANT = ("claude.permission_mode=acceptEdits", "steering.hooks=false")
TOOL = "tool"
"""Manner of an agent that is a tool of the real Claude Code."""


@dataclass(frozen=True)
class Kind:
    """A loop with a known correct end."""

    name: str
    manner: str
    steps: int
    check: str
    outcome: Outcome = Outcome.COMPLETED
    rule: str = ""
    """Rule by which it must have ended; empty for any."""
    least: int = 1
    """Iterations that it needs."""
    options: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    remote: bool = False
    asks: bool = False


KINDS = (
    Kind("two-steps", "steady", 2, "test -e step-2", least=2),
    Kind("three-steps", "steady", 3, "test -e step-3", least=3),
    Kind("liar", "liar", 1, "test -e step-1", least=3),
    Kind(
        "hopeless",
        "hopeless",
        1,
        "test -e step-1",
        outcome=Outcome.STOPPED,
        rule="limits.iterations",
        least=3,
        options=("--max-iterations", "3"),
    ),
    Kind("asks", "steady", 2, "test -e step-2", least=2, settings=("gates.ask=true", "gates.milestone_every=1"), asks=True),
    Kind("pushes", "steady", 2, "test -e step-2", least=2, settings=("remote.push=true",), remote=True),
    Kind(
        "merges",
        "steady",
        2,
        "test -e step-2",
        least=2,
        options=("--merge", "main"),
        settings=("remote.push=true",),
        remote=True,
    ),
)


REAL = Kind("real", TOOL, 2, "test -e step-2", least=2)
"""Agents that are the real Claude Code with a scripted model."""


@dataclass
class Loop:
    """One loop with its own folders, its random numbers, and the faults that it had."""

    number: int
    kind: Kind
    folder: Path
    """Folder that no fault reaches: the agent's log, the home, the remote."""
    place: Path
    """Folder of repository, worktrees, state and results; a separate disk if that is to fill up."""
    variables: dict[str, str]
    chance: random.Random
    process: Process | None = None
    cold: bool = False
    """Whether each of its processes starts from scratch instead of forking: for its own clock or engine."""
    deaths: int = 0
    """Number of faults that may have lost an agent call in progress."""
    notes: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        return f"storm-{self.number}"

    @property
    def repository(self) -> Path:
        return self.place / "repository"

    @property
    def agent(self) -> tuple[str, ...]:
        """Settings that select its agent."""
        return () if self.kind.manner == TOOL else (*INSTANT, f"claude.binary={self.folder / 'agent'}")

    @property
    def log(self) -> Path:
        return self.folder / "calls"

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    @property
    def journal(self) -> Path:
        return loop_folder(open_repository(self.repository), self.name).journal

    @property
    def state(self) -> LoopState | None:
        """State of the loop; None before it exists."""
        opened = open_repository(self.repository)
        return show_state(opened, self.name).state if self.name in loop_names(opened) else None

    def begin(self) -> None:
        settings = (*ALWAYS, *self.agent, *self.kind.settings)
        chosen = [part for setting in settings for part in ("--set", setting)]
        goal, check = "There is every step", ("--check", self.kind.check)
        self.start("run", goal, *check, "--name", self.name, *self.kind.options, *chosen, "--yes")

    def start(self, command: str, *arguments: str) -> None:
        start = ColdProcess if self.cold else WarmProcess
        whole = [command, *arguments, "--repo", str(self.repository)]
        self.process = start(COMMAND_LINE, whole, self.folder, self.variables)

    def lived(self) -> list[str]:
        """Processes with this loop's home or tag, by number and command, without its drivers, which are waited for."""
        state = self.state
        tag = f"{state.uid}/" if state else None
        return [shown for process in psutil.process_iter() if (shown := self._shown(process, tag))]

    def _shown(self, process: psutil.Process, tag: str | None) -> str:
        try:
            words, variables = process.cmdline(), process.environ()
        except psutil.Error:  # it has ended or is a zombie, and has neither
            return ""
        tagged = tag and any(tag in word for word in (*words, variables.get("HELMSMAN_TAG", "")))
        at_home = variables.get("HOME") == self.variables["HOME"]
        return f"{process.pid} {' '.join(words)[:120]}" if tagged or at_home else ""


def script(request: Request) -> Turn:
    """Script of the model for the real agent: work by one tool, where its home says, then a final message."""
    return call(bash("~/work")) if request.turn == 0 else say("All of it is done.\n<promise>COMPLETE</promise>")


def made(number: int, kind: Kind, folder: Path, place: Path, variables: Mapping[str, str], seed: int) -> Loop:
    """A loop that has not started. `variables`: the path, and the engine."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "home").mkdir()
    place.mkdir(exist_ok=True)
    own = {"HOME": str(folder / "home"), "HELMSMAN_HOME": str(place / "state"), "PREFECT_HOME": str(place / "prefect")}
    loop = Loop(number, kind, folder, place, {**variables, **own}, random.Random(f"{seed}/{number}"))
    _make_agent(loop)
    _make_repository(loop)
    return loop


def with_real_agent(loop: Loop, model_url: str) -> None:
    """Let it call the real Claude Code with this model."""
    home = Path(loop.variables["HOME"])
    loop.variables |= environment(model_url, home)
    (home / "work").symlink_to(loop.folder / "agent")


def _make_agent(loop: Loop) -> None:
    agent = loop.folder / "agent"
    words = f"{sys.executable} -I -S {AGENT} {loop.kind.manner} {loop.kind.steps} {loop.log}"
    agent.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    agent.chmod(0o755)


def _make_repository(loop: Loop) -> None:
    root = loop.repository
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Nothing yet")
    if loop.kind.remote:
        git(loop.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(loop.remote))
        refuse = f"#!/bin/sh\ntest ! -e {loop.folder / 'refuse'} || {{ echo 'closed for the night' >&2; exit 1; }}\n"
        (loop.remote / "hooks" / "pre-receive").write_text(refuse)
        (loop.remote / "hooks" / "pre-receive").chmod(0o755)
        git(root, "remote", "add", "origin", str(loop.remote))
        git(root, "push", "--quiet", "origin", "main")
