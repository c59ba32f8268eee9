"""Which loop a flow run drives that names none: its own, and the same one again."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from helmsman.records.request import LoopRequest
from tasks.loop.start import open_loop
from tests.fakes.repositories import make_repository

pytestmark = pytest.mark.feature("D9")

NOW = datetime(2026, 11, 22, tzinfo=UTC)
FIRINGS = "0193570a-3c00-7aaa-8000-000000000001", "0193570a-3c00-7aaa-8000-000000000002"
"""Ids as the server's scheduler makes them: UUIDv7, of one millisecond."""


def opened(repository: Path, run: str) -> str:
    return open_loop(LoopRequest(repository=str(repository), goal="an answer", checks=("true",)), run, NOW).loop


def test_runs_of_one_moment_drive_a_loop_each_and_a_run_that_is_started_again_drives_its_own(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "top")
    first, second = (opened(repository, run) for run in FIRINGS)
    assert first != second
    assert [opened(repository, run) for run in FIRINGS] == [first, second]


def test_a_loop_with_the_same_name_of_another_run_is_not_touched(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "top")
    name = opened(make_repository(tmp_path / "elsewhere"), FIRINGS[0])
    open_loop(LoopRequest(repository=str(repository), goal="mine", checks=("true",), loop=name), "another run", NOW)
    own = opened(repository, FIRINGS[0])
    assert own.startswith(name)
    assert own != name
