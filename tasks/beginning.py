"""How a loop begins: its checks are tried on the tree that is there, so that everybody knows where the work starts."""

from helmsman.oversee.baseline import with_baseline
from helmsman.records.events import LoopBegun
from helmsman.records.state import LoopState
from tasks import steps
from tasks.git import commit_and_tree
from tasks.journal import publish
from tasks.opening import now_utc
from tasks.state_ref import replace_state
from tasks.workplace import workplace


def begun(repository: str, state: LoopState) -> LoopState:
    """The loop with the checks' report on its base; any but a new one as it is."""
    config = state.config
    if state.iteration or state.checks or state.ending or state.gate or not (config.baseline and config.checks):
        return state
    place = workplace(repository, state)
    _, tree = commit_and_tree(place.worktree, state.head)
    report = steps.baseline(repository, state, tree)
    publish(LoopBegun(report=report))
    after = with_baseline(state, report).model_copy(update={"updated_at": now_utc()})
    return replace_state(place.repository, state, after, f"baseline: {len(report.failures)} of {len(report.results)} checks fail")
