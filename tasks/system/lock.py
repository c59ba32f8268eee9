"""Advisory locks that the kernel frees when their holder dies, however it dies. Above all: one driver a loop."""

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

PATIENCE_SECONDS = 0.5  # whoever asks for the holder takes the lock for an instant; that must not look like a driver
_UNKNOWN = {"host": "unknown", "process": "unknown", "since": "just now"}


class DrivenElsewhere(OperatorError):  # noqa: N818 - what is found, as with Fenced
    """Another process drives the loop."""


@contextmanager
def exclusive_driver(lock: Path, loop: str, remedy: str = "") -> Generator[None]:
    """Hold the loop while the block runs. Raises DrivenElsewhere with the holder's name when somebody else does.

    `remedy`: what to do then about something else than a loop; `loop` says in words what that is.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not locked_within(handle, PATIENCE_SECONDS):
            by = holder(lock) or _UNKNOWN
            raise DrivenElsewhere(
                f"{loop if remedy else f'loop {loop}'} already has a driver",
                found=f"process {by.get('process')} on {by.get('host')}, since {by.get('since')}",
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
    """The same for what has a folder: from the first moment that we hold it, a cancel is meant for us."""
    with exclusive_driver(folder.lock, name, remedy):
        folder.cancel.unlink(missing_ok=True)
        yield


def holder(lock: Path) -> dict[str, Any] | None:
    """Who drives the loop now, or None when nobody does."""
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
    """The driver's process, when it lives on this machine."""
    found = holder(lock)
    if not found or found.get("host") != socket.gethostname():
        return None
    try:
        return psutil.Process(int(found["process"]))
    except (psutil.NoSuchProcess, KeyError, ValueError):
        return None
