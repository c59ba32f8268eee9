"""Calls that cannot be recorded: a paid call is not repeated, one that never started is."""

import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helmsman.config import ClaudeConfig, SteeringConfig
from helmsman.errors import CallInterrupted, TransientError
from tasks.agents.call import Order
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.agents.claude import call_agent
from tests.fakes.repositories import LoopWork
from tests.fakes.scripted_agent import Call, calls_made, scripted_agent

pytestmark = pytest.mark.feature("E3", "X4")

ROOM = 200_000
"""Bytes that a file may have."""


@contextmanager
def small_file_limit() -> Generator[None]:
    """Limit the size of files that this process writes, like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def open_file_limit(more: int) -> Generator[None]:
    """Allow this process a number of additional open files."""
    highest = max(int(one.name) for one in Path("/dev/fd").iterdir())
    before, taken = resource.getrlimit(resource.RLIMIT_NOFILE), [os.dup(0)]
    while taken[-1] < highest:
        taken.append(os.dup(0))  # numbers below it that are free
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 1 + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for handle in taken:
            os.close(handle)


def order_for(work: LoopWork, *calls: Call, folder: Path) -> Order:
    claude = ClaudeConfig(binary=str(scripted_agent(folder, calls)), permission_mode="acceptEdits")
    config = work.state.config.model_copy(update={"claude": claude, "steering": SteeringConfig(hooks=False)})
    return Order(work.context, work.state.model_copy(update={"config": config}), "go on", work.start)


def test_a_call_that_fills_the_disk_is_interrupted_and_stays_started(work: LoopWork, tmp_path: Path) -> None:
    talks = Call(shell=f"echo half > half.txt; head -c {2 * ROOM} /dev/zero | tr '\\0' x; sleep 5")
    order = order_for(work, talks, folder=tmp_path / "agent")
    with small_file_limit(), pytest.raises(CallInterrupted, match="could not be written"):
        call_agent(order)
    folder = CallFolder(work.context.folder.call(work.state.due, work.state.attempt), work.state.uid)
    assert interrupted_call(folder) is not None
    assert calls_made(tmp_path / "agent") == 1
    assert (work.path / "half.txt").exists()


def test_a_call_that_never_started_is_transient_and_may_be_retried(work: LoopWork, tmp_path: Path) -> None:
    order = order_for(work, Call(), folder=tmp_path / "agent")
    calls = work.context.folder.root / "calls"
    calls.parent.mkdir(parents=True, exist_ok=True)
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        pytest.skip("this system has no /dev/full")
    folder = work.context.folder.call(work.state.due, work.state.attempt)
    folder.mkdir(parents=True)
    (folder / "prompt.md").symlink_to("/dev/full")
    with pytest.raises(TransientError, match="No space left") as raised:
        call_agent(order)
    assert not isinstance(raised.value, CallInterrupted)
    assert not (tmp_path / "agent" / "starts").exists()


@pytest.mark.parametrize("room", [3, 9])
def test_a_program_that_could_not_start_may_be_retried(work: LoopWork, tmp_path: Path, room: int) -> None:
    """As on a machine with too many open files; git needs fewer than the agent."""
    order = order_for(work, Call(), folder=tmp_path / "agent")
    with open_file_limit(room), pytest.raises(TransientError, match=r"limit of processes|could not be started") as raised:
        call_agent(order)
    assert not isinstance(raised.value, CallInterrupted)
    assert calls_made(tmp_path / "agent") == 0
    call_agent(order)
    assert calls_made(tmp_path / "agent") == 1
