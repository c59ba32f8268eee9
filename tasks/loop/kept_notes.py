"""What judge and research wrote down, for people: it outlives the loop's worktree."""

from contextlib import suppress

from helmsman.guardrails import RESEARCH_FILE
from helmsman.orient.feedback import evolution_file, feedback_file
from helmsman.records.state import LoopState
from tasks.loop.prepare import own_file
from tasks.worktrees.workplace import Workplace


def keep_notes(place: Workplace, state: LoopState) -> None:
    """Beside the loop's records. They only tell, so a disk that is full does not matter."""
    notes = {
        "JUDGE_FEEDBACK.md": feedback_file(state.judge) if state.judge.feedback else "",
        "JUDGE_EVOLUTION.md": evolution_file(state.judge) if state.judge.notes else "",
        RESEARCH_FILE: own_file(place, RESEARCH_FILE) or "",
    }
    with suppress(OSError):
        for name, text in notes.items():
            if text:
                place.folder.notes.mkdir(parents=True, exist_ok=True)
                (place.folder.notes / name).write_text(text, encoding="utf-8")
