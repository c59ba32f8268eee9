"""One driver a loop: the second is told who the first is, and the dead hold nothing."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from helmsman.errors import OperatorError
from tasks.system.lock import DrivenElsewhere, exclusive_driver, exclusive_folder, holder, process_of
from tasks.system.paths import DrivenFolder

pytestmark = pytest.mark.feature("E10")

ROOT = Path(__file__).parents[2]
HOLD = """
import subprocess, sys, time
from pathlib import Path
from tasks.system.lock import exclusive_driver
with exclusive_driver(Path(sys.argv[1]), "the-loop"):
    child = subprocess.Popen(["sleep", "300"], start_new_session=True)
    print(child.pid, flush=True)
    time.sleep(300)
"""
POLL = """
import sys
from pathlib import Path
from tasks.system.lock import holder
print("ready", flush=True)
while True:
    holder(Path(sys.argv[1]))
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "er" / "lock"


@contextmanager
def running(code: str, lock: Path) -> "Generator[tuple[subprocess.Popen[str], str]]":
    """A process of its own, and the first line that it prints."""
    command, environment = [sys.executable, "-c", code, str(lock)], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def refusal(lock: Path) -> OperatorError:
    """What a second driver is told."""
    with pytest.raises(OperatorError, match="already has a driver") as caught, exclusive_driver(lock, "the-loop"):
        pytest.fail("two drivers")
    return caught.value


@pytest.fixture
def driver(lock: Path) -> "Generator[subprocess.Popen[str]]":
    """Another process that drives the loop and has a child that outlives it."""
    with running(HOLD, lock) as (process, child):
        yield process
    if psutil.pid_exists(int(child)):
        os.kill(int(child), signal.SIGKILL)


def test_a_loop_without_a_driver_has_no_lock_holder(lock: Path) -> None:
    assert holder(lock) is None
    with exclusive_driver(lock, "the-loop"):
        assert holder(lock) is not None
    assert holder(lock) is None
    assert process_of(lock) is None


def test_a_second_driver_is_refused_with_the_name_of_the_first(lock: Path, driver: "subprocess.Popen[str]") -> None:
    told = refusal(lock)
    assert f"process {driver.pid} on " in told.found
    assert "helmsman cancel the-loop" in told.remedy
    found, process = holder(lock), process_of(lock)
    assert found
    assert process
    assert found["process"] == process.pid == driver.pid


def test_two_drivers_in_one_process_are_two_drivers(lock: Path) -> None:
    with exclusive_driver(lock, "the-loop"):
        assert f"process {os.getpid()} on " in refusal(lock).found


def test_a_cancel_for_the_previous_driver_is_discarded(tmp_path: Path) -> None:
    folder = DrivenFolder(tmp_path)
    folder.cancel.touch()
    with exclusive_folder(folder, "auth-fix"):
        assert not folder.cancel.exists()
        folder.cancel.touch()
        with pytest.raises(DrivenElsewhere), exclusive_folder(folder, "auth-fix"):
            raise AssertionError
        assert folder.cancel.exists()


def test_a_driver_that_was_killed_holds_nothing_though_its_child_lives_on(lock: Path, driver: "subprocess.Popen[str]") -> None:
    driver.kill()
    driver.wait()
    assert holder(lock) is None
    with exclusive_driver(lock, "the-loop"):
        found = holder(lock)
        assert found
        assert found["process"] == os.getpid()


def test_a_briefly_shared_lock_is_waited_for(lock: Path) -> None:
    with exclusive_driver(lock, "the-loop"):
        pass
    handle = os.open(lock, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    threading.Timer(0.05, os.close, [handle]).start()
    with exclusive_driver(lock, "the-loop"):
        assert holder(lock)


def test_those_who_ask_for_the_holder_all_the_time_do_not_look_like_one(lock: Path) -> None:
    with running(POLL, lock), running(POLL, lock):
        for _ in range(100):
            with exclusive_driver(lock, "the-loop"):
                pass


@pytest.mark.parametrize("content", ["", "[]", '{"host": 5}'])
def test_a_lock_with_an_unreadable_signature_is_still_a_lock(lock: Path, driver: "subprocess.Popen[str]", content: str) -> None:
    lock.write_text(content)
    assert holder(lock) is not None
    assert process_of(lock) is None
    assert refusal(lock)


def test_a_holder_on_another_machine_is_named_and_is_no_process_of_ours(lock: Path, driver: "subprocess.Popen[str]") -> None:
    lock.write_text(json.dumps({"host": "elsewhere", "process": driver.pid, "since": "today"}))
    assert process_of(lock) is None
    assert f"process {driver.pid} on elsewhere, since today" in refusal(lock).found
