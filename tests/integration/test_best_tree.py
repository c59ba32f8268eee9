"""Leaving a loop at its best tree in real git: nothing is lost, whoever dies when, and nobody's work is touched."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helmsman.records.state import LoopState
from tasks.loop.recover import leave_at_best, move_to_best
from tasks.repository.git import GitError
from tasks.repository.state_ref import read_state
from tasks.repository.worktree import restore
from tests.fakes.processes import ROOT
from tests.fakes.repositories import BRANCH, LOOP, LoopWork, commit, write
from tests.integration.best_tree_process import ended_loop, is_reset_to_best

pytestmark = pytest.mark.feature("S19")

LEAST_CHANGES = 5
LATER = f"refs/helmsman/{LOOP}/later/2"


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return ended_loop(tmp_path / "top")


def leave(work: LoopWork) -> LoopState:
    return leave_at_best(work.context, work.state)


def best(work: LoopWork) -> str:
    assert work.state.oversight.best is not None
    return work.state.oversight.best.commit


def test_the_branch_is_left_at_the_best_tree_and_the_printed_command_brings_the_later_one(work: LoopWork) -> None:
    after = leave(work)
    assert is_reset_to_best(work)
    assert after == read_state(work.repository, LOOP)[0]
    assert after.failed is not None
    assert (after.failed.ref, after.failed.files) == (LATER, (".gitignore", "app.py", "new.py"))
    work.sh("branch", f"{LOOP}-later", LATER)
    assert work.at("new.py", f"{LOOP}-later") == "x"
    assert (work.path / ".env").exists()
    assert (work.path / "x.log").exists()


def test_done_again_it_changes_nothing(work: LoopWork) -> None:
    after = leave(work)
    assert leave_at_best(work.context, after) == after
    move_to_best(work.context, after)
    assert is_reset_to_best(work)
    assert work.sh("for-each-ref", "--format=%(refname)", f"refs/helmsman/{LOOP}").split() == [
        LATER,
        f"refs/helmsman/{LOOP}/state",
    ]


@pytest.mark.slow
def test_a_driver_killed_after_any_git_command_loses_nothing_and_the_next_one_resets_to_the_best_tree(
    tmp_path: Path,
) -> None:
    process = [sys.executable, "-m", "tests.integration.best_tree_process", tmp_path]
    done = subprocess.run(process, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == [True] * len(found)
    assert len(found) >= LEAST_CHANGES


def test_uncommitted_work_is_saved_to_a_ref(work: LoopWork) -> None:
    write(work.path, {"app.py": "by hand\n", "note.txt": "mine\n"})
    leave(work)
    assert is_reset_to_best(work)
    (kept,) = work.refs()
    assert (work.at("app.py", kept), work.at("note.txt", kept)) == ("by hand", "mine")


@pytest.mark.parametrize("how", ["moved", "gone"])
def test_a_moved_branch_and_a_missing_worktree_are_not_touched(
    how: str, work: LoopWork, caplog: pytest.LogCaptureFixture
) -> None:
    if how == "moved":
        tip = commit(work.path, "a person's", {"app.py": "theirs\n"})
    else:
        tip = work.state.head
        work.path.rename(work.path.with_name("elsewhere"))
    assert leave(work) == work.state
    assert "the branch stays at its last tree" in caplog.text
    assert work.repository.common.joinpath("refs/heads", BRANCH).read_text().strip() == tip


def test_a_branch_moved_at_the_last_moment_is_not_reset(work: LoopWork) -> None:
    tip = commit(work.path, "a person's", {"app.py": "theirs\n"})
    with pytest.raises(GitError):
        restore(work.path, best(work), BRANCH, work.state.head)
    assert work.sh("rev-parse", BRANCH) == tip


def test_a_worktree_on_another_branch_is_not_touched(work: LoopWork) -> None:
    after = leave(work)
    work.sh("switch", "--quiet", "--create", "theirs")
    commit(work.path, "theirs", {"app.py": "theirs\n"})
    move_to_best(work.context, after)
    assert work.sh("symbolic-ref", "--short", "HEAD") == "theirs"
    assert not work.sh("status", "--porcelain", "--untracked-files=no")
