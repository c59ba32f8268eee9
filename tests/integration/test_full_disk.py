"""A disk without room, and one that may only be read: a clear error, and what was there before is still there."""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from helmsman.errors import HelmsmanError, TransientError
from helmsman.records.events import StepStarted
from tasks.repository.git import Repository, open_repository, read_ref
from tasks.repository.state_ref import read_state, write_state
from tasks.system.journal import journal_to, listening, publish
from tasks.system.process import appending
from tests.fakes.repositories import loop_state, make_repository, sh

pytestmark = [pytest.mark.feature("X4"), pytest.mark.needs("disks")]


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


def test_a_state_that_cannot_be_written_leaves_the_last_one_and_goes_on_once_there_is_room(
    small: Path, repository: Repository
) -> None:
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


def test_a_journal_without_room_stops_nothing(small: Path) -> None:
    fill(small)
    with listening(journal_to(small / "journal.jsonl")):
        for step in ("orient", "checks"):
            publish(StepStarted(step=step, iteration=1, attempt=1))


def test_output_that_cannot_be_kept_is_trouble_of_the_world(small: Path) -> None:
    (small / "output").touch()
    fill(small)
    with pytest.raises(TransientError, match="free space"), appending(small / "output") as write:
        write(b"a" * 10_000)


def test_a_repository_that_may_only_be_read_is_a_clear_error(small: Path, repository: Repository) -> None:
    state = loop_state(sh(repository.top, "rev-parse", "HEAD"))
    first = write_state(repository, state, over=None, record=None, subject="start")
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    with pytest.raises(HelmsmanError, match="Read-only file system"):
        write_state(repository, state.model_copy(update={"iteration": 1}), over=first, record=None, subject="next")
    assert read_state(repository, state.loop) == (state, first)
    assert not os.access(small, os.W_OK)
