"""What the system says of a broken or full disk, and of a machine without room: whoever it hits, the world is to blame."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from helmsman.errors import WorldError

OF_A_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
EXHAUSTED = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""There is no room for another process or for another open file. Others end, and there is."""
ROOM = "free processes or memory, then resume"
"""The remedy."""


def disk_error(error: BaseException) -> WorldError | None:
    """What an error of the system says of a disk; None where it says something else."""
    if not isinstance(error, OSError) or error.errno not in OF_A_DISK:
        return None
    return WorldError(
        "a file could not be written",
        found=f"{error.strerror}: {error.filename}" if error.filename else str(error),
        remedy="free space on that disk, or make it writable",
    )


@contextmanager
def blaming_the_disk() -> Generator[None]:
    """Raise WorldError for what a disk did, so that it is told and retried like any other trouble of the world."""
    try:
        yield
    except OSError as error:
        told = disk_error(error)
        if told is None:
            raise
        raise told from error
