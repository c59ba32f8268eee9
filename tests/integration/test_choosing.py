"""Which loop a command means that names none, and who drives it: the same for every command."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from deployments.choosing import chosen_loop, driver_of
from deployments.show import show_status
from helmsman.errors import OperatorError
from tasks.repository.git import Repository, open_repository
from tasks.repository.loop_context import loop_folder
from tasks.repository.state_ref import write_state
from tasks.system.lock import exclusive_driver
from tests.fakes.repositories import make_repository
from tests.unit import builders

pytestmark = pytest.mark.feature("H4")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With an older loop and a newer one."""
    repository = open_repository(make_repository(tmp_path / "top"))
    for age, name in enumerate(("newer", "older")):
        at = builders.NOW - timedelta(hours=age)
        state = builders.state(loop=name, uid=name, created_at=at, updated_at=at)
        write_state(repository, state, over=None, record=None, subject="start")
    return repository


def status(repository: Repository, loop: str | None, capsys: pytest.CaptureFixture[str]) -> tuple[str, str | None]:
    """Loop and driver that `helmsman status` tells of."""
    show_status(repository.top, loop, as_json=True)
    told = json.loads(capsys.readouterr().out)
    return told["loop"], told["driver"]


def test_it_is_the_latest_where_none_is_driven(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen_loop(repository, None) == "newer"
    assert status(repository, None, capsys) == ("newer", None)


def test_it_is_the_one_that_is_driven_though_another_is_newer(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    with exclusive_driver(loop_folder(repository, "older").lock, "older"):
        assert chosen_loop(repository, None) == "older"
        loop, driver = status(repository, None, capsys)
        found = driver_of(repository, "older")
    assert loop == "older"
    assert found
    assert driver == found
    assert f"process {os.getpid()} " in found


def test_it_is_the_one_that_is_named_whoever_is_driven(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    with exclusive_driver(loop_folder(repository, "older").lock, "older"):
        assert chosen_loop(repository, "newer") == "newer"
        assert status(repository, "newer", capsys) == ("newer", None)


def test_where_no_loop_was_started_both_say_so(tmp_path: Path) -> None:
    empty = open_repository(make_repository(tmp_path / "empty"))
    with pytest.raises(OperatorError, match="no loop was started"):
        chosen_loop(empty, None)
    with pytest.raises(OperatorError, match="no loop was started"):
        show_status(empty.top, None, as_json=True)
