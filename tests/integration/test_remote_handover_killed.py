"""Taking over another machine's state: whoever looks or is killed meanwhile, the state stays one that this machine acts on."""

from collections.abc import Callable
from typing import Any

import pytest

from tasks.loop import remote_handover
from tasks.loop.remote_handover import pull_state
from tasks.repository import state_ref, state_signature
from tasks.repository.git import GitError, Repository
from tasks.repository.remote import push_loop
from tasks.repository.state_signature import Tip, note_tip
from tasks.system.keys import keys_folder
from tests.fakes.two_clones import LOOP, PUSH_CONFIG, begin_loop, no_retry_delay, one, remote, run_iteration, take_over_loop, two

__all__ = ["no_retry_delay", "one", "remote", "two"]
pytestmark = pytest.mark.feature("D4", "X6")


class Killed(BaseException):
    """In place of the end of this process."""


@pytest.fixture
def machine_ahead(one: Repository, two: Repository) -> Repository:
    """A machine that went on by itself, while another one took the loop over and pushed."""
    before = begin_loop(one)
    push_loop(one, before)
    push_loop(two, run_iteration(two, take_over_loop(two), "in time\n"))
    run_iteration(one, before, "too late\n")
    return one


def run_around_update(monkeypatch: pytest.MonkeyPatch, *, before: Callable[[], object], after: Callable[[], object]) -> None:
    """Do something right before and right after the state's ref is moved to the remote's commit."""
    real = remote_handover.git

    def git(*arguments: Any, **more: Any) -> str:
        moves = arguments[1:3] == ("update-ref", state_ref.state_ref(LOOP))
        if moves:
            before()
        printed = real(*arguments, **more)
        if moves:
            after()
        return printed

    monkeypatch.setattr(remote_handover, "git", git)


def test_reading_a_state_while_it_is_replaced_keeps_it_verified(
    machine_ahead: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> None:
        assert state_ref.show_state(machine_ahead, LOOP).unverified == ""

    run_around_update(monkeypatch, before=look, after=look)
    pull_state(machine_ahead, LOOP, PUSH_CONFIG, locked=False)
    assert state_ref.read_state(machine_ahead, LOOP)[0].iteration == 1


def test_a_reader_that_notes_a_replaced_state_late_keeps_it_verified(
    machine_ahead: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for noted in keys_folder().glob("*.tip"):
        noted.unlink()  # so that whoever looks has something to note
    real = state_ref.find_doubt

    def slow(*arguments: Any) -> Any:
        looking.undo()
        pull_state(machine_ahead, LOOP, PUSH_CONFIG, locked=False)
        return real(*arguments)

    with monkeypatch.context() as looking:
        looking.setattr(state_ref, "find_doubt", slow)
        state_ref.show_state(machine_ahead, LOOP)
    assert state_ref.read_state(machine_ahead, LOOP)[0].iteration == 1


@pytest.mark.parametrize("moved", [False, True], ids=["before the ref is moved", "after it"])
def test_a_driver_killed_while_replacing_the_state_leaves_a_verified_one(
    machine_ahead: Repository, monkeypatch: pytest.MonkeyPatch, *, moved: bool
) -> None:
    def die() -> None:
        raise Killed

    with monkeypatch.context() as dying:
        run_around_update(dying, before=(lambda: None) if moved else die, after=die)
        with pytest.raises(Killed):
            pull_state(machine_ahead, LOOP, PUSH_CONFIG, locked=False)
    assert state_ref.read_state(machine_ahead, LOOP)[0].iteration == 1
    pull_state(machine_ahead, LOOP, PUSH_CONFIG, locked=False)
    assert state_ref.read_state(machine_ahead, LOOP)[0].iteration == 1


def test_a_driver_killed_between_state_and_tip_leaves_a_verified_state(one: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object, **__: object) -> None:
        raise Killed

    before = begin_loop(one)
    after = before.model_copy(update={"iteration": 1})
    with monkeypatch.context() as dying:
        dying.setattr(state_ref, "note_tip", die)
        with pytest.raises(Killed):
            state_ref.replace_state(one, before, after, "killed")
    assert state_ref.read_state(one, LOOP)[0].iteration == 1


def test_a_killed_or_slow_git_does_not_make_a_state_unverified(one: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    before = begin_loop(one)

    def killed(*arguments: Any, **_: Any) -> str:
        raise GitError(arguments[3:], -9, "")

    note_tip(one, LOOP, Tip(uid=before.uid, commit=before.base_commit))
    monkeypatch.setattr(state_signature, "git", killed)
    with pytest.raises(GitError):
        state_ref.read_state(one, LOOP)
