"""A push starts a loop in whatever kind of repository holds the commit."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.loop.recover import repair
from tasks.repository.loop_context import loop_context
from tests.fakes.push_receiver import ServedRepository, served_repository
from tests.fakes.repositories import make_repository, sh
from tests.integration.test_pushed import CONFIGURATION, push_of, started

pytestmark = pytest.mark.feature("D2")


@pytest.fixture
def served(tmp_path: Path) -> ServedRepository:
    return served_repository(tmp_path, {"helmsman.toml": CONFIGURATION})


def a_shallow_clone(served: ServedRepository, folder: Path) -> Path:
    served.commit("later", {"later": "1"})
    served.push("main")
    sh(folder, "clone", "--quiet", "--branch=main", "--depth=1", f"file://{served.bare}", "shallow")
    return folder / "shallow"


def a_clone_with_nothing_checked_out(served: ServedRepository, folder: Path) -> Path:
    sh(folder, "clone", "--quiet", str(served.bare), "empty")
    return folder / "empty"


def a_linked_worktree(served: ServedRepository, folder: Path) -> Path:
    sh(served.clone, "worktree", "add", "--quiet", "--detach", str(folder / "linked"))
    return folder / "linked"


def a_bare_repository_with_sha256(_: ServedRepository, folder: Path) -> Path:
    sh(folder, "init", "--quiet", "--bare", "--object-format=sha256", "--initial-branch=master", "other.git")
    source = make_repository(folder / "source", {"helmsman.toml": CONFIGURATION}, "--object-format=sha256")
    sh(source, "push", "--quiet", str(folder / "other.git"), "HEAD:refs/heads/main")
    return folder / "other.git"


@pytest.mark.parametrize(
    "make", [a_shallow_clone, a_clone_with_nothing_checked_out, a_linked_worktree, a_bare_repository_with_sha256]
)
def test_a_push_starts_a_loop_in_every_kind_of_repository(
    make: Callable[[ServedRepository, Path], Path], served: ServedRepository, tmp_path: Path
) -> None:
    where = make(served, tmp_path)
    commit = sh(where, "for-each-ref", "--count=1", "--format=%(objectname)", "refs/heads/main", "refs/remotes/origin/main")
    state = started(push_of(served, commit, location=str(where)))
    ready = repair(loop_context(str(where), state), state)
    assert (loop_context(str(where), ready).worktree / "helmsman.toml").read_text() == CONFIGURATION
