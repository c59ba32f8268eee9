"""Set-up of a loop's checkouts: its clean one exists before the agent does anything, and its worktree is made ready once."""

import logging
import os

from helmsman.errors import HelmsmanError
from helmsman.records.state import LoopState
from tasks.checking.checks import Room, set_up
from tasks.checking.checks import tear_down as run_teardown
from tasks.checking.rooms import clean_checkout, room_of
from tasks.repository.products import remove
from tasks.repository.setup import copy_included, lay_included
from tasks.worktrees.as_checkout import Worktree
from tasks.worktrees.staging import own_folder
from tasks.worktrees.workplace import Workplace

READY = "helmsman-set-up"
"""File in git's own folder of a worktree: it goes where the worktree goes."""
_log = logging.getLogger(__name__)


def begin_verification(place: Workplace, state: LoopState) -> None:
    """What holds from now on: programs on PATH, files that are included, what the repository borrows from."""
    if state.config.workspace.clean:
        clean_checkout(place, state).begin()


def ready_worktree(place: Workplace, state: LoopState) -> None:
    """Run set-up in a fresh worktree. Raises SetupFailed. Somebody's own checkout (--in-place) is theirs to set up."""
    workspace = state.config.workspace
    mark = own_folder(place.worktree) / READY if place.worktree.exists() else None
    if workspace.in_place or mark is None or mark.exists():
        return
    begin_verification(place, state)
    included = clean_checkout(place, state).folder / "included" if workspace.clean else place.folder.root / "included"
    if not workspace.clean:
        copy_included(place.repository, state.base_commit, included)
    lay_included(included, place.worktree)
    if workspace.setup:
        set_up(_there(place, state, workspace.setup), state.config)
    mark.touch()


def tear_down(place: Workplace, state: LoopState) -> None:
    """Run teardown where set-up ran, and remove the clean checkout. What fails is logged: the work is done."""
    checkout = clean_checkout(place, state)
    rooms = [room_of(place, state)] if checkout.root.exists() else []
    rooms += [] if state.config.workspace.in_place or not place.worktree.exists() else [_there(place, state, ())]
    try:
        for room in rooms:
            run_teardown(room, state.config)
        remove(checkout.folder)
    except (HelmsmanError, OSError) as error:
        _log.warning("the clean checkout %s could not be removed: %s", os.fspath(checkout.folder), error)


def _there(place: Workplace, state: LoopState, due: tuple[str, ...]) -> Room:
    room = Worktree(place.worktree, due=due)
    return Room(room, f"{place.tag(state)}/set-up", place.folder.cancel.exists, sandbox=state.config.box)
