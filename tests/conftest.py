"""What holds for every test, and how the workers of xdist share them out."""

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
from tests.fakes.prefect_database import share_database
from tests.fakes.requirements import count_skips, need, needs_of
from tests.fakes.warm_process import end_fork_server

ROOT = Path(__file__).parent.parent
GROUP = re.compile(r'xdist_group\("(\w+)"\)')
OPERATORS_OWN = ("HELMSMAN_", "PREFECT_", "ANTHROPIC_", "CLAUDE")
KEPT = {"HELMSMAN_TAG"}  # by it, whoever started these tests finds what they leave behind
UNTIL = float(os.environ.get("TEST_UNTIL", "inf"))
"""Seconds since 1970 after which no slow test begins."""
DEAREST_FIRST = ("e2e", "flows", "integration", "security")
"""Folders whose tests take seconds each. Those of all others take milliseconds, and fill up what is left."""

# A test says for itself what it wants. An operator's settings would change what it sees, and credentials might be spent.
for name in [name for name in os.environ if name.startswith(OPERATORS_OWN) and name not in KEPT]:
    del os.environ[name]

settings.register_profile("steady", deadline=None)  # on a shared machine, the time of one example measures the neighbours
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Generator[None]:
    """A test run in the background of a script ignores Ctrl-C, and so would what it starts and waits for."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def secrets_of_its_own() -> Generator[None]:
    """What one test has registered as a secret is none to the next."""
    before = dict(secrets.registered)
    yield
    secrets.registered.clear()
    secrets.registered.update(before)


@pytest.fixture(scope="session", autouse=True)
def one_migrated_database(tmp_path_factory: pytest.TempPathFactory) -> None:
    """For all Prefect servers of all workers, whose folders lie beside each other."""
    own = tmp_path_factory.getbasetemp()
    share_database(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session", autouse=True)
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever signs a loop's state keeps a key there; the operator's own folder is none of a test's business."""
    os.environ.setdefault("HELMSMAN_HOME", str(tmp_path_factory.mktemp("home-of-helmsman")))


@pytest.fixture(autouse=True)
def own_configuration() -> Generator[None]:
    """What one test has set as the operator, in the folder that all tests of a process share, holds for no other."""
    yield
    Path(os.environ["HELMSMAN_HOME"], "config.toml").unlink(missing_ok=True)


class CheapOnesByTheFile(LoadGroupScheduling):
    """One by one, handing out cheap tests costs more than they do. Dear ones go one by one, and groups whole."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling | None:
    """For `--dist loadgroup`. Tests are handed out in the order in which they were collected."""
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return CheapOnesByTheFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker, what is long begins early, so that nobody waits for it in the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: turn(item.nodeid, in_group=item.get_closest_marker("xdist_group") is not None))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("slow") and time.time() > UNTIL:
        pytest.skip("no time is left for it: TEST_UNTIL is over")
    need(*needs_of(item))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Each program that is missing once, instead of once for each test that needs it."""
    if counts := count_skips(terminalreporter.getreports("skipped")):
        terminalreporter.line(f"skipped, because this machine lacks: {counts}", yellow=True)


def pytest_sessionfinish() -> None:
    """The process that forked commands has nothing more to do."""
    end_fork_server()


def unit_of(nodeid: str) -> str:
    """With what a test is handed out: the group that its file names, else its file where it is cheap, else itself."""
    file = nodeid.partition("::")[0]
    return group_of(file) or (file if turn(nodeid) > len(DEAREST_FIRST) else nodeid)


@cache
def group_of(file: str) -> str:
    """The group that stands in a file; xdist's own way of telling it, by a test's name, is lost on pytest 9.2."""
    path = ROOT / file
    found = GROUP.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return found[1] if found else ""


def turn(nodeid: str, *, in_group: bool = False) -> int:
    """Groups come first, then the dear folders, then all others."""
    folder = nodeid.split("/")[1]
    place = DEAREST_FIRST.index(folder) if folder in DEAREST_FIRST else len(DEAREST_FIRST)
    return 0 if in_group else 1 + place
