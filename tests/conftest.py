"""Fixtures for every test, and how xdist hands tests to its workers."""

import os
import re
import signal
import time
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

from tasks.system import secrets
from tests.fakes.prefect_database import copy_database, share_database
from tests.fakes.prefect_server import PrefectServer
from tests.fakes.requirements import count_skips, need, needs_of
from tests.fakes.warm_process import end_fork_server

ROOT = Path(__file__).parent.parent
GROUP = re.compile(r'xdist_group\("(\w+)"\)')
OPERATOR_PREFIXES = ("HELMSMAN_", "PREFECT_", "ANTHROPIC_", "CLAUDE")
KEPT = {"HELMSMAN_TAG"}  # marks what these tests leave behind for whoever started them
UNTIL = float(os.environ.get("TEST_UNTIL", "inf"))
"""Seconds since 1970 after which no slow test starts."""
SLOW_FOLDERS = ("e2e", "flows", "integration", "security")
"""Folders whose tests take seconds each, slowest first. All others take milliseconds and fill the gaps."""

# A test sets what it needs. An operator's settings would change what it sees, and credentials might be spent.
for name in [name for name in os.environ if name.startswith(OPERATOR_PREFIXES) and name not in KEPT]:
    del os.environ[name]

# On a shared machine, the time of one example measures the neighbours. Every run tries other examples, and `make fuzz` many more.
settings.register_profile("steady", deadline=None, max_examples=50)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Generator[None]:
    """A test run in the background of a script ignores SIGINT; processes that tests start must not inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def own_secrets() -> Generator[None]:
    """Forget secrets that a test registered."""
    before = dict(secrets.registered)
    yield
    secrets.registered.clear()
    secrets.registered.update(before)


@pytest.fixture(scope="session", autouse=True)
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One database for all Prefect servers of all workers, whose folders are siblings."""
    own = tmp_path_factory.getbasetemp()
    share_database(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session", autouse=True)
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the keys that sign states out of the operator's own folder."""
    os.environ.setdefault("HELMSMAN_HOME", str(tmp_path_factory.mktemp("home-of-helmsman")))


@pytest.fixture(autouse=True)
def own_configuration() -> Generator[None]:
    """Remove the operator's configuration that a test wrote into the shared folder."""
    yield
    Path(os.environ["HELMSMAN_HOME"], "config.toml").unlink(missing_ok=True)


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[PrefectServer]:
    """One for all tests of a worker that drive loops by the command line."""
    with PrefectServer.running(tmp_path_factory.mktemp("prefect-server")) as server:
        yield server


class FastTestsByFile(LoadGroupScheduling):
    """Hand out fast tests by the file, as scheduling one costs more than running it; slow tests singly, groups whole."""

    def _split_scope(self, nodeid: str) -> str:
        return schedule_unit(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling | None:
    """For `--dist loadgroup`: hand tests out in the order of collection."""
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return FastTestsByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker, start long tests early, so that none is waited for at the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: start_order(item.nodeid, in_group=item.get_closest_marker("xdist_group") is not None))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("slow") and time.time() > UNTIL:
        pytest.skip("TEST_UNTIL has passed")
    need(*needs_of(item))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each missing program once, not for each test that needs it."""
    if counts := count_skips(terminalreporter.getreports("skipped")):
        terminalreporter.line(f"skipped because missing: {counts}", yellow=True)


def pytest_sessionfinish() -> None:
    """Stop the process that forks commands."""
    end_fork_server()


def schedule_unit(nodeid: str) -> str:
    """What a test is handed out with: its file's group, else its file if the tests are fast, else itself."""
    file = nodeid.partition("::")[0]
    return group_of(file) or (file if start_order(nodeid) > len(SLOW_FOLDERS) else nodeid)


@cache
def group_of(file: str) -> str:
    """All flows are one group, as they share an engine; else the group that a file names.

    xdist's own way, a suffix of the test's name, is lost on pytest 9.2.
    """
    path = ROOT / file
    found = GROUP.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return "flows" if file.startswith("tests/flows/") else found[1] if found else ""


def start_order(nodeid: str, *, in_group: bool = False) -> int:
    """Groups first, then slow folders, then all others."""
    folder = nodeid.split("/")[1]
    place = SLOW_FOLDERS.index(folder) if folder in SLOW_FOLDERS else len(SLOW_FOLDERS)
    return 0 if in_group or folder == "flows" else 1 + place


@pytest.fixture(scope="session")
def engine_url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """One embedded engine for all tests of this process: it starts slowly, and Prefect would use the first of two."""
    from tasks.engine.embedded import engine

    home = tmp_path_factory.mktemp("engine")
    copy_database(home / "prefect")
    before = dict(os.environ)
    os.environ |= {"PREFECT_HOME": str(home / "prefect"), "HELMSMAN_HOME": str(home / "state")}
    os.environ.pop("PREFECT_API_URL", None)
    with engine() as engine_is_up:
        url = engine_is_up()
        from prefect.context import refresh_global_settings_context

        from tasks.engine.runs import flush, without_heartbeats

        refresh_global_settings_context()  # Prefect may have been imported, and its settings read, before
        with without_heartbeats():
            yield url
        flush()
    os.environ.clear()
    os.environ.update(before)
