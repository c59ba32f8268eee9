"""A loop on two machines with one remote: it continues where it was, under one lease, and no work of either machine is lost."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.config import RemoteConfig
from helmsman.errors import OperatorError, TransientError
from helmsman.records.agent import KeptSession
from helmsman.records.state import LoopState
from tasks.loop import remote_handover
from tasks.loop.recover import mark_lost
from tasks.loop.remote_handover import acquire_lease, bring_branch, check_lease, pull_state, push_at_end
from tasks.repository.git import GitError, Repository, git, read_ref
from tasks.repository.loop_context import loop_context, loop_folder
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, read_state, replace_state, state_ref
from tasks.sandbox.enter import git_folder
from tasks.sandbox.own_git import make_git
from tasks.system.lock import exclusive_driver
from tests.fakes.repositories import commit, sh, write
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
from tests.unit import builders

__all__ = ["no_retry_delay", "one", "remote", "two"]
pytestmark = pytest.mark.feature("D4", "E3")


def test_another_machine_continues_the_loop(one: Repository, two: Repository) -> None:
    state = run_iteration(one, begin_loop(one), "done by one\n")
    push_loop(one, state)
    found = take_over_loop(two)
    assert (found.iteration, found.head, found.uid) == (1, state.head, state.uid)
    assert (loop_worktree(two, found) / "app.py").read_text() == "done by one\n"


def test_a_new_lease_fences_the_earlier_driver(one: Repository, two: Repository, remote: Path) -> None:
    before = begin_loop(one)
    theirs = take_over_loop(two)
    at = read_ref(remote, state_ref(LOOP))
    for ours in (before, run_iteration(one, before, "too late\n")):
        with pytest.raises(Fenced):
            push_loop(one, ours)
        with pytest.raises(Fenced, match="has another driver"):
            check_lease(one, ours)
    check_lease(two, theirs)
    assert read_ref(remote, state_ref(LOOP)) == at
    assert read_ref(remote, f"refs/heads/{BRANCH}") == before.head


def test_a_restart_on_the_same_machine_fences_its_earlier_process(one: Repository, remote: Path) -> None:
    state = begin_loop(one)
    at = read_ref(remote, state_ref(LOOP))
    assert acquire_lease(one, state) == state
    assert read_ref(remote, state_ref(LOOP)) != at


def test_commits_of_the_fenced_machine_are_saved_when_it_continues_the_loop(one: Repository, two: Repository) -> None:
    before = begin_loop(one)
    too_late = run_iteration(one, before, "too late\n")
    _, lost = read_state(one, LOOP)
    write(loop_worktree(one, before), {"lying.txt": "about"})
    push_loop(two, run_iteration(two, take_over_loop(two), "in time\n"))
    found = take_over_loop(one)
    assert (found.head != too_late.head, found.iteration) == (True, 1)
    assert (loop_worktree(one, found) / "app.py").read_text() == "in time\n"
    assert not (loop_worktree(one, found) / "lying.txt").exists()
    assert lost in refs_below(one, "fenced/")
    (work,) = (name for name in refs_below(one, "salvage/") if "lying.txt" in git(one.common, "ls-tree", "--name-only", name))
    assert git(one.common, "show", f"{work}:app.py") == "too late\n"


def test_unpushed_local_state_is_kept(one: Repository) -> None:
    ahead = run_iteration(one, begin_loop(one), "not pushed\n")
    assert take_over_loop(one).head == ahead.head
    assert read_state(one, LOOP)[0].iteration == 1
    assert not refs_below(one, "fenced/")


def test_a_session_of_another_machine_is_not_resumed(one: Repository, two: Repository) -> None:
    session = KeptSession.model_validate({"id": "s", "used_at": "2026-11-22T10:00:00Z"})
    state = begin_loop(one)
    push_loop(one, replace_state(one, state, state.model_copy(update={"session": session, "host": "another"}), "kept"))
    assert take_over_loop(two).session is None


def test_the_state_of_a_running_loop_is_not_replaced(one: Repository, two: Repository) -> None:
    before = begin_loop(one)
    take_over_loop(two)
    at = read_state(one, LOOP)
    with exclusive_driver(loop_folder(one, LOOP).lock, LOOP), pytest.raises(OperatorError, match="already has a driver"):
        pull_state(one, LOOP, before.config.remote, locked=False)
    assert read_state(one, LOOP) == at


def test_another_loop_of_the_same_name_is_refused(one: Repository, two: Repository) -> None:
    push_loop(one, begin_loop(one))
    git(two.common, "remote", "rename", "origin", "away")
    git(two.common, "remote", "add", "origin", str(two.top.parent / "empty.git"))
    sh(two.top.parent, "init", "--quiet", "--bare", "empty.git")
    mine = run_iteration(two, begin_loop(two, uid="u2"), "mine\n")
    with pytest.raises(Fenced, match="another loop named loop"):
        pull_state(two, LOOP, RemoteConfig(push=True, name="away"), locked=False)
    assert read_state(two, LOOP)[0] == mine


def test_a_missing_remote_is_an_operator_error_and_an_unreachable_one_is_transient(one: Repository, remote: Path) -> None:
    state = begin_loop(one)
    with pytest.raises(OperatorError, match="there is no remote 'nowhere'"):
        pull_state(one, LOOP, RemoteConfig(push=True, name="nowhere"), locked=False)
    remote.rename(remote.with_suffix(".away"))
    with pytest.raises(TransientError):
        pull_state(one, LOOP, PUSH_CONFIG, locked=False)
    with pytest.raises(TransientError):
        check_lease(one, state)
    assert remote_handover.holds_lease(one, state)


def test_the_state_is_pushed_however_the_block_ends(one: Repository, remote: Path) -> None:
    state = begin_loop(one)

    def asked() -> None:
        with push_at_end(one, LOOP):
            replace_state(one, state, state.model_copy(update={"gates_asked": 1}), "ask")
            raise RuntimeError("suspended")

    with pytest.raises(RuntimeError, match="suspended"):
        asked()
    assert read_ref(remote, state_ref(LOOP)) == read_state(one, LOOP)[1]


def test_a_call_in_flight_on_another_machine_is_charged_and_its_work_saved(one: Repository, two: Repository) -> None:
    before = begin_loop(one)
    commit(loop_worktree(one, before), "half of it", {"app.py": "half\n"})
    push_loop(one, before)
    state = take_over_loop(two)
    after = mark_lost(loop_context(str(two.top), state), state, datetime(2026, 11, 22, 11, tzinfo=UTC))
    assert (after.due, after.attempt, after.spending.agent_calls, after.spending.seconds) == (1, 2, 1, 0.0)
    (salvaged,) = after.salvaged
    assert git(two.common, "show", f"{salvaged.ref}:app.py") == "half\n"
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == before.head
    check_lease(two, after)


def test_commits_in_the_sandbox_are_saved_when_another_machine_continued(one: Repository, two: Repository) -> None:
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


def test_a_checked_out_branch_is_not_moved(one: Repository, two: Repository) -> None:
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


@pytest.mark.parametrize("has_branch", [True, False])
def test_a_state_fetched_without_its_work_names_what_to_fetch_and_then_moves_the_branch(
    one: Repository, two: Repository, *, has_branch: bool
) -> None:
    state = begin_loop(one)
    if has_branch:
        git(two.common, "fetch", "--quiet", "origin", f"{BRANCH}:{BRANCH}")
    before = read_ref(two.common, f"refs/heads/{BRANCH}")
    state = run_iteration(one, state, "done by one\n")
    push_loop(one, state)
    git(two.common, "fetch", "--quiet", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}")
    with pytest.raises(OperatorError, match=f"git fetch origin {BRANCH}:{BRANCH}"):
        bring_branch(two, state)
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == before
    git(two.common, "fetch", "--quiet", "origin")
    bring_branch(two, state)
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == state.head


def test_a_worktree_with_older_work_than_a_fetched_state_is_named(one: Repository, two: Repository) -> None:
    begin_loop(one)
    worktree = loop_worktree(two, take_over_loop(two))
    git(one.common, "fetch", "--quiet", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}")
    state = run_iteration(one, read_state(one, LOOP)[0], "done by one\n")
    push_loop(one, state)
    git(two.common, "fetch", "--quiet", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}", BRANCH)
    with pytest.raises(OperatorError, match=f"git worktree remove {worktree}, then git fetch origin"):
        bring_branch(two, state)


def test_a_branch_that_a_person_moved_or_deleted_stays_so(one: Repository) -> None:
    state = run_iteration(one, begin_loop(one), "done\n")
    moved = commit(loop_worktree(one, state), "by a person", {"app.py": "better\n"})
    git(one.common, "worktree", "remove", str(loop_worktree(one, state)))
    for at in (moved, state.base_commit):
        git(one.common, "branch", "--force", BRANCH, at)
        bring_branch(one, state)
        assert read_ref(one.common, f"refs/heads/{BRANCH}") == at
    git(one.common, "branch", "-D", BRANCH)
    write(loop_folder(one, LOOP).root, {"journal.jsonl": ""})
    bring_branch(one, state)
    assert read_ref(one.common, f"refs/heads/{BRANCH}") is None


def test_the_branch_of_a_completed_loop_is_fetched_up_to_its_proven_commit_and_no_further(
    one: Repository, two: Repository
) -> None:
    state = begin_loop(one)
    git(two.common, "fetch", "--quiet", "origin", f"{BRANCH}:{BRANCH}")
    worked = run_iteration(one, state, "done\n")
    state = replace_state(one, worked, worked.model_copy(update={"ending": builders.STOP}), "end")
    push_loop(one, state)
    git(two.common, "fetch", "--quiet", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}")
    pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == state.head
    commit(loop_worktree(one, state), "by a person", {"app.py": "better\n"})
    git(one.common, "push", "--quiet", "origin", BRANCH)
    pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == state.head
