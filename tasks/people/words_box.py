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
from tasks.telling.journal import publish
from tasks.whole_files import write_whole
from tasks.worktrees.workplace import Workplace

_log = logging.getLogger(__name__)


def put(box: Path, identity: int, words: str) -> None:
    """Leave words for the next iteration. `identity` tells them from others: the same put twice are told once."""
    box.mkdir(parents=True, exist_ok=True)
    write_whole(_file(box, identity), words[:LONGEST_GUIDANCE])


def with_words(place: Workplace, state: LoopState) -> LoopState:
    """The loop with what was said since. While it has ended, words wait for whoever goes on with it.

    Files go after the state has been written: who dies in between finds the words in both, and tells them once.
    """
    if state.ending is not None:
        return state
    files = sorted(place.folder.words.glob("*.txt"))[: max(0, GUIDANCE_REMEMBERED - len(state.guidance))]
    said = [text for text in map(_read, files) if text.strip() and text not in state.guidance]
    if said:
        told = state.model_copy(update={"guidance": (*state.guidance, *said), "updated_at": now_utc()})
        state = replace_state(place.repository, state, told, "told by a person: " + clean(said[0])[:60])
        publish(MemoryNoted(lines=tuple(f"told by a person: {clean(words)[:200]}" for words in said)))
    for file in files:
        file.unlink(missing_ok=True)
    return state


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        _log.warning("what a person has said cannot be read: %s", error)
        return ""


def _file(box: Path, identity: int) -> Path:
    return box / f"{identity:020d}.txt"
