"""A loop on two machines, and what goes wrong between a call, its result, a look and a claim; or with the remote itself."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deployments import run as command
from helmsman.config import RemoteConfig, WorkspaceConfig
from helmsman.errors import OperatorError
from helmsman.records.request import LoopRequest
from tasks.loop import remote_handover
from tasks.loop.recover import mark_lost, reset_branch
from tasks.loop.remote_handover import acquire_lease, pull_state, push_at_end, require_new_name
from tasks.repository.git import Repository, git, read_ref
from tasks.repository.loop_context import loop_context
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, read_state, replace_state, state_ref, write_state
from tasks.repository.worktree import ensure_worktree
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


def test_pushed_work_that_another_machine_salvaged_does_not_block_a_push(one: Repository, two: Repository, remote: Path) -> None:
    """The machine died behind the agent's call, before its result was kept."""
    before = run_iteration(one, begin_loop(one), "done\n")
    push_loop(one, before)
    lost = commit(loop_worktree(one, before), "half of it", {"app.py": "half\n"})
    push_loop(one, before)
    pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    state, _ = read_state(two, LOOP)
    ensure_worktree(two, loop_worktree(two, state), BRANCH, state.head)
    after = acquire_lease(two, mark_lost(loop_context(str(two.top), state), state, datetime(2026, 11, 22, 11, tzinfo=UTC)))
    assert (after.attempt, read_ref(remote, f"refs/heads/{BRANCH}")) == (2, before.head)
    assert lost in refs_below(two, "salvage/")
    assert lost in sh(remote, "for-each-ref", "--format=%(objectname)", f"refs/helmsman/{LOOP}/salvage")  # it had it before


def test_a_rollback_on_another_machine_also_resets_the_remote_branch(one: Repository, two: Repository, remote: Path) -> None:
    """The machine died between going back and writing it down."""
    before = run_iteration(one, begin_loop(one), "done\n")
    push_loop(one, before)
    commit(loop_worktree(one, before), "worse", {"app.py": "worse\n"})
    push_loop(one, before)
    found = take_over_loop(two)
    reset_branch(loop_context(str(two.top), found), found, found.head)
    push_loop(two, found)
    assert read_ref(remote, f"refs/heads/{BRANCH}") == before.head


def test_a_new_loop_is_not_mistaken_for_a_loop_of_that_name_on_the_remote(one: Repository, two: Repository, remote: Path) -> None:
    push_loop(one, run_iteration(one, begin_loop(one), "somebody's\n"))
    at = read_ref(remote, state_ref(LOOP))
    theirs, _ = read_state(one, LOOP)
    config = theirs.config.model_copy(update={"goal": "another one"})
    mine = theirs.model_copy(update={"uid": "u2", "config": config, "iteration": 0, "head": theirs.base_commit, "host": ""})
    write_state(two, mine, over=None, record=None, subject="start")
    with pytest.raises(Fenced, match="another loop named loop"):
        pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    assert read_state(two, LOOP)[0] == mine
    assert read_ref(remote, state_ref(LOOP)) == at


def test_a_name_taken_on_the_remote_is_refused(one: Repository, two: Repository) -> None:
    require_new_name(two, LOOP, PUSH_CONFIG)
    begin_loop(one)
    require_new_name(two, LOOP, RemoteConfig())
    with pytest.raises(OperatorError, match="a loop named loop already exists on remote origin"):
        require_new_name(two, LOOP, PUSH_CONFIG)


def test_a_loop_in_place_does_not_replace_a_checkout(one: Repository, two: Repository) -> None:
    before = begin_loop(one)
    config = before.config.model_copy(update={"workspace": WorkspaceConfig(in_place=True)})
    main = git(two.top, "branch", "--show-current").strip()
    push_loop(one, replace_state(one, before, before.model_copy(update={"config": config, "branch": main}), "in place"))
    write(two.top, {"app.py": "edited\n", "mine.txt": "mine\n"})
    with pytest.raises(OperatorError, match="continued in another checkout") as caught:
        pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    assert before.host in str(caught.value)
    assert ((two.top / "app.py").read_text(), (two.top / "mine.txt").read_text()) == ("edited\n", "mine\n")


def test_of_two_clones_on_one_host_only_one_acquires_the_lease(one: Repository, two: Repository) -> None:
    before = run_iteration(one, begin_loop(one), "done\n")
    push_loop(one, before)
    pull_state(two, LOOP, PUSH_CONFIG, locked=False)
    acquire_lease(one, before)
    with pytest.raises(Fenced):
        acquire_lease(two, read_state(two, LOOP)[0])


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a remote that takes the call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"git://127.0.0.1:{server.getsockname()[1]}/gone.git"


def test_the_end_of_a_loop_does_not_wait_for_a_hanging_remote(
    one: Repository, silent: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(remote_handover, "END_SECONDS", 0.5)
    state = begin_loop(one)
    git(one.common, "remote", "set-url", "origin", silent)
    assert remote_handover.holds_lease(one, state)
    with push_at_end(one, LOOP):
        pass
    (told,) = caplog.records
    assert "no answer within 0.5 s" in told.getMessage()
    assert told.exc_info is None


def test_a_loop_continues_from_a_fetched_state_alone(one: Repository, two: Repository, remote: Path) -> None:
    before = run_iteration(one, begin_loop(one), "done\n")
    push_loop(one, before)
    git(two.common, "fetch", "--quiet", "origin", "refs/heads/*:refs/remotes/origin/*")
    lost = commit(loop_worktree(one, before), "pushed with no state", {"app.py": "more\n"})
    push_loop(one, before)
    git(two.common, "fetch", "--quiet", "origin", f"{state_ref(LOOP)}:{state_ref(LOOP)}")
    ensure_worktree(two, loop_worktree(two, before), BRANCH, before.head)  # as a try has left it
    acquire_lease(two, take_over_loop(two))
    assert (loop_worktree(two, before) / "app.py").read_text() == "more\n"
    assert read_ref(two.common, f"refs/heads/{BRANCH}") == read_ref(remote, f"refs/heads/{BRANCH}") == lost


def drives_of_resume(monkeypatch: pytest.MonkeyPatch) -> list[LoopRequest]:
    """The requests that `helmsman resume` would drive from now on."""
    asked: list[LoopRequest] = []

    def drive(_: Repository, request: LoopRequest, *, as_json: bool) -> int:
        asked.append(request)
        return int(not as_json)

    def nobody_refuses(*_: object) -> None:
        pass

    monkeypatch.setattr(command, "drive", drive)
    monkeypatch.setattr(command, "refuse_agent", nobody_refuses)
    return asked


def test_resume_fetches_a_loop_that_this_clone_lacks(one: Repository, two: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run_iteration(one, begin_loop(one), "done\n")
    push_loop(one, before)
    asked = drives_of_resume(monkeypatch)
    with pytest.raises(OperatorError, match="there is no loop 'loop'"):
        command.resume(two.top, LOOP, yes=True, as_json=True)
    monkeypatch.setenv("HELMSMAN_REMOTE__PUSH", "true")
    command.resume(two.top, LOOP, yes=True, as_json=True)
    assert [(one.loop, read_state(two, LOOP)[0].iteration) for one in asked] == [(LOOP, 1)]


def test_a_resume_first_fetches_what_another_machine_did_of_a_loop_that_began_without_push(
    one: Repository, two: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = begin_loop(one)
    push_loop(two, run_iteration(two, take_over_loop(two), "done by two\n"))
    own = before.config.model_copy(update={"remote": RemoteConfig()})
    replace_state(one, before, before.model_copy(update={"config": own}), "as it began")
    asked = drives_of_resume(monkeypatch)
    command.resume(one.top, LOOP, yes=True, as_json=True)
    assert read_state(one, LOOP)[0].iteration == 0
    monkeypatch.setenv("HELMSMAN_REMOTE__PUSH", "true")
    command.resume(one.top, LOOP, yes=True, as_json=True)
    assert (read_state(one, LOOP)[0].iteration, len(asked)) == (1, 2)
    assert (loop_worktree(one, before) / "app.py").read_text() == "done by two\n"
