"""A disk that is full is the world's fault, wherever it hits, and whoever it hits is told how to go on."""

import errno
import resource
from pathlib import Path

import httpx
import pytest
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError

from deployments.errors import report_unforeseen
from deployments.run import suggesting_resume
from helmsman.errors import HelmsmanError, OperatorError, TransientError
from tasks.repository.state_ref import Fenced
from tasks.system.faults import raising_transient_errors
from tasks.system.files import write_atomic
from tasks.system.process import run

pytestmark = pytest.mark.feature("X4")

FULL = Path("/dev/full")
"""A file on a disk that is always full."""


def write_to_full_disk() -> None:
    with FULL.open("w") as file:
        file.write("x")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_the_world_s_fault_and_says_that_space_is_missing() -> None:
    with pytest.raises(TransientError, match="No space left on device") as raised, raising_transient_errors():
        write_to_full_disk()
    assert "free space" in raised.value.remedy


def test_a_machine_without_room_for_another_command_is_the_world_s_fault(tmp_path: Path) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, most[1]))
    try:
        with pytest.raises(TransientError, match="the limit of processes or open files is reached"), raising_transient_errors():
            run(["true"], cwd=tmp_path, env={}, tag=f"it-{tmp_path}", deadline=10)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_file_that_is_not_there_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), raising_transient_errors():
        write_atomic(tmp_path / "nowhere" / "call.json", "{}")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "call.json"),
        httpx.ConnectError("All connection attempts failed"),
        RuntimeError("Failed to reach API at http://127.0.0.1:4200/api"),
        ConcurrencySlotAcquisitionError("Unable to acquire concurrency slots on ['tag:helmsman']"),
        TransientError("git fast-import failed with exit code 128"),
    ],
    ids=["disk", "engine away", "engine never there", "engine gone before a step", "git"],
)
def test_whatever_the_world_does_to_a_loop_is_told_with_the_command_that_goes_on_with_it(error: Exception) -> None:
    with pytest.raises(TransientError, match="continue with: helmsman resume the-loop"), suggesting_resume("the-loop"):
        raise error


@pytest.mark.parametrize(
    "error", [OperatorError("no", remedy="helmsman resume other --set a=1"), Fenced("moved on"), KeyError("x")]
)
def test_a_remedy_that_is_told_already_another_driver_and_a_fault_of_ours_are_told_as_they_are(error: Exception) -> None:
    before = str(error)
    with pytest.raises(type(error)) as raised, suggesting_resume("the-loop"):
        raise error
    assert str(raised.value) == before
    assert raised.value is error
    assert isinstance(error, HelmsmanError | KeyError)


def test_a_full_disk_that_nobody_foresaw_is_told_as_one_and_not_as_a_fault_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_unforeseen(OSError(errno.ENOSPC, "No space left on device", "x")) == 1
    told = capsys.readouterr().err
    assert told.startswith("world error: a file could not be written")
    assert "This is a bug" not in told
