"""A full or read-only disk: a clear transient error, and existing files stay intact."""

import errno
import os
import resource
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError

from deployments.errors import report_unforeseen
from deployments.run import suggesting_resume
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, TransientError
from helmsman.records.events import StepStarted
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.state_ref import Fenced, read_state, write_state
from tasks.system.faults import raising_transient_errors
from tasks.system.journal import journal_to, listening, publish
from tasks.system.process import appending, run
from tests.fakes.repositories import loop_state, make_repository, sh

pytestmark = pytest.mark.feature("X4")


@pytest.fixture
def small(tmp_path: Path) -> Generator[Path]:
    """A disk of four megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def repository(small: Path) -> Repository:
    return open_repository(make_repository(small / "repo"))


def fill(disk: Path) -> Path:
    """Until not one byte more can be written."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return filler


@pytest.mark.needs("disks")
def test_a_failed_state_write_keeps_the_last_state_and_succeeds_once_there_is_space(small: Path, repository: Repository) -> None:
    state = loop_state(sh(repository.top, "rev-parse", "HEAD"))
    first = write_state(repository, state, over=None, record=None, subject="start")
    ref = f"refs/helmsman/{state.loop}/state"
    filler = fill(small)
    later = state.model_copy(update={"iteration": 1})
    with pytest.raises(HelmsmanError, match="space"):
        write_state(repository, later, over=first, record=None, subject="next")
    assert read_ref(repository.common, ref) == first
    assert read_state(repository, state.loop)[0] == state
    filler.unlink()
    write_state(repository, later, over=first, record=None, subject="next")
    assert read_state(repository, state.loop)[0].iteration == 1


@pytest.mark.needs("disks")
def test_a_journal_without_room_stops_nothing(small: Path) -> None:
    fill(small)
    with listening(journal_to(small / "journal.jsonl")):
        for step in ("orient", "checks"):
            publish(StepStarted(step=step, iteration=1, attempt=1))


@pytest.mark.needs("disks")
def test_output_that_cannot_be_kept_is_trouble_of_the_world(small: Path) -> None:
    (small / "output").touch()
    fill(small)
    with pytest.raises(TransientError, match="free space"), appending(small / "output") as write:
        write(b"a" * 10_000)


@pytest.mark.needs("disks")
def test_a_repository_that_may_only_be_read_is_a_clear_error(small: Path, repository: Repository) -> None:
    state = loop_state(sh(repository.top, "rev-parse", "HEAD"))
    first = write_state(repository, state, over=None, record=None, subject="start")
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    with pytest.raises(HelmsmanError, match="Read-only file system"):
        write_state(repository, state.model_copy(update={"iteration": 1}), over=first, record=None, subject="next")
    assert read_state(repository, state.loop) == (state, first)
    assert not os.access(small, os.W_OK)


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
        (tmp_path / "call.json").read_bytes()


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
def test_a_transient_error_names_the_command_that_resumes_the_loop(error: Exception) -> None:
    with pytest.raises(TransientError, match="continue with: helmsman resume the-loop"), suggesting_resume("the-loop"):
        raise error


def test_ctrl_c_before_a_loop_began_is_told_with_the_command_that_goes_on_with_it() -> None:
    with pytest.raises(Cancelled, match="continue with: helmsman resume the-loop"), suggesting_resume("the-loop"):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "error", [OperatorError("no", remedy="helmsman resume other --set a=1"), Fenced("moved on"), KeyError("x")]
)
def test_errors_with_a_remedy_and_unexpected_errors_are_not_changed(error: Exception) -> None:
    before = str(error)
    with pytest.raises(type(error)) as raised, suggesting_resume("the-loop"):
        raise error
    assert str(raised.value) == before
    assert raised.value is error
    assert isinstance(error, HelmsmanError | KeyError)


def test_an_unexpected_full_disk_is_reported_as_a_full_disk(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_unforeseen(OSError(errno.ENOSPC, "No space left on device", "x")) == 1
    told = capsys.readouterr().err
    assert told.startswith("world error: a file could not be written")
    assert "This is a bug" not in told
