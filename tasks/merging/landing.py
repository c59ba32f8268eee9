"""Landing: proven work is merged, one loop after the other, and a person is asked where only a person can clear the way."""

from functools import partial

from helmsman.oversee.merging import landing_due
from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from tasks.loops import steps
from tasks.merging.attempt import begin_landing, catch_up, land
from tasks.merging.lock import merging_alone
from tasks.people.gates import passed
from tasks.worktrees.workplace import workplace


def landed(request: LoopRequest, state: LoopState) -> LoopState:
    """Merge what is proven, where that is wanted. Returns the loop as it goes on: merged, with a task, or with a question."""
    place = workplace(request.repository, state)
    while landing_due(state):
        state = begin_landing(place, state)
        with merging_alone(place.repository, state.config.merge.wait_minutes, place.folder.cancel.exists):
            state = land(place, state, partial(steps.checked_for_merge, request.repository, state))
        state = passed(request, state)
    return catch_up(place, state)
