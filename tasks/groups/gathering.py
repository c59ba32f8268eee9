"""The frame around a group of loops: one run drives it, each loop has a process, and whoever stops the run stops them all."""

import hashlib
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty
from typing import Any, cast

from prefect import tags, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateType
from prefect.context import TagsContext
from prefect.futures import PrefectFuture, wait
from prefect.logging import get_run_logger
from prefect.utilities.annotations import opaque

from helmsman.errors import Cancelled, OperatorError
from helmsman.plain import clean
from helmsman.records.parallel import Choice, ParallelRequest
from helmsman.records.request import LoopRequest
from helmsman.texts import counted
from tasks.engine.end_states import EndState
from tasks.engine.runs import announce, hearing_cancel, without_heartbeats
from tasks.groups.comparing import best_of
from tasks.groups.members import Departed, drive_member
from tasks.groups.parallel import Group, candidates, departed, due_loops, group_result, keep, opened
from tasks.lock import drive_alone, holder
from tasks.loop.run import STOPPED_FROM_OUTSIDE
from tasks.places import group_folder, loop_folder
from tasks.processes.nesting import refuse_nested
from tasks.repository.git import Repository, open_repository
from tasks.repository.state_ref import known_state

HEAR_SECONDS = 0.5
"""Between two looks at what the engine has made of its tasks."""
ENDING_SECONDS = 40.0
"""A loop whose group was killed ends its agent and writes down how it stands; a driver that hangs is ended before that."""


@contextmanager
def gathered(request: ParallelRequest) -> Generator[Group]:
    """Hold the group while the block runs. Raises OperatorError where it is driven already, or cannot be."""
    refuse_nested()
    repository = open_repository(Path(request.repository))
    group = opened(request, repository)
    uid = _uid(repository, request.group)
    with ExitStack() as stack:
        stack.enter_context(_alone(group))
        group.folder.cancel.unlink(missing_ok=True)
        _await_earlier(group)
        known = {"helmsman", f"group:{request.group}", f"uid:{uid}"}
        announce(request.group, uid, known)
        stack.enter_context(tags(*known))
        stack.enter_context(without_heartbeats())
        stack.enter_context(hearing_cancel(group.folder.cancel))
        try:
            yield group
        except BaseException:
            _end_all(group)  # the engine waits for what it has begun, which would go on for hours
            raise


def _uid(repository: Repository, group: str) -> str:
    """The same on every day; another repository may have a group of that name."""
    return hashlib.sha256(f"{repository.common}\0{group}".encode()).hexdigest()[:16]


@contextmanager
def _alone(group: Group) -> Generator[None]:
    name = group.request.group
    with ExitStack() as held:
        try:
            held.enter_context(drive_alone(group.folder.lock, name))
        except OperatorError as error:
            problem, remedy = (
                f"group {name} is being driven already",
                f"helmsman list shows its loops; end it: helmsman cancel {name}",
            )
            raise OperatorError(problem, found=error.found, remedy=remedy) from None
        yield


def _await_earlier(group: Group) -> None:
    """Loops of a run that was killed just now are still ending, and write down how: what they come to counts."""
    until = time.monotonic() + ENDING_SECONDS
    while time.monotonic() < until and any(holder(loop_folder(group.repository, name).lock) for name in group.names):
        time.sleep(HEAR_SECONDS)


def _end_all(group: Group) -> None:
    """Have every loop stop, and wait for that."""
    group.folder.cancel.touch()
    while group.at_work:
        departed(group, heard(group))


def heard(group: Group) -> Departed:
    """The next loop whose process has ended. An engine that goes away may end a task before it has begun: that is heard too."""
    while True:
        over = [loop for loop, future in group.futures.items() if loop in group.at_work and future.done()]
        try:
            return group.departures.get(timeout=HEAR_SECONDS)
        except Empty:
            if over:
                return Departed(over[0], None, "the engine did not let its process begin; is it away?")


def work(group: Group) -> bool:
    """Begin what is due, and wait until one loop's process has ended. False where nobody is at work any more."""
    started = [_begin(group, due) for due in due_loops(group)]
    if not group.at_work:
        return False
    try:
        departed(group, heard(group))
    except STOPPED_FROM_OUTSIDE as why:
        get_run_logger().error("group %s ends: %s", group.request.group, why or "interrupted by a signal")
        _end_all(group)
        wait(started)
    return True


def chosen(group: Group) -> bool:
    """Choose the best of what has completed, once, and have it merged. Returns whether that leaves something to do."""
    done = candidates(group)
    if not done:
        return False
    loops = tuple(state.loop for state in done)
    try:
        choice = group.chosen or compare(group.request.repository, group.request.group, loops)
    except Cancelled:
        return False
    return keep(group, choice)


def concluded(group: Group) -> State[dict[str, Any]]:
    """How the flow run ends."""
    result = group_result(group)
    told = f"{result.completed} of {counted(len(result.loops), 'loop')} completed"
    told = f"{told}; best: {result.chosen.loop}, {clean(result.chosen.reason)}" if result.chosen else told
    data = result.model_dump(mode="json")
    if group.cancelled():
        return EndState(type=StateType.CANCELLED, name="Cancelled", message=told, data=data)
    if result.done:
        return EndState(type=StateType.COMPLETED, name="Completed", message=told, data=data)
    return EndState(type=StateType.FAILED, name="Incomplete", message=told, data=data)


def _begin(group: Group, due: LoopRequest) -> PrefectFuture[int | None]:
    """The engine would look into what a task is given for futures, and copy a group that is at work."""
    group.at_work.add(due.loop)
    group.driven[due.loop] += 1
    try:
        with TagsContext(current_tags=set()):  # for a task with tags the engine is asked for a slot before it begins
            future = cast("Any", drive).submit(opaque(group), opaque(due), due.loop)
    except BaseException:
        group.at_work.discard(due.loop)
        raise
    group.futures[due.loop] = future.wrapped_future
    return future


@task(name="loop", task_run_name="{name}", persist_result=False, cache_policy=NO_CACHE)
def drive(group: Group, due: LoopRequest, name: str) -> int | None:
    """Drive one loop in a process of its own. Whatever becomes of it is told; nothing is raised."""
    try:
        gone = drive_member(due, loop_folder(group.repository, name), group.cancelled)
    except Exception as error:  # noqa: BLE001 - whoever waits for it must hear of it, and the others go on
        gone = Departed(name, None, str(error) or type(error).__name__)
    group.departures.put(gone)
    return gone.exit_code


@task(name="choose", task_run_name="choose of {group}", persist_result=False, cache_policy=NO_CACHE)
def compare(repository: str, group: str, loops: tuple[str, ...]) -> Choice:
    """The best of these loops."""
    found = open_repository(Path(repository))
    states = [state for loop in loops if (state := known_state(found, loop))]
    return best_of(found, states, f"{_uid(found, group)}/choice", group_folder(found, group).cancel.exists)
