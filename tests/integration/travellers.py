"""Two clones of one remote, for a loop that travels between them."""

from pathlib import Path

import pytest

from tasks.loop import remote_handover
from tasks.repository.git import Repository
from tests.fakes.repositories import make_repository, sh
from tests.fakes.two_clones import clone_remote


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(remote_handover, "AGAIN_SECONDS", (0.0,))
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    make_repository(tmp_path / "origin")
    sh(tmp_path, "clone", "--quiet", "--bare", "origin", "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def one(remote: Path) -> Repository:
    return clone_remote(remote, "one")


@pytest.fixture
def two(remote: Path) -> Repository:
    return clone_remote(remote, "two")
