"""Cancelling a loop that another process drives."""

import json
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

from deployments.choosing import is_group
from helmsman.records.result import result_of
from tasks.lock import holder, process_of
from tasks.places import GroupFolder, group_folder, loop_folder
from tasks.repository.git import open_repository
from tasks.repository.state_ref import show_state, state_ref

PATIENCE_SECONDS = 10
"""The agent is stopped within that time; a driver that sleeps between two retries is woken by a signal then."""
LONGEST_SECONDS = 30


def cancel_loop(repo: Path, loop: str, *, as_json: bool) -> int:
    """Ask the driver to stop, wait until it has, and say how the loop stands."""
    repository = open_repository(repo)
    if is_group(repository, loop):
        return _cancel_group(group_folder(repository, loop), loop, as_json=as_json)
    show_state(repository, loop)  # raises where there is none; to stop one needs no trust in what its state says
    folder = loop_folder(repository, loop)
    was_driven = holder(folder.lock) is not None
    if was_driven:
        folder.cancel.touch()
        _wait(folder.lock)
    shown = show_state(repository, loop)
    result = result_of(shown.state, state_ref(loop), shown.unverified)
    still = holder(folder.lock) is not None
    if as_json:
        print(result.model_dump_json())
    else:
        print(_words(loop, was_driven=was_driven, still=still))
    return 1 if still else 0


def _cancel_group(group: GroupFolder, name: str, *, as_json: bool) -> int:
    """All of its loops stop, and then whoever drives it."""
    was_driven = holder(group.lock) is not None
    if was_driven:
        group.cancel.touch()
        _wait(group.lock)
    still = holder(group.lock) is not None
    if as_json:
        print(json.dumps({"group": name, "driven": still}))
    elif not was_driven:
        print(f"nobody drives group {name}; there is nothing to cancel")
    else:
        told = "was asked to stop but has not yet" if still else "has stopped; the command that began it goes on with it"
        print(f"group {name} {told}. Its loops: helmsman status {name}")
    return 1 if still else 0


def _wait(lock: Path) -> None:
    begun, woken = time.monotonic(), False
    while holder(lock) is not None and time.monotonic() - begun < LONGEST_SECONDS:
        if not woken and time.monotonic() - begun > PATIENCE_SECONDS:
            wake(process_of(lock))
            woken = True
        time.sleep(0.1)


def wake(driver: psutil.Process | None) -> None:
    """It may have ended in this moment, or be another user's, who alone may send it a signal."""
    if driver is not None:
        with suppress(psutil.Error):
            driver.send_signal(signal.SIGINT)


def _words(loop: str, *, was_driven: bool, still: bool) -> str:
    if not was_driven:
        return f"nobody drives loop {loop}; there is nothing to cancel"
    if still:
        return f"loop {loop} was asked to stop but has not yet; look with: helmsman status {loop}"
    return f"loop {loop} has stopped; its work is kept. Go on with: helmsman resume {loop}"
