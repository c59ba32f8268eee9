"""Checks that take away what ties their worktree to its repository: git must not take the repository above for it."""

import shutil
from pathlib import Path
from uuid import uuid4

import pytest

from helmsman.config import CheckConfig, LoopConfig
from helmsman.errors import OperatorError
from helmsman.records.checks import CheckReport
from tasks.checks.run import CheckContext, Target, run_checks
from tasks.checks.scan import security_findings
from tasks.loop.steps import baseline
from tasks.repository.git import commit_and_tree
from tasks.repository.worktree import Worktree, ensure_worktree, restore, set_branch
from tasks.system.process import never_stop
from tests.fakes.repositories import BRANCH, LOOP, LoopWork, commit, make_repository, sh, start_loop, write
from tests.integration.test_stop_gate import FAILS

pytestmark = pytest.mark.feature("M2")

CUTS = {
    "removed": "rm .git",
    "a repository of its own": "rm .git; git init --quiet .",
    "a repository of its own with a commit": "rm .git; git init -q; git add .; git -c user.name=a -c user.email=b commit -qm c",
    "a link to the one above": "rm .git; ln -s ../../.git .git",
    "the words of the one above": "echo gitdir: ../../.git > .git",
    "nonsense": "echo nonsense > .git",
    "an empty folder": "rm .git; mkdir .git",
    "its own folder broken": 'rm "$(git rev-parse --git-dir)/HEAD"',
    "all of it": 'rm -rf "$PWD"',
}


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    """A loop that works below its own repository's checkout, in which somebody is at work too."""
    top = make_repository(tmp_path / "top", {"app.py": "1\n", ".gitignore": "*.log\n"})
    work = start_loop(top, top / "trees" / LOOP)
    write(top, {"app.py": "somebody's, not committed\n", "draft": "somebody's\n"})
    commit(work.path, "work", {"app.py": "2\n"})
    return work


def checked(work: LoopWork, *checks: CheckConfig) -> CheckReport:
    done, tree = commit_and_tree(work.path)
    return run_checks(
        CheckContext(Worktree(work.path), work.state.uid, never_stop), Target(done, tree, LoopConfig(goal="g", checks=checks))
    )


def footprint(work: LoopWork) -> tuple[str, ...]:
    """All of the repository above that git could have changed."""
    top = work.repository.top
    changes = "status", "--porcelain=v2", "--branch", "--", ".", ":!trees"
    looks = (changes, ("for-each-ref",), ("reflog", "HEAD"), ("config", "--list", "--local"))
    return (*(sh(top, *look) for look in looks), (top / "app.py").read_text(), (top / "draft").read_text())


@pytest.mark.parametrize("cut", CUTS)
def test_a_check_that_replaces_git_is_named_and_the_repository_above_is_not_touched(work: LoopWork, cut: str) -> None:
    before = footprint(work)
    with pytest.raises(OperatorError, match="a check replaced the worktree's") as told:
        checked(work, CheckConfig(command="true"), CheckConfig(command=CUTS[cut]), CheckConfig(command="touch ../../after"))
    assert told.value.found == CUTS[cut]
    assert "fix" in told.value.remedy
    assert footprint(work) == before


def test_all_of_several_parallel_checks_are_named(work: LoopWork) -> None:
    before = footprint(work)
    commands = "true", "rm .git"
    with pytest.raises(OperatorError, match="a check replaced the worktree's") as told:
        checked(work, *(CheckConfig(command=command, parallel=True) for command in commands))
    assert told.value.found == "true | rm .git"
    assert footprint(work) == before


def test_a_check_that_replaces_git_only_in_its_rerun_is_found(work: LoopWork, tmp_path: Path) -> None:
    before = footprint(work)
    command = f"test -e {tmp_path}/once && rm .git; touch {tmp_path}/once; {FAILS}"
    with pytest.raises(OperatorError, match="a check replaced the worktree's"):
        checked(work, CheckConfig(command=command))
    assert footprint(work) == before


def test_the_branch_is_not_given_to_the_repository_above(work: LoopWork) -> None:
    before = footprint(work)
    checks = LoopConfig.model_validate({"goal": "g", "checks": (CUTS["removed"],), "workspace": {"clean": False}})
    with pytest.raises(OperatorError, match="a check replaced the worktree's"):
        baseline.fn(work.context, work.state.model_copy(update={"config": checks}), commit_and_tree(work.path)[1])
    with pytest.raises(OperatorError, match="is detached"):
        set_branch(work.path, work.state.branch, work.start)
    assert footprint(work) == before


@pytest.mark.parametrize("cut", ["removed", "a repository of its own"])
def test_nothing_is_restored_where_git_would_use_the_repository_above(work: LoopWork, cut: str) -> None:
    before = footprint(work)
    room = CheckContext(Worktree(work.path), work.state.uid, never_stop)
    with pytest.raises(OperatorError, match="is detached") as told:
        security_findings(CUTS[cut], room, work.sh("rev-parse", "HEAD"))
    assert str(work.path / ".git") in told.value.expected
    assert footprint(work) == before


@pytest.mark.parametrize("cut", ["a repository of its own", "the words of the one above"])
def test_the_worktree_is_repaired_when_the_loop_is_resumed(work: LoopWork, cut: str) -> None:
    done, _ = commit_and_tree(work.path)
    with pytest.raises(OperatorError):
        checked(work, CheckConfig(command=CUTS[cut]))
    before = footprint(work)
    ensure_worktree(work.repository, work.path, BRANCH, done)
    restore(work.path, done)
    assert checked(work, CheckConfig(command='test "$(cat app.py)" = 2')).passed
    assert footprint(work) == before


def test_in_place_a_check_that_removes_the_repository_does_not_reach_the_one_around_it(tmp_path: Path) -> None:
    home = make_repository(tmp_path / "home", {"kept": "as it was\n"})
    top = make_repository(home / "top")
    write(home, {"kept": "not committed\n"})
    done, tree = commit_and_tree(top)
    kept = tmp_path / "kept.git"
    shutil.copytree(top / ".git", kept)
    for cut in ("rm -rf .git", "rm -rf .git; git init --quiet .", "rm -rf .git; ln -s ../.git .git"):
        config = LoopConfig(goal="g", checks=(CheckConfig(command=cut),))
        with pytest.raises(OperatorError, match="a check replaced the worktree's"):
            run_checks(CheckContext(Worktree(top), f"t-{uuid4().hex}", never_stop), Target(done, tree, config))
        assert (home / "kept").read_text() == "not committed\n"
        _remove(top / ".git")
        shutil.copytree(kept, top / ".git")


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)


def test_a_repository_that_is_kept_elsewhere_is_worked_in_as_ever(tmp_path: Path) -> None:
    """In place: behind a symbolic link, or behind a file that git writes for --separate-git-dir."""
    linked = make_repository(tmp_path / "linked")
    (linked / ".git").rename(tmp_path / "moved.git")
    (linked / ".git").symlink_to("../moved.git")
    apart = make_repository(tmp_path / "apart", None, f"--separate-git-dir={tmp_path / 'apart.git'}")
    for top in (linked, apart):
        done, tree = commit_and_tree(top)
        config = LoopConfig(goal="g", checks=(CheckConfig(command="echo x > app.py; touch new"),))
        assert sorted(
            run_checks(CheckContext(Worktree(top), f"t-{uuid4().hex}", never_stop), Target(done, tree, config)).left_behind
        ) == [
            "app.py",
            "new",
        ]
