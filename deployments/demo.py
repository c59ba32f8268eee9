"""`helmsman demo`: a complete loop to watch, offline and without an account.

The repository, the agent's CLI, the checks, the engine and the loop are real. Only the model's side of the conversation is
scripted, in demo.yaml.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from deployments.demo_model import ScriptedModel, Turn, bash, by_call, call, edit, environment, read, say
from deployments.run import start
from helmsman.config import WorkspaceConfig
from tasks.repository.git import git, open_repository
from tasks.repository.loop_context import worktree_of
from tasks.repository.state_ref import state_ref

LOOP = "demo"
SCRIPT: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def run_demo(*, keep: bool) -> int:
    """Run the demo in a temporary folder. Returns the exit status of the loop."""
    console, started_at = Console(highlight=False), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="helmsman-demo-"))
    python = "python3" if shutil.which("python3") else sys.executable
    try:
        with _isolated_homes(folder):
            root = _create_repository(folder)
            with ScriptedModel(by_call(sessions(root, python))) as model:
                os.environ.update(environment(model.url, folder / "home"))
                console.print(SCRIPT["opening"].format(folder=root), markup=False, soft_wrap=True)
                status = start(root, yes=True, goal=SCRIPT["goal"], check=[f"{python} -m unittest -q"], name=LOOP)
            for title, command in (
                ("The branch", ("log", "--oneline", "--stat", f"main..helmsman/{LOOP}")),
                (f"The loop's memory, {state_ref(LOOP)}", ("log", "--format=%h %s", "--first-parent", state_ref(LOOP))),
            ):
                console.print(f"\n{title}\n{git(root, *command).rstrip()}", markup=False, soft_wrap=True)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    farewell = f"Its folder is kept: {folder}" if keep else "Its folder is removed; --keep keeps it."
    console.print(f"\nThe demo took {time.monotonic() - started_at:.0f} s. {farewell}", markup=False, soft_wrap=True)
    return status


def sessions(root: Path, python: str) -> list[list[Turn]]:
    """The model's turns in each of the agent's sessions."""
    worktree = worktree_of(open_repository(root), LOOP, WorkspaceConfig())
    source = worktree / "slug.py"
    turns: dict[str, Callable[[Any], Turn]] = {
        "say": say,
        "read": lambda name: call(read(worktree / name)),
        "edit": lambda change: call(edit(source, *change)),
        "bash": lambda command: call(bash(command.replace("$PYTHON", python))),
    }
    return [[turns[kind](argument) for turn in session for kind, argument in turn.items()] for session in SCRIPT["sessions"]]


def _create_repository(folder: Path) -> Path:
    root = folder / "repository"
    root.mkdir()
    for name, text in SCRIPT["repository"].items():
        (root / name).write_text(text, encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A slug function and its tests")
    return root


@contextmanager
def _isolated_homes(folder: Path) -> Generator[None]:
    """Keep all files of the demo in its folder; restore the environment afterwards."""
    saved = dict(os.environ)
    for name in [name for name in os.environ if name.startswith(("HELMSMAN_", "PREFECT_", "ANTHROPIC_", "CLAUDE"))]:
        del os.environ[name]
    os.environ.update({"HELMSMAN_HOME": str(folder / "state"), "PREFECT_HOME": str(folder / "prefect")})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)
