"""Answers to gates, stored as files. The first answer to a question counts, except that a stop replaces an unread one.

A file outlives the process that asked and its engine. It is signed with the loop's key, so files written by anybody else are
ignored. Nobody can answer in advance, since a question gets a random key when it is asked.

Messages from people while no question is open are stored next to them, a file each, until the next iteration gets them.
"""

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from helmsman.errors import OperatorError
from helmsman.oversee.answers import GUIDANCE_REMEMBERED
from helmsman.plain import clean
from helmsman.records.gates import LONGEST_GUIDANCE, Answer
from helmsman.records.state import LoopState
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import replace_state
from tasks.system.faults import transient_error
from tasks.system.files import draft_file, write_atomic
from tasks.system.journal import note
from tasks.system.keys import verified_text, with_signature
from tasks.system.secrets import redact, without_secrets

PURPOSE = "helmsman answer 1"
WORDS_PURPOSE = "helmsman words 1"
_log = logging.getLogger(__name__)


def store_answer(mailbox: Path, uid: str, answer: Answer) -> Answer | None:
    """Store an answer. Returns the one that counts: the first to its question, which a later one does not change.

    An empty or unsigned file is moved away, since it would block every answer. Raises like `find`.
    """
    mailbox.mkdir(parents=True, exist_ok=True)
    file = _answer_file(mailbox, answer.gate)
    with draft_file(file, signed_answer(uid, without_secrets(answer))) as draft:
        if _link_new(draft, file):
            return answer
        if (first := find_answer(mailbox, uid, answer.gate)) is not None:
            return first
        move_answer_aside(mailbox, answer.gate)
        return answer if _link_new(draft, file) else find_answer(mailbox, uid, answer.gate)


def replace_answer(mailbox: Path, uid: str, answer: Answer) -> None:
    """Replace an unread answer. The caller holds the lock of the asking driver."""
    write_atomic(_answer_file(mailbox, answer.gate), signed_answer(uid, without_secrets(answer)))


def find_answer(mailbox: Path, uid: str, gate: str) -> Answer | None:
    """Answer to a gate; None if there is none, or if it is invalid or unsigned.

    Raises TransientError if it cannot be read now, and OperatorError if permissions forbid it: it counts all the same.
    """
    file = _answer_file(mailbox, gate)
    try:
        text = verified_text(uid, PURPOSE, file.read_bytes())
        return None if text is None else Answer.model_validate_json(text)
    except (FileNotFoundError, ValidationError):
        return None
    except OSError as error:
        remedy = "make it readable, or move it elsewhere"
        raise transient_error(error) or OperatorError(
            "an answer cannot be read", found=f"{file}: {error}", remedy=remedy
        ) from error


def move_answer_aside(mailbox: Path, gate: str) -> None:
    """Move a rejected answer away, so that the next one can be stored."""
    with suppress(FileNotFoundError):  # another process was faster
        _answer_file(mailbox, gate).replace(mailbox / f"{gate}-refused-{uuid4().hex}")


def signed_answer(uid: str, answer: Answer) -> str:
    return with_signature(uid, PURPOSE, answer.model_dump_json())


def _link_new(draft: Path, file: Path) -> bool:
    """Hard-link the draft; return False if the file exists. Unlike a rename, a link never replaces a file."""
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    return True


def _answer_file(mailbox: Path, gate: str) -> Path:
    return mailbox / f"{gate}.json"


def store_message(box: Path, uid: str, identity: int, words: str) -> None:
    """Store a message for the next iteration. The same `identity` stored twice counts once.

    It is signed with the loop's key, so a file written by the agent is ignored.
    """
    write_atomic(box / f"{identity:020d}.txt", with_signature(uid, WORDS_PURPOSE, redact(words)[:LONGEST_GUIDANCE]))


def with_messages(context: LoopContext, state: LoopState) -> LoopState:
    """Add new messages to the loop's guidance. If the loop has ended, messages wait until it is resumed.

    Files are removed after the state is written: after a crash in between, messages found in both count once.
    """
    if state.ending is not None:
        return state
    messages: list[str] = []
    files = sorted(context.folder.words.glob("*.txt"))[: max(0, GUIDANCE_REMEMBERED - len(state.guidance))]
    for file in files:
        try:
            text = verified_text(state.uid, WORDS_PURPOSE, file.read_bytes())
        except OSError as error:
            _log.warning("a person's message cannot be read: %s", error)
            continue
        if text is None:
            _log.warning("%s was not written by Helmsman for this loop and is ignored", file.name)
        elif text.strip() and text not in state.guidance:
            messages.append(text)
    if messages:
        guided = state.model_copy(update={"guidance": (*state.guidance, *messages), "updated_at": datetime.now(UTC)})
        state = replace_state(context.repository, state, guided, "message from a person: " + clean(messages[0])[:60])
        note(*(f"message from a person: {clean(text)[:200]}" for text in messages))
    for file in files:
        file.unlink(missing_ok=True)
    return state
