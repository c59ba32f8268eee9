"""Loops to kill and to compare, and a team's engine."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.loop_bench import Bench, Ending, bench
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.processes import wait_for_end
from tests.fakes.team_engine import Team, run_team


@dataclass(frozen=True)
class Undisturbed:
    """A loop that ran to its end in one process."""

    ending: Ending
    calls: dict[str, int]
    """Calls of Python functions in each step of the first iteration."""


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, prefect_server: PrefectServer) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    with bench(folder, prefect_server.url) as made:
        run = wait_for_end(made.driver("count", str(folder / "calls.json")))
        assert run.exit_code == 0, run
        assert made.is_quiet(), made.processes()
        return Undisturbed(made.ending(), json.loads((folder / "calls.json").read_text()))


@pytest.fixture
def loop_bench(tmp_path: Path, prefect_server: PrefectServer) -> Generator[Bench]:
    with bench(tmp_path, prefect_server.url) as made:
        yield made


@pytest.fixture
def embedded_bench(tmp_path: Path) -> Generator[Bench]:
    """One whose loop starts an engine of its own."""
    with bench(tmp_path, None) as made:
        yield made


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Team]:
    """For the tests of the group `team`: they run on one worker of xdist, and the engine comes up once."""
    with run_team(tmp_path_factory.mktemp("team")) as made:
        yield made
