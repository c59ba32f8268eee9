"""Letting a loop travel: branch and state arrive together or not at all, and two machines cannot both go on."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from helmsman.config import RemoteConfig
from helmsman.errors import OperatorError, TransientError
from helmsman.records.state import LoopState
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import Fenced, read_state, replace_state, state_ref
from tests.fakes.repositories import BRANCH, LOOP, LoopWork, commit, sh, start_loop
from tests.fakes.two_clones import remote

__all__ = ["remote"]
pytestmark = pytest.mark.feature("E3")

REF = state_ref(LOOP)


@pytest.fixture
def work(remote: Path, tmp_path: Path) -> LoopWork:
    sh(tmp_path, "clone", "--quiet", str(remote), "top")
    return start_loop(tmp_path / "top", tmp_path / "tree")


def iterate(repository: Repository, worktree: Path, before: LoopState, text: str) -> LoopState:
    """One more iteration: a commit on the branch, a state on the ref."""
    head = commit(worktree, text, {"app.py": text})
    after = before.model_copy(update={"iteration": before.iteration + 1, "head": head})
    return replace_state(repository, before, after, text)


def tips(folder: Path) -> tuple[str | None, str | None]:
    return read_ref(folder, f"refs/heads/{BRANCH}"), read_ref(folder, REF)


def hook(remote: Path, name: str, body: str) -> None:
    (remote / "hooks").mkdir(exist_ok=True)
    (remote / "hooks" / name).write_text(f"#!/bin/sh\n{body}\n")
    (remote / "hooks" / name).chmod(0o755)


def test_branch_and_state_arrive_together(work: LoopWork, remote: Path) -> None:
    state = work.state
    for text in ("one", "two"):
        state = iterate(work.repository, work.path, state, text)
        push_loop(work.repository, state)
        assert tips(remote) == tips(work.repository.common) == (state.head, read_state(work.repository, LOOP)[1])
    push_loop(work.repository, state)


def test_a_repository_that_lies_where_git_looks_for_a_remote_that_is_gone_gets_nothing(work: LoopWork) -> None:
    planted = work.repository.common / "origin"
    sh(work.repository.common, "init", "--quiet", "--bare", str(planted))
    sh(work.repository.common, "remote", "remove", "origin")
    with pytest.raises(OperatorError, match="there is no remote 'origin'"):
        push_loop(work.repository, iterate(work.repository, work.path, work.state, "one"))
    assert tips(planted) == (None, None)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("update", f'[ "$1" != {REF} ] || {{ echo "no loops here" >&2; exit 1; }}'),
        ("update", f'[ "$1" != refs/heads/{BRANCH} ] || {{ echo "no loops here" >&2; exit 1; }}'),
    ],
)
def test_where_the_remote_refuses_one_of_the_two_neither_moves(work: LoopWork, remote: Path, name: str, body: str) -> None:
    before = tips(remote)
    hook(remote, name, body)
    state = iterate(work.repository, work.path, work.state, "one")
    with pytest.raises(TransientError) as caught:
        push_loop(work.repository, state)
    assert tips(remote) == before == (None, None)
    assert "no loops here" in caught.value.found


def test_a_clone_that_went_on_meanwhile_fences_the_other(work: LoopWork, remote: Path, tmp_path: Path) -> None:
    state = iterate(work.repository, work.path, work.state, "one")
    push_loop(work.repository, state)
    sh(tmp_path, "clone", "--quiet", "--branch", BRANCH, str(remote), "elsewhere")
    elsewhere = open_repository(tmp_path / "elsewhere")
    sh(elsewhere.top, "fetch", "--quiet", "origin", f"{REF}:{REF}")
    theirs = iterate(elsewhere, elsewhere.top, read_state(elsewhere, LOOP)[0], "theirs")
    push_loop(elsewhere, theirs)
    ours = iterate(work.repository, work.path, state, "ours")
    with pytest.raises(Fenced) as caught:
        push_loop(work.repository, ours)
    assert f"git fetch origin {REF}" in caught.value.remedy
    assert tips(remote) == tips(elsewhere.common)


@pytest.mark.parametrize("address", ["{folder}/gone.git", "http://127.0.0.1:1/gone.git"])
def test_a_remote_that_cannot_be_reached_is_the_worlds_fault(work: LoopWork, tmp_path: Path, address: str) -> None:
    sh(work.repository.top, "remote", "set-url", "origin", address.format(folder=tmp_path))
    with pytest.raises(TransientError) as caught:
        push_loop(work.repository, work.state)
    assert caught.value.found


@pytest.mark.feature("D5")
@pytest.mark.parametrize("name", ["", "--upload-pack=touch pwned;"])
def test_a_remote_is_no_option_of_gits(name: str) -> None:
    """A repository's own file names it, which an operator may hold in a sandbox."""
    with pytest.raises(ValidationError):
        RemoteConfig(push=True, name=name)


def roll_back(work: LoopWork, before: LoopState, failed: str, to: str) -> LoopState:
    """The branch goes back, and what was taken off stays on a ref."""
    sh(work.path, "update-ref", f"refs/helmsman/{LOOP}/failed/2-1", failed)
    sh(work.path, "reset", "--quiet", "--hard", to)
    after = before.model_copy(update={"iteration": before.iteration + 1, "head": to})
    return replace_state(work.repository, before, after, "taken back")


@pytest.mark.feature("S17")
def test_a_branch_that_went_back_takes_its_own_work_off_the_remote_as_well(work: LoopWork, remote: Path) -> None:
    good = iterate(work.repository, work.path, work.state, "good")
    bad = iterate(work.repository, work.path, good, "bad")
    push_loop(work.repository, bad)
    back = roll_back(work, bad, bad.head, good.head)
    hook(remote, "pre-receive", "exit 1")
    with pytest.raises(TransientError):
        push_loop(work.repository, back)  # missed once: the next one makes it up
    (remote / "hooks" / "pre-receive").unlink()
    later = iterate(work.repository, work.path, back, "another way")
    push_loop(work.repository, later)
    assert tips(remote) == (later.head, read_state(work.repository, LOOP)[1])


@pytest.mark.feature("S17")
def test_what_somebody_else_pushed_onto_the_branch_is_never_replaced(work: LoopWork, remote: Path, tmp_path: Path) -> None:
    good = iterate(work.repository, work.path, work.state, "good")
    bad = iterate(work.repository, work.path, good, "bad")
    push_loop(work.repository, bad)
    sh(tmp_path, "clone", "--quiet", "--branch", BRANCH, str(remote), "person")
    theirs = commit(tmp_path / "person", "a person's own fix", {"fix.py": "x = 1\n"})
    sh(tmp_path / "person", "push", "--quiet", "origin", BRANCH)
    with pytest.raises(Fenced):
        push_loop(work.repository, roll_back(work, bad, bad.head, good.head))
    assert tips(remote)[0] == theirs


@pytest.mark.feature("S17")
def test_a_remote_that_lets_no_branch_go_back_is_the_operators_and_nobody_elses_course(work: LoopWork, remote: Path) -> None:
    good = iterate(work.repository, work.path, work.state, "good")
    bad = iterate(work.repository, work.path, good, "bad")
    push_loop(work.repository, bad)
    sh(remote, "config", "receive.denyNonFastForwards", "true")
    with pytest.raises(OperatorError, match="rejects the reset of") as caught:
        push_loop(work.repository, roll_back(work, bad, bad.head, good.head))
    assert not isinstance(caught.value, Fenced)
    assert tips(remote)[0] == bad.head


def test_a_users_settings_for_pushes_send_nothing_more_and_nowhere_else(work: LoopWork, remote: Path) -> None:
    state = iterate(work.repository, work.path, work.state, "one")
    sh(work.path, "tag", "-a", "-m", "of the agent", "v9.9", state.head)
    sh(work.path, "config", "push.followTags", "true")
    sh(work.path, "config", "push.gpgSign", "true")
    sh(work.path, "config", "remote.origin.push", "refs/heads/*:refs/for/*")
    push_loop(work.repository, state)
    assert sh(remote, "for-each-ref", "--format=%(refname)", "refs/tags", "refs/for") == ""
    assert tips(remote) == (state.head, read_state(work.repository, LOOP)[1])
