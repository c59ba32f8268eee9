"""Leaving a loop that ends without completion at its best tree: the later one stays on a ref, and nobody's work is touched.

The ref comes first, the loop's state next, the branch last. Who dies in between has lost nothing: the state says where the branch
belongs, and the next driver puts it there.
"""

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from helmsman.errors import HelmsmanError
from helmsman.oversee.best import better_to_leave, left_at, why_left
from helmsman.records.oversight import LATER, Checkpoint, Failed
from helmsman.records.state import LoopState
from tasks.loops.opening import now_utc
from tasks.repository.git import current_branch, git, read_ref
from tasks.repository.remote import push_loop
from tasks.repository.state_ref import later_ref, read_records, replace_state
from tasks.telling.reporting import write_report
from tasks.worktrees.rolling_back import changed_between
from tasks.worktrees.workplace import Workplace, workplace
from tasks.worktrees.worktree import dirty_paths, go_back_to, hold_branch, recover, salvage

_log = logging.getLogger(__name__)


def left_at_best(repository: str, state: LoopState) -> LoopState:
    """The loop as it ends. What goes wrong before its state says so leaves it where it was; what goes wrong later is repaired."""
    best = better_to_leave(state)
    if best is None:
        return state
    place = workplace(repository, state)
    with _telling(f"the branch stays at its last tree, though {best.commit[:10]} was better"):
        state = _written(place, state, best)
    kept = state.failed
    if kept is not None and kept.rule == LATER and state.head == kept.back_to:
        with _telling(f"the branch is put to {best.commit[:10]} by whoever goes on with the loop"):
            _go_back(place, state, kept)
        with _telling("the remote or the report do not have it yet"):
            _tell(place, state)
    return state


@contextmanager
def _telling(what: str) -> Generator[None]:
    try:
        yield
    except HelmsmanError as error:
        _log.warning("%s: %s", what, error)


def stand_at_best(place: Workplace, state: LoopState) -> None:
    """Put the branch where the state says that the loop was left, if the driver that left it died before."""
    kept = state.failed
    if kept is None or kept.rule != LATER or state.head != kept.back_to or not place.worktree.exists():
        return
    tip, on = read_ref(place.repository.common, f"refs/heads/{state.branch}"), current_branch(place.worktree)
    if tip == kept.commit and on in {"", state.branch}:
        _go_back(place, state, kept)
    elif tip == kept.back_to and not on:  # somebody may have gone to another branch since
        hold_branch(place.worktree, state.branch, kept.back_to)


def _written(place: Workplace, state: LoopState, best: Checkpoint) -> LoopState:
    """The loop that is to be left there, as its state says from now on; or as it was, where something hinders it."""
    hindered = next(_hindrances(place, state), "")
    if hindered:
        _log.warning("the branch stays at its last tree, though %s was better: %s", best.commit[:10], hindered)
        return state
    ref = later_ref(place.repository, state.loop, state.iteration, state.head)
    if read_ref(place.repository.common, ref) is None:
        git(place.repository.common, "update-ref", ref, state.head, "")
    files = changed_between(place, best.commit, state.head)
    kept = Failed(
        iteration=state.iteration, ref=ref, commit=state.head, back_to=best.commit, why=why_left(state, best)[:300], files=files
    )
    after = left_at(state, best, kept).model_copy(update={"updated_at": now_utc()})
    return replace_state(place.repository, state, after, f"left at its best: {best.commit[:12]}")


def _hindrances(place: Workplace, state: LoopState) -> Iterator[str]:
    if not place.worktree.exists():
        yield "its worktree is gone"
    elif read_ref(place.repository.common, f"refs/heads/{state.branch}") != state.head:
        yield f"{state.branch} is not where the loop left it"
    elif state.config.workspace.in_place and (dirty := dirty_paths(place.worktree)):
        yield f"the checkout has uncommitted changes: {', '.join(dirty)}"


def _go_back(place: Workplace, state: LoopState, kept: Failed) -> None:
    """Whatever lies in the worktree beside the work goes to a salvage ref."""
    recover(place.repository, place.worktree, state.branch)
    salvage(place.repository, place.worktree, state, kept.commit)
    go_back_to(place.worktree, state.branch, kept.back_to, before=kept.commit)


def _tell(place: Workplace, state: LoopState) -> None:
    record = next(read_records(place.repository, state.loop), None)
    if record:
        write_report(place, state, record)
    if state.config.remote.push:
        push_loop(place.repository, state)
