"""Merging on a real engine: what a loop proved goes into the branch that it is for; what cannot becomes a task or a question."""

import fcntl
import threading
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import get_client

from flows.loop import loop
from helmsman.records.decision import Outcome
from helmsman.records.events import Event, LoopMerged
from helmsman.records.gates import Choice, GateKind
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from tasks.loop.run import hold_slot, release_slot, slot_name
from tasks.repository.git import open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import read_state
from tasks.system.journal import listening
from tests.fakes.processes import eventually
from tests.fakes.repositories import sh
from tests.fakes.scripted_agent import PROMISE, calls_made, says
from tests.flows.conftest import Drive
from tests.flows.test_gates import put
from tests.flows.test_loop import SOLVE

pytestmark = pytest.mark.feature("M4")

SOLVED = says(PROMISE, shell=SOLVE)
INTO_MAIN = {"into": "main"}
COMMIT = "git -c user.name=A -c user.email=a@localhost commit --quiet -am"


def state_of(repository: Path) -> LoopState:
    return read_state(open_repository(repository), "loop")[0]


def resume(repository: Path) -> LoopState:
    loop(LoopRequest(repository=str(repository), loop="loop", reopen=True), return_state=True)
    return state_of(repository)


def test_verified_work_is_merged_and_reported_to_listeners(drive: Drive, repository: Path) -> None:
    heard = list[Event]()
    with listening(heard.append):
        driven = drive([SOLVED], merge=INTO_MAIN)
    merged = driven.state.merged
    assert driven.state.outcome is Outcome.COMPLETED
    assert merged is not None
    assert sh(repository, "rev-parse", "main", "main^1", "main^2").split() == [merged.commit, merged.base, driven.state.head]
    assert (repository / "answer").read_text().strip() == "42"
    assert [event.merged for event in heard if isinstance(event, LoopMerged)] == [merged]


def test_a_conflict_that_is_only_claimed_to_be_merged_does_not_complete(drive: Drive, repository: Path) -> None:
    sh(repository, "checkout", "--quiet", "-b", "elsewhere")
    theirs = f"git worktree add --quiet ../other main && cd ../other && echo 7 > note && git add note && {COMMIT} 'note seven'"
    first = says(PROMISE, shell=f"{SOLVE}\necho 8 > note\n({theirs})")
    driven = drive([first, says(PROMISE)], merge=INTO_MAIN, limits={"iterations": 2})
    assert driven.state.outcome is Outcome.STOPPED  # every check passes, and the agent says that it is done
    assert [(one.rule, one.path) for one in driven.state.findings] == [("markers", "note")]
    assert sh(repository, "show", "main:note") == "7"


@pytest.mark.slow
def test_a_blocked_merge_asks_a_person_and_repeats_no_work(drive: Drive, repository: Path) -> None:
    (repository / "answer").write_text("somebody's half of a change\n")
    driven = drive([SOLVED], merge=INTO_MAIN)
    gate = driven.state.gate
    assert driven.state.outcome is Outcome.WAITING
    assert gate is not None
    assert gate.kind is GateKind.UNMERGED
    assert "answer" in gate.evidence
    (repository / "answer").unlink()
    put(repository, Choice.APPROVE)
    after = resume(repository)
    assert after.outcome is Outcome.COMPLETED
    assert after.merged is not None
    assert calls_made(driven.agent) == 1


@pytest.mark.slow
def test_who_cancels_while_it_waits_for_its_turn_keeps_proven_work_that_is_merged_later(drive: Drive, repository: Path) -> None:
    folder = repository / ".git" / "helmsman"
    folder.mkdir()
    with (folder / "merge.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        cancel = loop_folder(open_repository(repository), "loop").cancel
        waits = threading.Thread(target=lambda: eventually(lambda: _waits(repository), 60) and cancel.touch())
        waits.start()
        driven = drive([SOLVED], merge=INTO_MAIN)
        waits.join()
    assert driven.state.outcome is Outcome.CANCELLED
    after = resume(repository)
    assert (after.outcome, calls_made(driven.agent)) == (Outcome.COMPLETED, 1)
    assert after.merged is not None


def _waits(repository: Path) -> bool:
    try:
        return state_of(repository).merging.proven is not None
    except Exception:  # noqa: BLE001 - the loop does not exist yet
        return False


@flow(name="slots", persist_result=False)
def second_holder(name: str) -> list[int]:
    """How many slots are taken while somebody holds one and a second has given up waiting, and after both have gone."""
    with ExitStack() as first, ExitStack() as second:
        hold_slot(first, name, time.monotonic() + 60, lambda: False)
        hold_slot(second, name, time.monotonic(), lambda: False)
        meanwhile = _active(name)
    return [meanwhile, _active(name)]


def _active(name: str) -> int:
    with get_client(sync_client=True) as client:
        return client.read_global_concurrency_limit_by_name(name).active_slots


def test_a_project_has_one_merge_slot_and_a_long_wait_proceeds_without_it(engine_url: str, repository: Path) -> None:
    assert engine_url
    assert second_holder(slot_name(open_repository(repository))) == [1, 0]


class Unreturned(AbstractContextManager[None]):
    """A slot of an engine that is not there any more."""

    def __exit__(self, *_: object) -> None:
        raise httpx.ConnectError("nobody there")


@flow(name="gone", persist_result=False)
def after_the_engine_has_gone() -> str:
    with ExitStack() as held:
        held.callback(release_slot, Unreturned(), "slot")
    return "merged"


def test_an_engine_that_ends_before_the_slot_is_released_loses_no_merge(engine_url: str) -> None:
    assert engine_url
    assert after_the_engine_has_gone() == "merged"
