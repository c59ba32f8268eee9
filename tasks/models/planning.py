"""The step `plan`: what a model writes for the iteration, where the operator asked for that. Templates serve in its place."""

from dataclasses import replace
from functools import partial

from helmsman.orient.compaction import compaction_request, compacts, read_compacted
from helmsman.orient.focus import focus_request, read_focus
from helmsman.records.iteration import Orientation, Planned, Writing
from helmsman.records.state import LoopState
from tasks.models.asking import Asking, Credentials, written
from tasks.repository.loop_context import LoopContext


def write(context: LoopContext, state: LoopState, orientation: Orientation, credentials: Credentials) -> Planned:
    """A focus and the past in short, each where it is due. Raises nothing but Cancelled."""
    planned, tag = Planned(), context.tag(state)
    if not state.config.prompt.written:
        return planned
    by = Asking(state.config, credentials, tag, context.folder.cancel.exists)
    if state.worked:
        lessons = [one.text for one in orientation.recalled.reminders]
        question = partial(focus_request, state, state.oversight, lessons)
        focus, writing = written(replace(by, tag=f"{tag}/focus"), question, read_focus)
        planned = _with(planned, writing, focus=focus)
    if compacts(state, orientation):
        question = partial(compaction_request, state, orientation)
        short, writing = written(replace(by, tag=f"{tag}/compaction"), question, read_compacted)
        planned = _with(planned, writing, compacted=short)
    return planned


def _with(planned: Planned, writing: Writing, **found: object) -> Planned:
    """Charged, whether it was of use or not."""
    reasons = (*planned.reasons, *([writing.reason] if writing.reason else ()))
    return planned.model_copy(update={"reasons": reasons, "usage": planned.usage.plus(writing.usage), **found})
