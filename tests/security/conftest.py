"""One engine for all exploits of a worker that drive a loop."""

from collections.abc import Generator

import pytest

from tests.fakes.prefect_server import PrefectServer


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Generator[PrefectServer]:
    with PrefectServer.running(tmp_path_factory.mktemp("prefect-server")) as server:
        yield server
