"""Answers to gates as files: whoever gets one puts it there, whoever asked takes it. The first answer to a question counts,
but for a stop, which comes before all that nobody has read yet.

A file outlives the process that asked and the engine that it ran on. It is signed with the loop's key: what anybody else puts
there is no answer. Nobody can answer beforehand, since a question gets a random key when it is asked.

What people say while nothing is asked lies beside them, a file each, until the iteration that is due is told of it.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from helmsman.errors import OperatorError
from helmsman.oversee.answers import GUIDANCE_REMEMBERED
from helmsman.plain import clean
from helmsman.records.events import MemoryNoted
from helmsman.records.gates import LONGEST_GUIDANCE, Answer
from helmsman.records.state import LoopState
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import replace_state
from tasks.system.clock import now_utc
from tasks.system.faults import transient_error
from tasks.system.files import drafted, write_atomic
from tasks.system.journal import publish
from tasks.system.keys import authentic, signed
from tasks.system.secrets import redact, without_secrets

PURPOSE = "helmsman answer 1"
WORDS_PURPOSE = "helmsman words 1"
_log = logging.getLogger(__name__)


def put(mailbox: Path, uid: str, answer: Answer) -> Answer | None:
    """Leave an answer. Returns the one that counts: the first to its question, which a later one does not change.

    What says nothing, or is not signed, is none: it is put aside, or nobody could ever answer. Raises as `find` does.
    """
    mailbox.mkdir(parents=True, exist_ok=True)
    file = _file(mailbox, answer.gate)
    with drafted(file, signed_answer(uid, without_secrets(answer))) as draft:
        if _linked(draft, file):
            return answer
        if (first := find(mailbox, uid, answer.gate)) is not None:
            return first
        put_aside(mailbox, answer.gate)
        return answer if _linked(draft, file) else find(mailbox, uid, answer.gate)


def replace(mailbox: Path, uid: str, answer: Answer) -> None:
    """Leave an answer in the place of one that nobody has read: the caller holds the lock of whoever asked."""
    mailbox.mkdir(parents=True, exist_ok=True)
    write_atomic(_file(mailbox, answer.gate), signed_answer(uid, without_secrets(answer)))


def find(mailbox: Path, uid: str, gate: str) -> Answer | None:
    """The answer to a gate, None where there is none, or one that says nothing or was not signed.

    Raises TransientError where one cannot be read now, and OperatorError where it may not be: it counts all the same.
    """
    file = _file(mailbox, gate)
    try:
        text = authentic(uid, PURPOSE, file.read_bytes())
        return None if text is None else Answer.model_validate_json(text)
    except (FileNotFoundError, ValidationError):
        return None
    except OSError as error:
        remedy = "make it readable, or move it away"
        raise transient_error(error) or OperatorError(
            "an answer cannot be read", found=f"{file}: {error}", remedy=remedy
        ) from error


def put_aside(mailbox: Path, gate: str) -> None:
    """Take an answer that cannot be followed out of the way of the next one."""
    with suppress(FileNotFoundError):  # somebody else was faster
        _file(mailbox, gate).replace(mailbox / f"{gate}-refused-{uuid4().hex}")


def signed_answer(uid: str, answer: Answer) -> str:
    return signed(uid, PURPOSE, answer.model_dump_json())


def _linked(draft: Path, file: Path) -> bool:
    """Unlike a rename, a link never takes the place of what is there."""
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    return True


def _file(mailbox: Path, gate: str) -> Path:
    return mailbox / f"{gate}.json"


def put_words(box: Path, uid: str, identity: int, words: str) -> None:
    """Leave words for the next iteration. `identity` tells them from others: the same put twice are told once.

    Signed with the loop's key: what the agent writes there is nobody's word.
    """
    box.mkdir(parents=True, exist_ok=True)
    write_atomic(box / f"{identity:020d}.txt", signed(uid, WORDS_PURPOSE, redact(words)[:LONGEST_GUIDANCE]))


def with_words(context: LoopContext, state: LoopState) -> LoopState:
    """The loop with what was said since. While it has ended, words wait for whoever goes on with it.

    Files go after the state has been written: who dies in between finds the words in both, and tells them once.
    """
    if state.ending is not None:
        return state
    said: list[str] = []
    files = sorted(context.folder.words.glob("*.txt"))[: max(0, GUIDANCE_REMEMBERED - len(state.guidance))]
    for file in files:
        try:
            words = authentic(state.uid, WORDS_PURPOSE, file.read_bytes())
        except OSError as error:
            _log.warning("what a person has said cannot be read: %s", error)
            continue
        if words is None:
            _log.warning("%s was not written by Helmsman for this loop, and is ignored", file.name)
        elif words.strip() and words not in state.guidance:
            said.append(words)
    if said:
        guided = state.model_copy(update={"guidance": (*state.guidance, *said), "updated_at": now_utc()})
        state = replace_state(context.repository, state, guided, "told by a person: " + clean(said[0])[:60])
        publish(MemoryNoted(lines=tuple(f"told by a person: {clean(words)[:200]}" for words in said)))
    for file in files:
        file.unlink(missing_ok=True)
    return state
