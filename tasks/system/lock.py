"""Advisory locks that the kernel releases when their holder dies. Mainly used for one driver per loop."""

import fcntl
import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from helmsman.errors import OperatorError
from tasks.system.files import locked_within
from tasks.system.paths import DrivenFolder

PATIENCE_SECONDS = 0.5  # a reader of the holder takes the lock for an instant, which must not look like a driver
_UNKNOWN = {"host": "unknown", "process": "unknown", "since": "just now"}


class DrivenElsewhere(OperatorError):  # noqa: N818 - a state, as in Fenced
    """Another process drives the loop."""


@contextmanager
def exclusive_driver(lock: Path, loop: str, remedy: str = "") -> Generator[None]:
    """Hold the loop's lock during the block. Raises DrivenElsewhere with the holder if another process has it.

    `remedy`: for locks of other things than a loop; `loop` then describes the thing.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not locked_within(handle, PATIENCE_SECONDS):
            driver = holder(lock) or _UNKNOWN
            raise DrivenElsewhere(
                f"{loop if remedy else f'loop {loop}'} already has a driver",
                found=f"process {driver.get('process')} on {driver.get('host')}, since {driver.get('since')}",
                remedy=remedy or f"watch it with `helmsman status {loop}`, or end it with `helmsman cancel {loop}`",
            )
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"host": socket.gethostname(), "process": os.getpid(), "since": since}).encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def exclusive_folder(folder: DrivenFolder, name: str, remedy: str = "") -> Generator[None]:
    """Like `exclusive_driver` for a folder; also clears an earlier cancel."""
    with exclusive_driver(folder.lock, name, remedy):
        folder.cancel.unlink(missing_ok=True)
        yield


def holder(lock: Path) -> dict[str, Any] | None:
    """Current driver of the loop, or None."""
    try:
        handle = os.open(lock, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(ValueError, TypeError):
            return dict(json.loads(os.pread(handle, 4096, 0)))
        return _UNKNOWN
    else:
        return None
    finally:
        os.close(handle)


def process_of(lock: Path) -> psutil.Process | None:
    """The driver's process, if it runs on this machine."""
    driver = holder(lock)
    if not driver or driver.get("host") != socket.gethostname():
        return None
    try:
        return psutil.Process(int(driver["process"]))
    except (psutil.NoSuchProcess, KeyError, ValueError):
        return None
