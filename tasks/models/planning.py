"""The step `plan`: texts that a model writes for the iteration, if configured; templates are the default."""

from dataclasses import replace
from functools import partial

from helmsman.orient.compaction import compaction_question, needs_compaction, read_compacted
from helmsman.orient.focus import focus_question, read_focus
from helmsman.records.iteration import Orientation, WriterResult, WrittenParts
from helmsman.records.state import LoopState
from tasks.models.asking import Asking, Credentials, written
from tasks.repository.loop_context import LoopContext


def write(context: LoopContext, state: LoopState, orientation: Orientation, credentials: Credentials) -> WrittenParts:
    """Write the focus and the compaction, each if due. Raises only Cancelled."""
    planned, tag = WrittenParts(), context.tag(state)
    if not state.config.prompt.written:
        return planned
    by = Asking(state.config, credentials, tag, context.folder.cancel.exists)
    if state.past_iterations:
        lessons = [lesson.text for lesson in orientation.recalled.reminders]
        question = partial(focus_question, state, state.oversight, lessons)
        focus, writing = written(replace(by, tag=f"{tag}/focus"), question, read_focus)
        planned = _add_result(planned, writing, focus=focus)
    if needs_compaction(state, orientation):
        question = partial(compaction_question, state, orientation)
        compacted, writing = written(replace(by, tag=f"{tag}/compaction"), question, read_compacted)
        planned = _add_result(planned, writing, compacted=compacted)
    return planned


def _add_result(planned: WrittenParts, writing: WriterResult, **fields: object) -> WrittenParts:
    """Add the result; its usage is charged even if it was useless."""
    reasons = (*planned.reasons, *([writing.reason] if writing.reason else ()))
    return planned.model_copy(update={"reasons": reasons, "usage": planned.usage.plus(writing.usage), **fields})
