"""What people say to a loop while it asks nothing: a file each, until the iteration that is due is told of it."""

import logging
from pathlib import Path

from helmsman.oversee.answers import GUIDANCE_REMEMBERED
from helmsman.plain import clean
from helmsman.records.events import MemoryNoted
from helmsman.records.gates import LONGEST_GUIDANCE
from helmsman.records.state import LoopState
from tasks.loops.opening import now_utc
from tasks.repository.state_ref import replace_state
from tasks.system.files import write_atomic
from tasks.system.keys import authentic, signed
from tasks.system.secrets import redact
from tasks.telling.journal import publish
from tasks.worktrees.workplace import Workplace

PURPOSE = "helmsman words 1"

_log = logging.getLogger(__name__)


def put(box: Path, uid: str, identity: int, words: str) -> None:
    """Leave words for the next iteration. `identity` tells them from others: the same put twice are told once.

    Signed with the loop's key: what the agent writes there is nobody's word.
    """
    box.mkdir(parents=True, exist_ok=True)
    write_atomic(_file(box, identity), signed(uid, PURPOSE, redact(words)[:LONGEST_GUIDANCE]))


def with_words(place: Workplace, state: LoopState) -> LoopState:
    """The loop with what was said since. While it has ended, words wait for whoever goes on with it.

    Files go after the state has been written: who dies in between finds the words in both, and tells them once.
    """
    if state.ending is not None:
        return state
    files = sorted(place.folder.words.glob("*.txt"))[: max(0, GUIDANCE_REMEMBERED - len(state.guidance))]
    said = [text for text in (_read(file, state.uid) for file in files) if text.strip() and text not in state.guidance]
    if said:
        told = state.model_copy(update={"guidance": (*state.guidance, *said), "updated_at": now_utc()})
        state = replace_state(place.repository, state, told, "told by a person: " + clean(said[0])[:60])
        publish(MemoryNoted(lines=tuple(f"told by a person: {clean(words)[:200]}" for words in said)))
    for file in files:
        file.unlink(missing_ok=True)
    return state


def _read(file: Path, uid: str) -> str:
    try:
        words = authentic(uid, PURPOSE, file.read_bytes())
    except OSError as error:
        _log.warning("what a person has said cannot be read: %s", error)
        return ""
    if words is None:
        _log.warning("%s was not written by Helmsman for this loop, and nobody is told of it", file.name)
    return words or ""


def _file(box: Path, identity: int) -> Path:
    return box / f"{identity:020d}.txt"
