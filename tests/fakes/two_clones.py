"""A loop that moves between two clones of one remote: started, continued, taken over."""

from pathlib import Path

import pytest

from helmsman.config import LoopConfig, RemoteConfig
from helmsman.records.state import LoopState
from tasks.loop import remote_handover
from tasks.loop.remote_handover import acquire_lease, pull_state
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.loop_context import worktree_of
from tasks.repository.state_ref import read_state, replace_state, write_state
from tasks.repository.worktree import ensure_worktree
from tests.fakes.repositories import commit, make_repository, sh

LOOP = "loop"
BRANCH = "helmsman/loop"
PUSH_CONFIG = RemoteConfig(push=True)


def clone_remote(remote: Path, name: str) -> Repository:
    sh(remote.parent, "clone", "--quiet", str(remote), name)
    return open_repository(remote.parent / name)


def begin_loop(repository: Repository, uid: str = "u1") -> LoopState:
    """Start a loop in this clone and take its lease."""
    base = git(repository.top, "rev-parse", "HEAD").strip()
    times = dict.fromkeys(("created_at", "updated_at"), "2026-11-22T10:00:00Z")
    fields = {"loop": LOOP, "uid": uid, "base_commit": base, "head": base, "branch": BRANCH, **times}
    config = LoopConfig(goal="g", checks=("true",), remote=PUSH_CONFIG)  # pyright: ignore[reportArgumentType]
    state = LoopState.model_validate({**fields, "config": config})
    write_state(repository, state, over=None, record=None, subject="start")
    ensure_worktree(repository, loop_worktree(repository, state), BRANCH, base)
    return acquire_lease(repository, state)


def loop_worktree(repository: Repository, state: LoopState) -> Path:
    return worktree_of(repository, LOOP, state.config.workspace)


def run_iteration(repository: Repository, state: LoopState, text: str) -> LoopState:
    head = commit(loop_worktree(repository, state), text, {"app.py": text})
    after = state.model_copy(update={"iteration": state.iteration + 1, "head": head})
    return replace_state(repository, state, after, text)


def take_over_loop(repository: Repository) -> LoopState:
    """Take the loop over in this clone."""
    pull_state(repository, LOOP, PUSH_CONFIG, locked=False)
    state, _ = read_state(repository, LOOP)
    ensure_worktree(repository, loop_worktree(repository, state), BRANCH, state.head)
    return acquire_lease(repository, state)


def refs_below(repository: Repository, below: str) -> list[str]:
    return git(repository.common, "for-each-ref", "--format=%(objectname)", f"refs/helmsman/{LOOP}/{below}").split()


# --- fixtures -----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_retry_delay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(remote_handover, "RETRY_SECONDS", (0.0,))
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    make_repository(tmp_path / "origin")
    sh(tmp_path, "clone", "--quiet", "--bare", "origin", "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def one(remote: Path) -> Repository:
    return clone_remote(remote, "one")


@pytest.fixture
def two(remote: Path) -> Repository:
    return clone_remote(remote, "two")
