"""One PostgreSQL server for all tests of a process, and a place for a store on either database."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_line import CommandLine, offline_command_line
from tests.fakes.postgres import Postgres, server_programs
from tests.fakes.processes import unique_tag
from tests.fakes.repositories import LoopWork, make_repository, start_loop
from tests.fakes.requirements import need


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Worktrees and clean checkouts of tests do not lie in the state folder of whoever runs them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HELMSMAN_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Skips the test where the programs are not installed."""
    need("postgres")
    found = server_programs()
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:  # a socket's path must be short
        server = Postgres(found, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    monkeypatch.setenv("HELMSMAN_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def private_umask() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def helmsman(tmp_path: Path) -> CommandLine:
    """In an empty repository, with nothing that drives a loop."""
    make_repository(tmp_path / "repository", {})
    return offline_command_line(tmp_path)


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    """A loop in its worktree, at the start of its first iteration."""
    return start_loop(make_repository(tmp_path / "top"), tmp_path / "tree")


@pytest.fixture
def tag() -> Iterator[str]:
    with unique_tag() as tag:
        yield tag


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """An empty database."""
    return postgres.database()


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store that is not there yet, on either database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'memory' / 'memory.db'}"
    return str(request.getfixturevalue("postgres_url"))
