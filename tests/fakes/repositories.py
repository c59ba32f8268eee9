"""Real git repositories, and loops that work in them."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from helmsman.config import CheckConfig, LoopConfig
from helmsman.records.agent import AgentCall, AgentOutcome, Change, Execution
from helmsman.records.claims import Claims
from helmsman.records.decision import Decision
from helmsman.records.iteration import IterationRecord, WorkingMemory
from helmsman.records.state import LoopState
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import LoopContext, loop_folder
from tasks.repository.state_ref import write_state
from tasks.repository.worktree import ensure_worktree, measure_change

NOW = datetime(2026, 11, 22, 5, 0, tzinfo=UTC)
LOOP = "the-loop"
BRANCH = f"helmsman/{LOOP}"
GIT_SETTINGS = (
    "user.name=Somebody", "user.email=somebody@localhost", "init.defaultBranch=main", "protocol.file.allow=always",
    "maintenance.auto=false",  # or each commit starts one more process
)  # fmt: skip


def sh(cwd: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run git as a person or an agent does, not with Helmsman's settings."""
    settings = [part for setting in GIT_SETTINGS for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, check=False
    )
    assert done.returncode == 0, f"git {arguments}: {done.stderr.decode(errors='replace')}"
    return os.fsdecode(done.stdout).rstrip("\n")


def shell(folder: Path, script: str) -> None:
    """Run a shell script as the agent does, with the same git settings; stop at the first failure."""
    own = {"GIT_CONFIG_COUNT": str(len(GIT_SETTINGS))}
    for number, (name, _, value) in enumerate(setting.partition("=") for setting in GIT_SETTINGS):
        own |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    done = subprocess.run(["sh", "-ec", script], cwd=folder, env={**os.environ, **own}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def commit(folder: Path, subject: str, files: Mapping[str, str] | None = None) -> str:
    """Write these files and commit all changes."""
    write(folder, files or {})
    sh(folder, "add", "--all", ".")
    sh(folder, "commit", "--quiet", "--allow-empty", "-m", subject)
    return sh(folder, "rev-parse", "HEAD")


def make_repository(folder: Path, files: Mapping[str, str] | None = None, *options: str) -> Path:
    """A repository on `main` with one commit of these files."""
    folder.mkdir(parents=True)
    sh(folder, "init", "--quiet", *options)
    commit(folder, "start", {"app.py": "print('hello')\n"} if files is None else files)
    return folder


def with_submodule(folder: Path) -> Path:
    """A repository whose submodule `lib` comes from a local folder."""
    library = make_repository(folder.parent / f"{folder.name}-library", {"lib.py": "LIB = 1\n"})
    make_repository(folder)
    sh(folder, "submodule", "--quiet", "add", str(library), "lib")
    commit(folder, "add the library")
    return folder


def loop_state(start: str, *, loop: str = LOOP, **changes: Any) -> LoopState:
    """Each has its own uid: processes with a loop's uid are killed at its end, also those of a parallel test."""
    known = {"uid": uuid4().hex, "created_at": NOW, "updated_at": NOW, "base_commit": start, "head": start}
    config = LoopConfig(goal="make it work", checks=(CheckConfig(command="true"),))
    return LoopState.model_validate({"loop": loop, "branch": f"helmsman/{loop}", "config": config, **known, **changes})


def record_of(state: LoopState, iteration: int) -> IterationRecord:
    change = Change(start=state.head, commit=state.head, tree=state.head)
    return IterationRecord(
        loop=state.loop,
        iteration=iteration,
        attempt=1,
        started_at=NOW,
        execution=Execution(call=AgentCall(outcome=AgentOutcome.FINISHED, exit_code=0, seconds=1), change=change),
        checks=None,
        claims=Claims(),
        memory=WorkingMemory(),
        signals=(),
        decision=Decision(kind="continue", rule="continue", reason="more to do", at=NOW),
    )


@dataclass(frozen=True)
class LoopWork:
    """A loop in its worktree, at the start of its first iteration."""

    repository: Repository
    path: Path
    state: LoopState
    start: str

    @property
    def context(self) -> LoopContext:
        return LoopContext(self.repository, self.path, loop_folder(self.repository, self.state.loop))

    def configured(self, **settings: Any) -> "LoopWork":
        """The same with these settings, which its state file does not have."""
        config = LoopConfig.model_validate({**self.state.config.model_dump(), **settings})
        return replace(self, state=self.state.model_copy(update={"config": config}))

    def execution(self, start: str = "", **call: Any) -> Execution:
        """A call of the agent that committed what is there since `start`, by default the loop's."""
        made = record_of(self.state, 1).execution.call.model_copy(update=call)
        return Execution(call=made, change=measure_change(self.path, start or self.start))

    def sh(self, *arguments: str) -> str:
        """Git as the agent runs it in the worktree."""
        return sh(self.path, *arguments)

    def at(self, name: str, revision: str = BRANCH) -> str:
        """A file's content in a commit."""
        return sh(self.repository.common, "show", f"{revision}:{name}")

    def names(self, revision: str = BRANCH) -> set[str]:
        return set(sh(self.repository.common, "ls-tree", "-r", "--name-only", "-z", revision).split("\0")) - {""}

    def refs(self) -> list[str]:
        """The salvage refs of the loop."""
        return sh(self.repository.common, "for-each-ref", "--format=%(refname)", f"refs/helmsman/{LOOP}/salvage").split()


def start_loop(top: Path, worktree: Path) -> LoopWork:
    """Start a loop in a repository: state written, worktree made."""
    repository = open_repository(top)
    start = sh(top, "rev-parse", "HEAD")
    state = loop_state(start)
    write_state(repository, state, over=None, record=None, subject="start")
    ensure_worktree(repository, worktree, BRANCH, start)
    return LoopWork(repository, worktree, state, start)
