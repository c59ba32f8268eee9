"""Answers to gates as files: whoever gets one puts it there, whoever asked takes it. The first answer to a question counts,
but for a stop, which comes before all that nobody has read yet.

A file outlives the process that asked and the engine that it ran on.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from helmsman.errors import HelmsmanError, OperatorError
from helmsman.records.gates import Answer
from tasks.system_errors import world_error
from tasks.whole_files import drafted, write_whole


def put(mailbox: Path, answer: Answer) -> bool:
    """Leave an answer. Returns whether it was the first to its question; a later one changes nothing.

    What is there and says nothing is none: it is put aside, or nobody could ever answer. Raises as `find` does.
    """
    mailbox.mkdir(parents=True, exist_ok=True)
    file = _file(mailbox, answer.gate)
    with drafted(file, answer.model_dump_json()) as draft:
        if _linked(draft, file):
            return True
        if find(mailbox, answer.gate) is not None:
            return False
        with _alone(mailbox):  # somebody else may have put the torn one aside meanwhile, and answered
            if find(mailbox, answer.gate) is None:
                put_aside(mailbox, answer.gate)
            return _linked(draft, file)


def replace(mailbox: Path, answer: Answer) -> None:
    """Leave an answer in the place of one that nobody has read: the caller holds the lock of whoever asked."""
    mailbox.mkdir(parents=True, exist_ok=True)
    with _alone(mailbox):
        write_whole(_file(mailbox, answer.gate), answer.model_dump_json())


def find(mailbox: Path, gate: str) -> Answer | None:
    """The answer to a gate, None where there is none, or one that says nothing.

    Raises WorldError where one is there that cannot be read now, and OperatorError where it may not be: it counts all the same.
    """
    file = _file(mailbox, gate)
    try:
        return Answer.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    except OSError as error:
        remedy = "see that it can be read, or move it away"
        raise world_error(error) or OperatorError("an answer cannot be read", found=f"{file}: {error}", remedy=remedy) from error


def seen(mailbox: Path, gate: str) -> Answer | None:
    """Like `find`, for whoever only looks, and looks again: None too where it cannot be read now."""
    try:
        return find(mailbox, gate)
    except HelmsmanError:
        return None


def put_aside(mailbox: Path, gate: str) -> None:
    """Take an answer that cannot be followed out of the way of the next one."""
    with suppress(FileNotFoundError):  # somebody else was faster
        _file(mailbox, gate).replace(mailbox / f"{gate}-refused-{uuid4().hex}")


@contextmanager
def _alone(mailbox: Path) -> Generator[None]:
    """Whatever takes an answer's place holds this lock; the first one needs none, for it takes nobody's."""
    handle = os.open(mailbox / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # its holder moves a file or two
        yield
    finally:
        os.close(handle)


def _linked(draft: Path, file: Path) -> bool:
    """Unlike a rename, a link never takes the place of what is there."""
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    return True


def _file(mailbox: Path, gate: str) -> Path:
    return mailbox / f"{gate}.json"
