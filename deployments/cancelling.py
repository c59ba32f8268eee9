"""Cancelling a loop that another process drives."""

import signal
import time
from pathlib import Path

from helmsman.records.result import result_of
from tasks.git import open_repository
from tasks.lock import holder, process_of
from tasks.places import loop_folder
from tasks.state_ref import read_state, state_ref

PATIENCE_SECONDS = 10
"""The agent is stopped within that time; a driver that sleeps between two retries is woken by a signal then."""
LONGEST_SECONDS = 30


def cancel_loop(repo: Path, loop: str, *, as_json: bool) -> int:
    """Ask the driver to stop, wait until it has, and say how the loop stands."""
    repository = open_repository(repo.absolute())
    read_state(repository, loop)
    folder = loop_folder(repository, loop)
    was_driven = holder(folder.lock) is not None
    if was_driven:
        folder.cancel.touch()
        _wait(folder.lock)
    result = result_of(read_state(repository, loop)[0], state_ref(loop))
    still = holder(folder.lock) is not None
    if as_json:
        print(result.model_dump_json())
    else:
        print(_words(loop, was_driven=was_driven, still=still))
    return 1 if still else 0


def _wait(lock: Path) -> None:
    begun, woken = time.monotonic(), False
    while holder(lock) is not None and time.monotonic() - begun < LONGEST_SECONDS:
        if not woken and time.monotonic() - begun > PATIENCE_SECONDS:
            driver = process_of(lock)
            if driver is not None:
                driver.send_signal(signal.SIGINT)
            woken = True
        time.sleep(0.1)


def _words(loop: str, *, was_driven: bool, still: bool) -> str:
    if not was_driven:
        return f"nobody drives loop {loop}; there is nothing to cancel"
    if still:
        return f"loop {loop} was asked to stop but has not yet; look with: helmsman status {loop}"
    return f"loop {loop} has stopped; its work is kept. Go on with: helmsman resume {loop}"
