"""Going on with a loop from the Prefect UI: by Retry, or by a new run that names it."""

from pathlib import Path

from helmsman.records.request import LoopRequest
from helmsman.records.state import LoopState
from helmsman.records.verdict import Outcome
from tasks.engine.runs import driven_here, is_retried, is_under_a_worker, loop_driven_here
from tasks.repository.git import open_repository, read_ref
from tasks.repository.state_ref import read_state, state_ref


def continued(request: LoopRequest) -> LoopRequest:
    """The request as a person means it, where its loop has ended: they see no other way to say that it is to go on.

    A retry of a run that was stopped, failed or cancelled goes on with the run's loop, as it is configured by now; a new run
    that names a cancelled loop goes on with that. A run that the engine starts again by itself, after a crash, does not.
    """
    name = request.loop or loop_driven_here()
    if request.reopen or not name or not is_under_a_worker():
        return request
    state = _known(request.repository, name)
    if state is None or state.ending is None or state.outcome is Outcome.COMPLETED:
        return request
    if driven_here() == state.uid and is_retried():
        return request.model_copy(update={"loop": name, "reopen": True, "settings": {}})
    names_it = driven_here() != state.uid and state.outcome is Outcome.CANCELLED
    return request.model_copy(update={"reopen": True}) if names_it else request


def _known(repository: str, loop: str) -> LoopState | None:
    found = open_repository(Path(repository))
    return read_state(found, loop)[0] if read_ref(found.common, state_ref(loop)) else None
