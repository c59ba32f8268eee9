"""What a machine had in flight when another one went on with its loop: it is kept, as the agent left it."""

import pytest

from helmsman.records.state import LoopState
from tasks.loop.remote_handover import pull_state
from tasks.repository.git import GitError, Repository, git, read_ref
from tasks.repository.loop_context import loop_folder
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import read_state, state_ref
from tasks.sandbox.enter import git_folder
from tasks.sandbox.own_git import make_git
from tests.fakes.repositories import sh, write
from tests.fakes.two_clones import (
    BRANCH,
    LOOP,
    PUSH_CONFIG,
    begin_loop,
    loop_worktree,
    no_retry_delay,
    one,
    refs_below,
    remote,
    run_iteration,
    take_over_loop,
    two,
)

__all__ = ["no_retry_delay", "one", "remote", "two"]
pytestmark = pytest.mark.feature("D4", "E3")


def test_what_the_agent_committed_in_its_box_is_kept_when_another_machine_went_on(one: Repository, two: Repository) -> None:
    """The driver here died before it had taken that over."""
    before = begin_loop(one)
    box = git_folder(loop_folder(one, LOOP))
    box.parent.mkdir(parents=True)
    make_git(loop_worktree(one, before), box)
    write(loop_worktree(one, before), {"app.py": "from the box\n"})
    inside = {"GIT_DIR": str(box), "GIT_WORK_TREE": ".", "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(one.common / "objects")}
    git(loop_worktree(one, before), "commit", "--quiet", "--all", "--message", "in the box", env=inside)
    made = git(loop_worktree(one, before), "rev-parse", "HEAD", env=inside).strip()
    push_loop(two, run_iteration(two, take_over_loop(two), "in time\n"))
    pull_state(one, LOOP, PUSH_CONFIG, locked=False)
    assert made in refs_below(one, "salvage/")
    assert not box.exists()
    assert (loop_worktree(one, before) / "app.py").read_text() == "in time\n"


def test_a_branch_that_somebody_has_checked_out_is_not_moved_beneath_them(one: Repository, two: Repository) -> None:
    push_loop(one, begin_loop(one))
    gone = take_over_loop(two)
    git(two.common, "worktree", "remove", "--force", str(loop_worktree(two, gone)))
    sh(two.top, "switch", "--quiet", BRANCH)
    push_loop(one, run_iteration(one, _again(one), "further\n"))
    known = read_ref(two.common, state_ref(LOOP))
    with pytest.raises(GitError, match="fetch failed") as caught:
        pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    assert str(two.top) in caught.value.found
    assert (sh(two.top, "status", "--porcelain"), read_ref(two.common, state_ref(LOOP))) == ("", known)
    sh(two.top, "switch", "--quiet", "--detach")
    pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    assert read_state(two, LOOP)[0].iteration == 1


def _again(repository: Repository) -> LoopState:
    pull_state(repository, LOOP, PUSH_CONFIG, locked=False)
    return read_state(repository, LOOP)[0]
