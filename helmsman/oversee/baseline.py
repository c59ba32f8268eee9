"""The tree that a loop begins with, as its checks see it: what the first iterations are compared with."""

from typing import Any

from helmsman.oversee.moments import base_moment, checkpoint
from helmsman.oversee.movement import is_base
from helmsman.oversee.progress import progress_at_start
from helmsman.records.checks import CheckReport
from helmsman.records.folds import most_tests
from helmsman.records.oversight import Oversight
from helmsman.records.plan_folds import floor_of
from helmsman.records.state import LoopState


def with_baseline(state: LoopState, report: CheckReport) -> LoopState:
    """A loop that has not begun, with the checks' report on its base commit; any other loop as it is.

    It is no iteration: nothing is spent and nothing is judged. It stands in the history as number 0, for the detectors that
    ask what an iteration came from, and is the first place that work can be taken back to.
    """
    if state.iteration or not report.results or not all(map(is_base, state.history)):
        return state
    empty = tuple(result.command for result in report.results if result.ran_no_test)
    known = {"green_at_start": report.passed, "without_test_at_start": empty, "collected_at_start": report.collected}
    return _compared_with(state, report).model_copy(update=known)


def begun_anew(state: LoopState, report: CheckReport | None) -> LoopState:
    """A loop whose branch got the work of others. What was measured before says nothing of the two together.

    `report`: on what it goes on from, where that was checked. The ladder stays where it is: it is about the loop, not the tree.
    """
    earlier = state.oversight
    forgotten: dict[str, Any] = {
        "oversight": Oversight(ladder=earlier.ladder, idle=earlier.idle, sought=earlier.sought),
        "history": (),
        "checks": report,
        "best_checks": None,
        "most_tests": {},
        "plan": state.plan.model_copy(update={"floor": {}}),
        "findings": (),
        "contradictions": (),
        "failed": None,
    }
    after = state.model_copy(update=forgotten)
    return _compared_with(after, report) if report and report.results else after


def _compared_with(state: LoopState, report: CheckReport) -> LoopState:
    known = most_tests({}, report)
    progress = progress_at_start(report, known, state.plan, judged=bool(state.config.judge.criteria))
    moment = base_moment(state, report, progress)
    return state.model_copy(
        update={
            "checks": report,
            "best_checks": report,
            "most_tests": known,
            "plan": state.plan.model_copy(update={"floor": floor_of(report)}),
            "history": (moment,),
            "oversight": state.oversight.model_copy(update={"progress": progress, "best": checkpoint(moment)}),
        }
    )
