"""Translate system errors of a broken or full disk, or of an exhausted machine, into transient errors."""

import errno
import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from helmsman.errors import TransientError

if TYPE_CHECKING:
    from helmsman.config import RetryConfig

R = TypeVar("R")

LONGEST_DELAY = 300  # seconds between retries
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
EXHAUSTION_ERRORS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""No more processes or open files are possible until others end."""
MACHINE_MESSAGES = tuple(map(os.strerror, (*DISK_ERRORS, *EXHAUSTION_ERRORS)))
"""The same as messages of a failed program; they do not concern its input."""
EXHAUSTION_PROBLEM = "the limit of processes or open files is reached"
EXHAUSTION_REMEDY = "free processes or memory, then resume"  # remedy


def transient_error(error: BaseException) -> TransientError | None:
    """Translate an error of a disk or of an exhausted machine; None for other errors."""
    if not isinstance(error, OSError):
        return None
    found = f"{error.strerror}: {error.filename}" if error.filename else str(error)
    if error.errno in DISK_ERRORS:
        return TransientError("a file could not be written", found=found, remedy="free space on that disk, or make it writable")
    if error.errno in EXHAUSTION_ERRORS:
        return TransientError(EXHAUSTION_PROBLEM, found=found, remedy=EXHAUSTION_REMEDY)
    return None


@contextmanager
def raising_transient_errors() -> Generator[None]:
    """Raise TransientError for errors of a disk or an exhausted machine, so that they are retried like network errors."""
    try:
        yield
    except OSError as error:
        raise transient_error(error) or error from error


def delays_of(retry: "RetryConfig") -> list[float]:
    """Seconds before each retry."""
    return [min(retry.first_delay_seconds * 2**n, LONGEST_DELAY) for n in range(retry.attempts)]


def retry_transient(function: Callable[[], R], delays: Iterable[float], sleep: Callable[[float], None] = time.sleep) -> R:
    """Call a function, and retry it after transient errors, once after each of the delays."""
    for seconds in delays:
        try:
            return function()
        except TransientError:
            sleep(seconds)
    return function()
