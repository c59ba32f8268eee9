"""The step `plan`: what a model writes for the iteration, where the operator asked for that. Templates serve in its place."""

from collections.abc import Callable, Mapping

from helmsman.orient.compaction import compacts, past_of
from helmsman.records.briefing import Orientation
from helmsman.records.focus import Planned, Writing
from helmsman.records.state import LoopState
from helmsman.records.usage import Usage
from tasks.workplace import Workplace
from tasks.writing import write_compaction, write_focus


def write(place: Workplace, state: LoopState, orientation: Orientation, credentials: Callable[[], Mapping[str, str]]) -> Planned:
    """A focus and the past in short, each where it is due. Raises nothing but Cancelled."""
    config, stop, planned = state.config, place.folder.cancel.exists, Planned()
    if config.prompt.written and state.history:
        focus = write_focus(state, state.oversight, credentials=credentials, tag=f"{place.tag(state)}/focus", stop=stop)
        planned = _with(planned, focus).model_copy(update={"focus": focus.focus})
    if config.prompt.compact and compacts(state, orientation):
        past, tag = past_of(state, orientation), f"{place.tag(state)}/compaction"
        short = write_compaction(past, config, credentials=credentials, tag=tag, stop=stop)
        planned = _with(planned, short).model_copy(update={"compacted": short.compacted})
    return planned


def _with(planned: Planned, writing: Writing) -> Planned:
    """Charged, whether it was of use or not."""
    reasons = (*planned.reasons, *([writing.reason] if writing.reason else ()))
    usage: Usage = planned.usage.plus(writing.usage)
    return planned.model_copy(update={"reasons": reasons, "usage": usage})
