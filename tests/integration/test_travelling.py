"""A loop on two machines with one remote: taken up where it stands, claimed, and nothing lost of what one of them had alone."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.config import RemoteConfig
from helmsman.errors import OperatorError, TransientError
from helmsman.records.agent import KeptSession
from tasks.loop import remote_handover
from tasks.loop.recover import mark_lost
from tasks.loop.remote_handover import acquire_lease, check_lease, pull_state, push_at_end
from tasks.repository.git import Repository, git, read_ref
from tasks.repository.loop_context import loop_context, loop_folder
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, read_state, replace_state, state_ref
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

__all__ = ["no_retry_delay", "one", "remote", "two"]
pytestmark = pytest.mark.feature("D4", "E3")


def test_another_machine_goes_on_where_the_first_one_stands(one: Repository, two: Repository) -> None:
    state = run_iteration(one, begin_loop(one), "done by one\n")
    push_loop(one, state)
    found = take_over_loop(two)
    assert (found.iteration, found.head, found.uid) == (1, state.head, state.uid)
    assert (loop_worktree(two, found) / "app.py").read_text() == "done by one\n"


def test_whoever_claims_it_fences_the_one_before_it(one: Repository, two: Repository, remote: Path) -> None:
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


def test_the_same_machine_that_begins_again_fences_its_earlier_process_too(one: Repository, remote: Path) -> None:
    state = begin_loop(one)
    at = read_ref(remote, state_ref(LOOP))
    assert acquire_lease(one, state) == state
    assert read_ref(remote, state_ref(LOOP)) != at


def test_what_the_fenced_one_had_alone_is_kept_when_it_takes_the_loop_up_again(one: Repository, two: Repository) -> None:
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


def test_what_was_not_pushed_yet_is_not_given_up(one: Repository) -> None:
    ahead = run_iteration(one, begin_loop(one), "not pushed\n")
    assert take_over_loop(one).head == ahead.head
    assert read_state(one, LOOP)[0].iteration == 1
    assert not refs_below(one, "fenced/")


def test_a_session_that_lies_on_another_machine_is_not_gone_on_with(one: Repository, two: Repository) -> None:
    session = KeptSession.model_validate({"id": "s", "used_at": "2026-11-22T10:00:00Z"})
    state = begin_loop(one)
    push_loop(one, replace_state(one, state, state.model_copy(update={"session": session, "host": "another"}), "kept"))
    assert take_over_loop(two).session is None


def test_while_somebody_drives_it_here_nothing_is_replaced(one: Repository, two: Repository) -> None:
    before = begin_loop(one)
    take_over_loop(two)
    at = read_state(one, LOOP)
    with exclusive_driver(loop_folder(one, LOOP).lock, LOOP), pytest.raises(OperatorError, match="already has a driver"):
        pull_state(one, LOOP, before.config.remote, locked=False)
    assert read_state(one, LOOP) == at


def test_another_loop_of_the_same_name_is_not_mistaken_for_it(one: Repository, two: Repository) -> None:
    push_loop(one, begin_loop(one))
    git(two.common, "remote", "rename", "origin", "away")
    git(two.common, "remote", "add", "origin", str(two.top.parent / "empty.git"))
    sh(two.top.parent, "init", "--quiet", "--bare", "empty.git")
    mine = run_iteration(two, begin_loop(two, uid="u2"), "mine\n")
    with pytest.raises(Fenced, match="another loop named loop"):
        pull_state(two, LOOP, RemoteConfig(push=True, name="away"), locked=False)
    assert read_state(two, LOOP)[0] == mine


def test_a_remote_that_is_not_there_is_the_operator_s_fault_and_one_that_is_away_the_world_s(
    one: Repository, remote: Path
) -> None:
    state = begin_loop(one)
    with pytest.raises(OperatorError, match="there is no remote 'nowhere'"):
        pull_state(one, LOOP, RemoteConfig(push=True, name="nowhere"), locked=False)
    remote.rename(remote.with_suffix(".away"))
    with pytest.raises(TransientError):
        pull_state(one, LOOP, PUSH_CONFIG, locked=False)
    with pytest.raises(TransientError):
        check_lease(one, state)
    assert remote_handover.holds_lease(one, state)


def test_however_a_block_ends_the_remote_has_the_loop_as_it_stands_then(one: Repository, remote: Path) -> None:
    state = begin_loop(one)

    def asked() -> None:
        with push_at_end(one, LOOP):
            replace_state(one, state, state.model_copy(update={"gates_asked": 1}), "ask")
            raise RuntimeError("suspended")

    with pytest.raises(RuntimeError, match="suspended"):
        asked()
    assert read_ref(remote, state_ref(LOOP)) == read_state(one, LOOP)[1]


def test_a_call_that_was_in_flight_elsewhere_is_charged_and_its_work_is_kept(one: Repository, two: Repository) -> None:
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
