"""Loops for fault injection: what their agents do, how each must end, and their folders."""

import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.common import set_options
from deployments.demo_model import Request, Turn, bash, call, environment, say
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import loop_names, show_state
from tests.fakes.warm_process import COMMAND_LINE, ColdProcess, WarmProcess

AGENT = Path(__file__).with_name("agent.py")
Process = subprocess.Popen[str]

COMMON_SETTINGS = (
    "limits.agent_failures=50",
    "limits.calls_per_hour=100000",
    "retry.attempts=2",
    "retry.first_delay_seconds=0.3",
)
"""Delays as short as the faults; all other settings are defaults."""
INSTANT_AGENT = ("claude.permission_mode=acceptEdits", "steering.hooks=false")
TOOL = "tool"
"""Behaviour of an agent that is a tool of the real Claude Code."""


@dataclass(frozen=True)
class Kind:
    """A loop whose correct end is known."""

    name: str
    behaviour: str
    steps: int
    check: str
    outcome: Outcome = Outcome.COMPLETED
    rule: str = ""
    """Rule by which it must have ended; empty for any."""
    min_iterations: int = 1
    """Iterations that it needs."""
    options: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    remote: bool = False
    asks_for_approval: bool = False


KINDS = (
    Kind("two-steps", "steady", 2, "test -e step-2", min_iterations=2),
    Kind("three-steps", "steady", 3, "test -e step-3", min_iterations=3),
    Kind("liar", "liar", 1, "test -e step-1", min_iterations=3),
    Kind(
        "hopeless",
        "hopeless",
        1,
        "test -e step-1",
        outcome=Outcome.STOPPED,
        rule="limits.iterations",
        min_iterations=3,
        options=("--max-iterations", "3"),
    ),
    Kind(
        "asks",
        "steady",
        2,
        "test -e step-2",
        min_iterations=2,
        settings=("gates.ask=true", "gates.milestone_every=1"),
        asks_for_approval=True,
    ),
    Kind("pushes", "steady", 2, "test -e step-2", min_iterations=2, settings=("remote.push=true",), remote=True),
    Kind(
        "merges",
        "steady",
        2,
        "test -e step-2",
        min_iterations=2,
        options=("--merge", "main"),
        settings=("remote.push=true",),
        remote=True,
    ),
)


REAL = Kind("real", TOOL, 2, "test -e step-2", min_iterations=2)
"""Agents that are the real Claude Code with a scripted model."""


@dataclass
class Loop:
    """One loop with its own folders and random numbers."""

    number: int
    kind: Kind
    folder: Path
    """Folder that no fault affects: the agent's log, the home, the remote."""
    disk: Path
    """Folder of repository, worktrees, state and results; a separate disk if that is to fill up."""
    variables: dict[str, str]
    rng: random.Random
    process: Process | None = None
    starts_cold: bool = False
    """Whether each of its processes starts from scratch instead of forking: for its own clock or engine."""
    lost_call_limit: int = 0
    """Maximum number of lost agent calls: faults that may have interrupted one."""
    notes: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        return f"storm-{self.number}"

    @property
    def repository(self) -> Path:
        return self.disk / "repository"

    @property
    def agent(self) -> tuple[str, ...]:
        """Settings that select its agent."""
        return () if self.kind.behaviour == TOOL else (*INSTANT_AGENT, f"claude.binary={self.folder / 'agent'}")

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

    def start_run(self) -> None:
        settings = (*COMMON_SETTINGS, *self.agent, *self.kind.settings)
        options = set_options(settings)
        goal, check = "Every step file exists", ("--check", self.kind.check)
        self.start("run", goal, *check, "--name", self.name, *self.kind.options, *options, "--yes")

    def start(self, command: str, *arguments: str) -> None:
        process_type = ColdProcess if self.starts_cold else WarmProcess
        words = [command, *arguments, "--repo", str(self.repository)]
        self.process = process_type(COMMAND_LINE, words, self.folder, self.variables)

    def processes(self) -> list[str]:
        """Pid and command of processes with this loop's home or tag."""
        state = self.state
        tag = f"{state.uid}/" if state else None
        return [text for process in psutil.process_iter() if (text := self._describe(process, tag))]

    def _describe(self, process: psutil.Process, tag: str | None) -> str:
        try:
            words, variables = process.cmdline(), process.environ()
        except psutil.Error:  # it has ended or is a zombie, and has neither
            return ""
        is_tagged = tag and any(tag in word for word in (*words, variables.get("HELMSMAN_TAG", "")))
        has_own_home = variables.get("HOME") == self.variables["HOME"]
        return f"{process.pid} {' '.join(words)[:120]}" if is_tagged or has_own_home else ""


def real_agent_script(request: Request) -> Turn:
    """Script of the model for the real agent: one tool call that does the work, then a final message."""
    return call(bash("~/work")) if request.turn == 0 else say("All of it is done.\n<promise>COMPLETE</promise>")


def make_loop(number: int, kind: Kind, folder: Path, disk: Path, variables: Mapping[str, str], seed: int) -> Loop:
    """Create a loop without starting it. `variables` are the path and the engine."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "home").mkdir()
    disk.mkdir(exist_ok=True)
    homes = {"HOME": str(folder / "home"), "HELMSMAN_HOME": str(disk / "state"), "PREFECT_HOME": str(disk / "prefect")}
    loop = Loop(number, kind, folder, disk, {**variables, **homes}, random.Random(f"{seed}/{number}"))
    _make_agent(loop)
    _make_repository(loop)
    return loop


def use_real_agent(loop: Loop, model_url: str) -> None:
    """Make the loop call the real Claude Code with this model."""
    home = Path(loop.variables["HOME"])
    loop.variables |= environment(model_url, home)
    (home / "work").symlink_to(loop.folder / "agent")


def _make_agent(loop: Loop) -> None:
    agent = loop.folder / "agent"
    command = f"{sys.executable} -I -S {AGENT} {loop.kind.behaviour} {loop.kind.steps} {loop.log}"
    agent.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    agent.chmod(0o755)


def _make_repository(loop: Loop) -> None:
    root = loop.repository
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "start")
    if loop.kind.remote:
        git(loop.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(loop.remote))
        refuse = f"#!/bin/sh\ntest ! -e {loop.folder / 'refuse'} || {{ echo 'pushes are refused' >&2; exit 1; }}\n"
        (loop.remote / "hooks" / "pre-receive").write_text(refuse)
        (loop.remote / "hooks" / "pre-receive").chmod(0o755)
        git(root, "remote", "add", "origin", str(loop.remote))
        git(root, "push", "--quiet", "origin", "main")
