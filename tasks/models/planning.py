"""The step `plan`: texts that a model writes for the iteration, if configured; templates are the default."""

from dataclasses import replace
from functools import partial

from helmsman.orient.written import (
    compacted_section,
    compaction_question,
    focus_question,
    focus_section,
    needs_compaction,
    read_compacted,
    read_focus,
)
from helmsman.records.base import Usage
from helmsman.records.iteration import Orientation, WrittenParts
from helmsman.records.state import LoopState
from tasks.models.asking import write_text
from tasks.models.sending import WRITING_SECONDS, CallSettings, Credentials
from tasks.repository.loop_context import LoopContext


def write_texts(context: LoopContext, state: LoopState, orientation: Orientation, credentials: Credentials) -> WrittenParts:
    """Write the focus and the compaction, each if due. Raises only Cancelled."""
    if not state.config.prompt.written:
        return WrittenParts()
    tag = context.tag(state)
    settings = CallSettings(state.config, credentials, tag, context.folder.cancel.exists, WRITING_SECONDS)
    focus, compacted, reasons, usages = None, None, ["", ""], [Usage(), Usage()]
    if state.past_iterations:
        lessons = [lesson.text for lesson in orientation.recalled.reminders]
        question = partial(focus_question, state, lessons)
        focus, reasons[0], usages[0] = write_text(replace(settings, tag=f"{tag}/focus"), question, read_focus)
    if needs_compaction(state, orientation):
        question = partial(compaction_question, state, orientation)
        compacted, reasons[1], usages[1] = write_text(replace(settings, tag=f"{tag}/compaction"), question, read_compacted)
    return WrittenParts(
        focus=focus_section(focus) if focus else "",
        compacted=compacted_section(compacted) if compacted else "",
        reasons=tuple(filter(None, reasons)),
        usage=usages[0].plus(usages[1]),
    )
