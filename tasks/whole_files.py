"""Writing a file that is there whole or not at all, whoever dies while it is written, and after a power cut too."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

FOR_ALL = 0o644
"""The mode of what people read: a colleague may look at it, whatever the umask of who happened to write it."""


def write_whole(path: Path, content: str | bytes, *, mode: int | None = None) -> None:
    """In the place of whatever lies there, in one step; what a link leads to is not written. Raises OSError.

    `mode`: None for what the umask leaves.
    """
    with drafted(path, content, mode=mode) as draft:
        draft.replace(path)


@contextmanager
def drafted(path: Path, content: str | bytes, *, mode: int | None = None) -> Generator[Path]:
    """What the file shall hold, on the disk beside it, for whoever puts it there. Of a draft that nobody took nothing is left."""
    draft = path.with_name(f".helmsman-{uuid4().hex}")
    try:
        with draft.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)
