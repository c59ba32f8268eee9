"""Answers to gates as files: whoever gets one puts it there, whoever asked takes it. The first answer to a question counts,
but for a stop, which comes before all that nobody has read yet.

A file outlives the process that asked and the engine that it ran on.
"""

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from helmsman.records.gates import Answer
from tasks.whole_files import drafted, write_whole


def put(mailbox: Path, answer: Answer) -> bool:
    """Leave an answer. Returns whether it was the first to its question; a later one changes nothing.

    What is there and cannot be read is none: it is put aside, or nobody could ever answer.
    """
    mailbox.mkdir(parents=True, exist_ok=True)
    file = _file(mailbox, answer.gate)
    with drafted(file, answer.model_dump_json()) as draft:
        if _linked(draft, file):
            return True
        if find(mailbox, answer.gate) is not None:
            return False
        put_aside(mailbox, answer.gate)
        return _linked(draft, file)


def replace(mailbox: Path, answer: Answer) -> None:
    """Leave an answer in the place of one that nobody has read: the caller holds the lock of whoever asked."""
    mailbox.mkdir(parents=True, exist_ok=True)
    write_whole(_file(mailbox, answer.gate), answer.model_dump_json())


def find(mailbox: Path, gate: str) -> Answer | None:
    """The answer to a gate, None where there is none or it cannot be read."""
    try:
        return Answer.model_validate_json(_file(mailbox, gate).read_bytes())
    except (OSError, ValidationError):
        return None


def put_aside(mailbox: Path, gate: str) -> None:
    """Take an answer that cannot be followed out of the way of the next one."""
    with suppress(FileNotFoundError):  # somebody else was faster
        _file(mailbox, gate).replace(mailbox / f"{gate}-refused-{uuid4().hex}")


def _linked(draft: Path, file: Path) -> bool:
    """Unlike a rename, a link never takes the place of what is there."""
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    return True


def _file(mailbox: Path, gate: str) -> Path:
    return mailbox / f"{gate}.json"
