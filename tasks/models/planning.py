"""The step `plan`: what a model writes for the iteration, where the operator asked for that. Templates serve in its place."""

from collections.abc import Callable, Mapping

from helmsman.orient.compaction import compacts, past_of
from helmsman.oversee.conflict_question import in_trouble, unasked
from helmsman.records.briefing import Orientation
from helmsman.records.focus import Planned, Writing
from helmsman.records.oversight import Imperative
from helmsman.records.state import LoopState
from helmsman.records.usage import Usage
from tasks.loop.instructions import read_orders
from tasks.models.writing import Credentials, seek_conflicts, write_compaction, write_focus
from tasks.worktrees.workplace import Workplace


def write(place: Workplace, state: LoopState, orientation: Orientation, credentials: Callable[[], Mapping[str, str]]) -> Planned:
    """A focus, the past in short and contradictions between orders, each where it is due. Raises nothing but Cancelled."""
    config, stop, planned = state.config, place.folder.cancel.exists, Planned()
    if config.prompt.written and state.worked:
        lessons = [one.text for one in orientation.recalled.reminders]
        tag = f"{place.tag(state)}/focus"
        focus = write_focus(state, state.oversight, lessons=lessons, credentials=credentials, tag=tag, stop=stop)
        planned = _with(planned, focus).model_copy(update={"focus": focus.focus})
    if config.prompt.compact and compacts(state, orientation):
        past, tag = past_of(state, orientation), f"{place.tag(state)}/compaction"
        short = write_compaction(past, config, credentials=credentials, tag=tag, stop=stop)
        planned = _with(planned, short).model_copy(update={"compacted": short.compacted})
    return _sought(place, state, planned, credentials)


def _sought(place: Workplace, state: LoopState, planned: Planned, credentials: Credentials) -> Planned:
    """With what a model says of contradictions. A loop that is not in trouble does not even read its orders here."""
    if not in_trouble(state):
        return planned
    orders, broken = _orders(place, state)
    if broken or not orders:
        return _with(planned, Writing(reason=broken))
    tag, stop = f"{place.tag(state)}/contradictions", place.folder.cancel.exists
    sought, writing = seek_conflicts(state, orders, credentials=credentials, tag=tag, stop=stop)
    return _with(planned, writing).model_copy(update={"sought": sought})


def _orders(place: Workplace, state: LoopState) -> tuple[tuple[Imperative, ...], str]:
    """The orders that a model has to be asked about, none where it need not; and what broke in words."""
    try:
        orders = read_orders(place.worktree, state.config)
        return (orders if unasked(state, orders) else ()), ""
    except Exception as error:  # noqa: BLE001 - a helper that breaks must not break the loop
        return (), f"contradictions between orders were not looked for: {type(error).__name__}"


def _with(planned: Planned, writing: Writing) -> Planned:
    """Charged, whether it was of use or not."""
    reasons = (*planned.reasons, *([writing.reason] if writing.reason else ()))
    usage: Usage = planned.usage.plus(writing.usage)
    return planned.model_copy(update={"reasons": reasons, "usage": usage})
