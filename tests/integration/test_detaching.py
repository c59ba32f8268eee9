"""`--detach`: a driver in a separate session, and what the starting command reports."""

import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from deployments.run import NO_MESSAGE, RUNNING, SILENT, read_status
from tasks.agents.catalogue import LoopSettings
from tasks.loop.start import create_loop
from tasks.loopback import LoopbackServer, serving
from tasks.repository.git import open_repository
from tasks.repository.loop_context import exclusive_checkout, loop_folder
from tasks.system.environment import SESSION_VARIABLES
from tasks.system.lock import exclusive_driver
from tests.fakes.command_line import CommandLine, offline_command_line, read_object
from tests.fakes.processes import eventually, processes
from tests.fakes.repositories import make_repository
from tests.unit.builders import NOW, config

pytestmark = [pytest.mark.slow, pytest.mark.feature("A6")]

RUN = ("run", "Write the answer", "--check", "true", "--name", "loop", "--repo", "repository", "--detach")
BROKEN = {"PREFECT_API_URL": "http://127.0.0.1:1/api", "PREFECT_API_REQUEST_TIMEOUT": "soon"}
"""Settings with which Prefect does not even import."""


@pytest.fixture
def helmsman(tmp_path: Path) -> CommandLine:
    make_repository(tmp_path / "repository", {})
    return offline_command_line(tmp_path, warm=False)


# --- what is heard of a driver ------------------------------------------------------------------------------------


def message_from(word: bytes | None) -> str:
    """What is heard of a driver that says this and has gone then; None: it keeps silent."""
    ours, theirs = os.pipe()
    if word is not None:
        os.write(theirs, word)
        os.close(theirs)
    try:
        return read_status(ours, 0.01 if word is None else 10)
    finally:
        if word is None:
            os.close(theirs)


@pytest.mark.parametrize(("word", "heard"), [(b"+\n", RUNNING), (b"130\n", "130"), (b"", NO_MESSAGE), (None, SILENT)])
def test_a_driver_runs_or_has_ended_or_exited_or_is_silent(word: bytes | None, heard: str) -> None:
    assert message_from(word) == heard


# --- a driver that cannot start -----------------------------------------------------------------------------------


def test_a_driver_that_cannot_start_is_reported_with_its_exit_status_and_output(helmsman: CommandLine) -> None:
    told = helmsman.run(*RUN, "--json", **BROKEN)
    assert told.exit_code == 1
    assert "soon" in told.errors
    assert "This is a bug in Helmsman" in told.errors
    result = read_object(told.output)
    assert (result["loop"], result["outcome"], result["driver"]) == ("loop", None, None)
    assert "soon" in Path(result["output"]).read_text("utf-8")


def test_a_taken_name_is_rejected_with_the_driver_and_the_remedy(helmsman: CommandLine) -> None:
    repository = open_repository(helmsman.repository)
    create_loop(repository, LoopSettings(config("make it so"), {}), "loop", NOW)
    assert "what to do: continue with: helmsman resume loop" in helmsman.run(*RUN).errors
    with exclusive_driver(loop_folder(repository, "loop").lock, "loop"):
        told = helmsman.run(*RUN)
    assert told.exit_code == 2
    assert f"driven by process {os.getpid()}" in told.errors
    assert "what to do: watch it: helmsman watch loop" in told.errors


def test_a_checkout_in_which_another_loop_works_is_rejected_and_no_loop_is_made(helmsman: CommandLine) -> None:
    repository = open_repository(helmsman.repository)
    with exclusive_checkout(repository):
        told = helmsman.run(*RUN, "--in-place")
    assert told.exit_code == 2
    assert f"the checkout {repository.top} already has a driver" in told.errors
    assert "leave --in-place out" in told.errors
    assert "no loop was started" in helmsman.run("list", "--repo", "repository").output


# --- a driver that goes on ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Engine:
    """A Prefect server that is not up yet: it hangs up on whoever asks."""

    url: str
    asked: threading.Semaphore


@contextmanager
def slow_engine() -> Generator[Engine]:
    asked = threading.Semaphore(0)

    def hang_up(connection: socket.socket, *_: object) -> None:
        connection.recv(65536)
        asked.release()

    with serving(LoopbackServer(("127.0.0.1", 0), hang_up), "slow-engine") as server:
        yield Engine(f"http://127.0.0.1:{server.server_address[1]}/api", asked)


def drivers(helmsman: CommandLine) -> list[psutil.Process]:
    found = processes("HOME", helmsman.variables["HOME"])
    return [process for process in found if "deployments.driver" in process.cmdline()]


def test_a_driver_lives_on_when_everything_below_and_above_the_process_that_started_it_is_ended(helmsman: CommandLine) -> None:
    session = dict.fromkeys(SESSION_VARIABLES, "of the session")
    key = {"HELMSMAN_STATE_KEY": "of the operator, on every machine"}
    with slow_engine() as engine:
        starting = helmsman.start(*RUN, PREFECT_API_URL=engine.url, **session, **key)
        assert engine.asked.acquire(timeout=60)
        (driver,) = drivers(helmsman)
        try:
            tree = psutil.Process(starting.pid)
            for process in (*tree.children(recursive=True), tree):
                process.send_signal(signal.SIGTERM)
            starting.communicate(timeout=60)
            assert driver.is_running()
            while engine.asked.acquire(blocking=False):
                """What it asked before counts for nothing."""
            assert engine.asked.acquire(timeout=60)  # it goes on asking
            assert os.getsid(driver.pid) not in {os.getsid(0), driver.pid}
            assert not [name for name in SESSION_VARIABLES if driver.environ().get(name)]
            assert key.items() <= driver.environ().items()  # it signs the state with it, as whoever started it did
        finally:
            with suppress(psutil.NoSuchProcess):
                driver.kill()
        assert eventually(lambda: not drivers(helmsman))


def is_starting_driver(command: int) -> bool:
    """Whether the command has just begun to start one, which takes a second until that one is nobody's child."""
    with suppress(psutil.Error):
        return any("deployments.driver" in child.cmdline() for child in psutil.Process(command).children())
    return False


def test_ctrl_c_while_waiting_reports_that_the_loop_continues_and_it_does(helmsman: CommandLine) -> None:
    with slow_engine() as engine:
        starting = helmsman.start(*RUN, PREFECT_API_URL=engine.url)
        # the first takes a second and may be missed on a busy machine
        assert eventually(lambda: is_starting_driver(starting.pid) or bool(drivers(helmsman)), 60)
        try:
            starting.send_signal(signal.SIGINT)  # in a terminal all of its session but none of the driver's get it
            _, errors = starting.communicate(timeout=60)
            assert starting.returncode == 130
            assert "loop loop continues in the background; end it with: helmsman cancel loop" in errors
            assert engine.asked.acquire(timeout=60)
            assert drivers(helmsman)
        finally:
            for driver in drivers(helmsman):
                with suppress(psutil.NoSuchProcess):
                    driver.kill()
        assert eventually(lambda: not drivers(helmsman))
