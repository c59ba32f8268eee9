"""The report on a loop that ended without completion, in its own folder: what a person reads first in the morning."""

from contextlib import suppress

from helmsman.oversee.gates import gate_due
from helmsman.records.decision import Outcome
from helmsman.records.iteration import IterationRecord
from helmsman.records.state import LoopState
from helmsman.render.artifacts import markdown_report
from tasks.repository.loop_context import LoopContext

NAME = "report.md"


def write_report(context: LoopContext, state: LoopState, record: IterationRecord) -> None:
    """Write it where a stop is no completion; it only tells, so a disk that is full does not matter."""
    if state.outcome in {None, Outcome.COMPLETED} or state.ending is None:
        return
    due = gate_due(state, state.updated_at)  # it is asked right after this is written
    with suppress(OSError):
        context.folder.root.mkdir(parents=True, exist_ok=True)
        (context.folder.root / NAME).write_text(markdown_report(state, record, str(context.worktree), due), encoding="utf-8")
