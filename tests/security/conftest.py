"""One engine for all exploits of a worker that drive a loop."""

from collections.abc import Generator

import pytest

from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import unique_tag


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Generator[PrefectServer]:
    with PrefectServer.running(tmp_path_factory.mktemp("prefect-server")) as server:
        yield server


@pytest.fixture
def tag() -> Generator[str]:
    with unique_tag() as tag:
        yield tag
