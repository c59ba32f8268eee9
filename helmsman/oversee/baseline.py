"""The tree that a loop begins with, as its checks see it: what the first iterations are compared with."""

from helmsman.oversee.moments import base_moment
from helmsman.oversee.movement import is_base
from helmsman.oversee.progress import progress_at_start
from helmsman.records.checks import CheckReport
from helmsman.records.folds import most_tests
from helmsman.records.oversight import Checkpoint
from helmsman.records.state import LoopState


def with_baseline(state: LoopState, report: CheckReport) -> LoopState:
    """A loop that has not begun, with the checks' report on its base commit; any other loop as it is.

    It is no iteration: nothing is spent and nothing is judged. It stands in the history as number 0, for the detectors that
    ask what an iteration came from, and is the first place that work can be taken back to.
    """
    if state.iteration or not report.results or not all(map(is_base, state.history)):
        return state
    known = most_tests({}, report)
    progress = progress_at_start(report, known, judged=bool(state.config.judge.criteria))
    moment = base_moment(state, report, progress)
    best = Checkpoint(
        iteration=moment.iteration,
        commit=moment.commit,
        tree=moment.tree,
        completion=moment.completion,
        green=moment.green,
    )
    return state.model_copy(
        update={
            "checks": report,
            "best_checks": report,
            "most_tests": known,
            "history": (moment,),
            "oversight": state.oversight.model_copy(update={"progress": progress, "best": best}),
        }
    )
