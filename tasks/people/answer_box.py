"""Answers to gates as files: whoever gets one puts it there, whoever asked takes it. The first answer to a question counts,
but for a stop, which comes before all that nobody has read yet.

A file outlives the process that asked and the engine that it ran on.
"""

import os
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from helmsman.records.gates import Answer


def put(mailbox: Path, answer: Answer) -> bool:
    """Leave an answer. Returns whether it was the first to its question; a later one changes nothing."""
    mailbox.mkdir(parents=True, exist_ok=True)
    draft = mailbox / f".{answer.gate}-{uuid4().hex}"
    try:
        draft.write_text(answer.model_dump_json(), encoding="utf-8")
        os.link(draft, _file(mailbox, answer.gate))  # unlike a rename, never over one that is there
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def replace(mailbox: Path, answer: Answer) -> None:
    """Leave an answer in the place of one that nobody has read: the caller holds the lock of whoever asked."""
    mailbox.mkdir(parents=True, exist_ok=True)
    draft = mailbox / f".{answer.gate}-{uuid4().hex}"
    draft.write_text(answer.model_dump_json(), encoding="utf-8")
    draft.replace(_file(mailbox, answer.gate))


def find(mailbox: Path, gate: str) -> Answer | None:
    """The answer to a gate, None where there is none or it cannot be read."""
    try:
        return Answer.model_validate_json(_file(mailbox, gate).read_bytes())
    except (OSError, ValidationError):
        return None


def put_aside(mailbox: Path, gate: str) -> None:
    """Take an answer that cannot be followed out of the way of the next one."""
    _file(mailbox, gate).replace(mailbox / f"{gate}-refused-{uuid4().hex}")


def _file(mailbox: Path, gate: str) -> Path:
    return mailbox / f"{gate}.json"
