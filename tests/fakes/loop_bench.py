"""A loop with its own repository, home and scripted model, and what can be seen of it from outside."""

import os
import subprocess
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import psutil

from deployments.demo_model import ScriptedModel, environment
from helmsman.records.decision import Outcome
from helmsman.records.events import StepFinished, read_event
from helmsman.records.state import LoopState
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_records, show_state, state_ref
from tasks.system.paths import LoopFolder
from tests.fakes.prefect_database import copy_database
from tests.fakes.processes import ROOT, eventually, processes, tagged_pids
from tests.fakes.repositories import make_repository
from tests.fakes.two_sessions import CHECK, GOAL, LOOP, iteration_of, script
from tests.fakes.warm_process import COMMAND_LINE, ColdProcess, WarmProcess

DRIVER = "tests.e2e.crash_driver"
STEPS = (
    "orient", "plan", "prompt", "execute", "checks", "invariants", "claims",
    "judge", "learn", "oversee", "decide", "record",
)  # fmt: skip
"""Steps of an ordinary iteration, in order."""
PATIENCE = 100
"""Seconds that a process of a loop may take to its end."""

Process: TypeAlias = subprocess.Popen[str]


@dataclass(frozen=True)
class Ending:
    """What must be the same no matter how often the loop's process died."""

    outcome: Outcome | None
    iterations: int
    agent_calls: int
    tree: str
    commits: tuple[str, ...]
    """Subjects, newest first."""
    records: tuple[int, ...]
    """Iterations that have a record, newest first."""


def one_call_more(ending: Ending) -> Ending:
    """The same ending after one call was interrupted: it was paid for, so it counts."""
    return replace(ending, agent_calls=ending.agent_calls + 1)


@dataclass(frozen=True)
class Bench:
    folder: Path
    model: ScriptedModel
    variables: dict[str, str]
    started: list[Process] = field(default_factory=list[Process])

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @property
    def state(self) -> LoopState:
        return show_state(open_repository(self.repository), LOOP).state

    @property
    def loop_folder(self) -> LoopFolder:
        return loop_folder(open_repository(self.repository), LOOP)

    def driver(self, *arguments: str) -> Process:
        """A process that drives the loop and kills itself where the arguments say."""
        return self._start(DRIVER, str(self.repository), *arguments)

    def helmsman(self, command: str, *arguments: str) -> Process:
        return self._start(COMMAND_LINE, command, *arguments, "--repo", str(self.repository), "--json")

    def run(self) -> Process:
        """Drive a new loop by the command line."""
        return self.helmsman("run", GOAL, "--check", CHECK, "--name", LOOP, "--yes")

    def hold(self) -> None:
        """Keep the agent waiting inside its first session until `release`."""
        (self.home / "hold").touch()

    def release(self) -> None:
        (self.home / "hold").unlink()

    def wait_until_held(self) -> None:
        assert eventually((self.home / "held").exists, PATIENCE), "the agent does not reach the middle of its session"

    def ending(self) -> Ending:
        state = self.state
        return Ending(
            outcome=state.outcome,
            iterations=state.iteration,
            agent_calls=state.spending.agent_calls,
            tree=git(self.repository, "rev-parse", f"{state.branch}^{{tree}}").strip(),
            commits=tuple(git(self.repository, "log", "--format=%s", f"{state.base_commit}..{state.branch}").splitlines()),
            records=tuple(record.iteration for record in read_records(open_repository(self.repository), LOOP)),
        )

    def sessions(self) -> list[tuple[int, int]]:
        """For each session that the model saw, in order: its iteration and how many requests it made."""
        sessions = Counter((request.call, iteration_of(request)) for request in self.model.requests)
        return [(iteration, requests) for (_, iteration), requests in sorted(sessions.items())]

    def finished_steps(self) -> Counter[tuple[int, int, str]]:
        """How often each step finished, by iteration and attempt, over all drivers; from the journal."""
        lines = self.loop_folder.journal.read_text("utf-8").splitlines()
        events = [read_event(line.split(" ", 1)[1]) for line in lines]
        return Counter((e.iteration, e.attempt, e.step) for e in events if isinstance(e, StepFinished))

    def salvaged(self) -> dict[str, set[str]]:
        """The files on each ref that keeps work in flight."""
        prefix = state_ref(LOOP).removesuffix("state") + "salvage/"
        refs = git(self.repository, "for-each-ref", "--format=%(refname)", prefix).split()
        return {ref.removeprefix(prefix): set(git(self.repository, "ls-tree", "--name-only", "-r", ref).split()) for ref in refs}

    def tagged(self) -> list[str]:
        """The agents and checks of the loop, with all that they started, and their supervisors."""
        return _describe(tagged_pids(f"{self.state.uid}/"))

    def processes(self) -> list[str]:
        """These plus drivers and embedded engine."""
        at_home = [process.pid for process in processes("HOME", str(self.home))]
        return sorted({*_describe(at_home), *self.tagged()})

    def is_quiet(self) -> bool:
        """Whether all processes end soon; a supervisor takes a moment."""
        return eventually(lambda: not self.processes())

    def end(self) -> None:
        """Kill what a failed test left."""
        for process in processes("HOME", str(self.home)):
            with suppress(psutil.Error):
                process.kill()
        for process in self.started:
            process.kill()
            process.communicate()

    def _start(self, module: str, *arguments: str) -> Process:
        """A process that starts its own engine must import Prefect itself, so it cannot be forked."""
        start = WarmProcess if "PREFECT_API_URL" in self.variables else ColdProcess
        self.started.append(start(module, arguments, self.folder, self.variables))
        return self.started[-1]


@contextmanager
def bench(folder: Path, api_url: str | None) -> Generator[Bench]:
    """A repository and a model for one loop; kill processes left at the end. Without an API URL, the embedded engine."""
    make_repository(folder / "repository", {})
    (folder / "home").mkdir()
    copy_database(folder / "prefect")
    with ScriptedModel(script) as model:
        made = Bench(folder, model, _variables(folder, model.url, api_url))
        try:
            yield made
        finally:
            made.end()


def _variables(folder: Path, model_url: str, api_url: str | None) -> dict[str, str]:
    ours = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "HELMSMAN_HOME": str(folder / "state"),
        "PREFECT_HOME": str(folder / "prefect"),
    }
    engine = {"PREFECT_API_URL": api_url} if api_url else {}
    return {**ours, **engine, **environment(model_url, folder / "home")}


def _describe(pids: list[int]) -> list[str]:
    """Number and command of each process that is still alive."""
    found: list[str] = []
    for pid in pids:
        with suppress(psutil.Error):
            found.append(f"{pid} {' '.join(psutil.Process(pid).cmdline())[:200]}")
    return found
