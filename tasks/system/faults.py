"""What the system says of a broken or full disk, and of a machine without room: a transient error, whoever it hits."""

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
OF_A_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
EXHAUSTED = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""There is no room for another process or for another open file. Others end, and there is."""
OF_THE_MACHINE = tuple(map(os.strerror, (*OF_A_DISK, *EXHAUSTED)))
"""The same in the words of a program that failed: they say nothing of what it worked on."""
NO_ROOM = "the limit of processes or open files is reached"
ROOM = "free processes or memory, then resume"  # the remedy


def transient_error(error: BaseException) -> TransientError | None:
    """What an error of the system says of a disk or of a full machine; None where it says something else."""
    if not isinstance(error, OSError):
        return None
    found = f"{error.strerror}: {error.filename}" if error.filename else str(error)
    if error.errno in OF_A_DISK:
        return TransientError("a file could not be written", found=found, remedy="free space on that disk, or make it writable")
    if error.errno in EXHAUSTED:
        return TransientError(NO_ROOM, found=found, remedy=ROOM)
    return None


@contextmanager
def raising_transient_errors() -> Generator[None]:
    """Raise TransientError for what a disk or a full machine did, so that it is reported and retried as network errors are."""
    try:
        yield
    except OSError as error:
        raise transient_error(error) or error from error


def delays_of(retry: "RetryConfig") -> list[float]:
    """Seconds before each further try."""
    return [min(retry.first_delay_seconds * 2**n, LONGEST_DELAY) for n in range(retry.attempts)]


def patiently(what: Callable[[], R], delays: Iterable[float], nap: Callable[[float], None] = time.sleep) -> R:
    """The same again after a transient error, once after each of the delays."""
    for seconds in delays:
        try:
            return what()
        except TransientError:
            nap(seconds)
    return what()
