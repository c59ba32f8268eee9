"""A real bubblewrap sandbox around a loop's worktree."""

import os
import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from helmsman.config import SandboxConfig
from tasks.repository.git import git, open_repository
from tasks.sandbox.enter import Agent, Command, agent_sandbox, git_folder
from tasks.sandbox.own_git import import_commits
from tasks.system.paths import LoopFolder
from tasks.system.process import ProcessResult, run
from tests.fakes.repositories import make_repository

PYTHON = shlex.quote(os.path.realpath(sys.executable))
SANDBOXED = {"HELMSMAN_SANDBOX__KIND": "bubblewrap"}
"""Environment in which loops run their agent in a sandbox."""

BRANCH = "helmsman/loop"
AS_ADA = "git config user.name Ada; git config user.email ada@example.com;"
SECRET = "the-secret"


@dataclass(frozen=True)
class SandboxScene:
    """A loop's worktree, a home with a secret in it, and another user's folder."""

    root: Path
    config: SandboxConfig = field(default_factory=lambda: SandboxConfig(kind="bubblewrap", network="off"))

    @property
    def worktree(self) -> Path:
        return self.root / "worktree"

    @property
    def repository(self) -> Path:
        return self.root / "repository"

    @property
    def home(self) -> Path:
        return self.root / "homes" / "ada"

    @property
    def folder(self) -> LoopFolder:
        return LoopFolder(self.repository / ".git" / "helmsman" / "loops" / "loop")

    @contextmanager
    def box(
        self, *command: str, config: SandboxConfig | None = None, hooks: tuple[int, ...] = (), claude: bool = False
    ) -> Generator[Command]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        agent = Agent(Path("/bin/sh"), hooks, is_claude=claude)
        with agent_sandbox(
            config or self.config, self.worktree, self.folder, agent, Command(list(command), environment)
        ) as boxed:
            yield boxed

    def inside(
        self, script: str, *, config: SandboxConfig | None = None, deadline: float = 30, claude: bool = False
    ) -> ProcessResult:
        """Run a shell script in the sandbox."""
        with self.box("sh", "-c", script, config=config, claude=claude) as boxed:
            return self.run(boxed, deadline)

    def python(self, script: str, *, config: SandboxConfig | None = None) -> ProcessResult:
        return self.inside(f"{PYTHON} -I -c {shlex.quote(script)}", config=config)

    def outside(self, script: str) -> ProcessResult:
        """Run it without a sandbox, to see that the attack works there."""
        return self.run(Command(["sh", "-c", script], {"PATH": os.environ["PATH"], "HOME": str(self.home)}), 30)

    def run(self, command: Command, deadline: float) -> ProcessResult:
        tag = f"escape-{uuid4().hex}"  # unique, as ending a tag kills all processes with it, also those of other workers
        return run(command.arguments, cwd=self.worktree, env=command.environment, tag=tag, deadline=deadline, grace=1)

    def subjects(self, revision: str = BRANCH) -> list[str]:
        """Of the commits that the repository has, newest first."""
        return git(self.repository, "log", "--format=%s", revision).splitlines()

    def import_commits(self) -> None:
        import_commits(open_repository(self.repository), self.worktree, BRANCH, git_folder(self.folder))


def make_scene(root: Path) -> SandboxScene:
    made = SandboxScene(root)
    make_repository(made.repository, {"app.py": "1\n"})
    git(made.repository, "worktree", "add", "--quiet", "-b", BRANCH, str(made.worktree))
    git(made.repository, "update-ref", "refs/helmsman/loop/state", "HEAD")
    for place in (made.home / ".ssh", made.root / "homes" / "eve"):
        place.mkdir(parents=True)
        (place / "key").write_text(SECRET)
    return made


@pytest.fixture
def scene(tmp_path: Path) -> SandboxScene:
    return make_scene(tmp_path)
