"""Project ids of real repositories."""

from pathlib import Path

import pytest

from helmsman.errors import OperatorError
from tasks.memory import LENGTH, project_id
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import write_state
from tests.fakes.repositories import commit, loop_state, make_repository, sh, write

pytestmark = pytest.mark.feature("L1")


def cloned(top: Path, name: str, *options: str) -> Path:
    sh(top.parent, "clone", "--quiet", *options, top.as_uri(), name)
    return top.parent / name


def test_refs_of_loops_and_stashes_do_not_change_the_project(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    first = sh(top, "rev-parse", "HEAD")
    commit(top, "second")
    for number in range(8):  # ids are random: each time chance may put the first commit's id first
        clone = cloned(top, f"clone-{number}")
        write(clone, {"new.txt": f"{number}"})
        sh(clone, "stash", "push", "--quiet", "--include-untracked")
        repository = open_repository(clone)
        write_state(repository, loop_state(first), over=None, record=None, subject="s")
        assert project_id(repository) == first[:LENGTH]


def test_a_worktree_has_the_same_project(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    first = sh(top, "rev-parse", "HEAD")
    sh(top, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    assert project_id(open_repository(tmp_path / "tree")) == project_id(open_repository(top)) == first[:LENGTH]


def test_a_shallow_clone_is_a_separate_project(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    second = commit(top, "second")
    assert project_id(open_repository(cloned(top, "shallow", "--depth=1"))) == second[:LENGTH]


def test_a_bare_repository_with_a_missing_head_uses_its_branches(tmp_path: Path) -> None:
    top = make_repository(tmp_path / "top")
    first = sh(top, "rev-parse", "HEAD")
    bare = cloned(top, "bare.git", "--bare")
    sh(bare, "symbolic-ref", "HEAD", "refs/heads/gone")
    sh(bare, "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    repository = open_repository(tmp_path / "tree")
    write_state(repository, loop_state(first), over=None, record=None, subject="s")
    assert project_id(repository) == first[:LENGTH]


def test_a_repository_without_commits_is_an_error(tmp_path: Path) -> None:
    sh(tmp_path, "init", "--quiet")
    with pytest.raises(OperatorError, match="no first commit"):
        project_id(Repository(top=tmp_path, common=tmp_path / ".git", bare=False))
