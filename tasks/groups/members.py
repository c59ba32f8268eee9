"""The frame around a group of loops: one run drives it, each loop has a process, and whoever stops the run stops them all."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any, cast
from uuid import uuid4

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateType
from prefect.context import TagsContext
from prefect.futures import PrefectFuture, wait
from prefect.logging import get_run_logger
from prefect.utilities.annotations import opaque

from helmsman.errors import Cancelled
from helmsman.oversee.best import Candidate, agreed, by_rule, compare_request, read_choice
from helmsman.plain import clean, clean_lines
from helmsman.records.decision import Outcome
from helmsman.records.request import Choice, LoopRequest, ParallelRequest
from helmsman.records.state import LoopState
from helmsman.texts import plural
from tasks.credentials import judge_credentials
from tasks.engine.embedded import FOREVER, is_embedded
from tasks.engine.runs import EndState, driving_run
from tasks.groups.parallel import Group, WorkerExit, departed, due_loops, group_result, keep, opened
from tasks.loop.run import STOPPED_FROM_OUTSIDE
from tasks.models.asking import Asking, written
from tasks.observers.follow import newest_record
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.loop_context import group_folder, loop_folder
from tasks.repository.state_ref import known_state
from tasks.system.environment import OF_A_SESSION, OF_PYTHON, neutral_directory, other_environment, ours, refuse_nested
from tasks.system.lock import exclusive_folder, holder
from tasks.system.paths import LoopFolder
from tasks.system.process import TAG, run
from tasks.system.secrets import redact

HEAR_SECONDS = 0.5  # between two looks at what the engine has made of its tasks
ENDING_SECONDS = 40.0
"""A loop whose group was killed ends its agent and writes down how it stands; a driver that hangs is ended before that."""
MODULE = "deployments.driver"  # what the process runs, by name: what starts flows stands above us
PATIENCE_SECONDS = 20.0
"""Between asking a driver to stop and ending it: it ends its agent, and writes down how the loop stands."""
GRACE_SECONDS = 10.0
WORDS_KEPT = 2_000
OF_THE_ENGINE = "PREFECT__"
"""How variables begin by which a worker tells a process which run it is. This one is none of the worker's."""
LONGEST_DIFF = 400_000  # characters of one candidate's diff that are kept; the question has room for fewer
COLUMNS = 3  # of a line of `git diff --numstat`: added, removed, path


@contextmanager
def running_group(request: ParallelRequest) -> Generator[Group]:
    """Hold the group while the block runs. Raises OperatorError where it is driven already, or cannot be."""
    refuse_nested()
    repository = open_repository(Path(request.repository))
    group = opened(request, repository)
    uid = _uid(repository, request.group)
    with ExitStack() as stack:
        name = request.group
        remedy = f"helmsman list shows its loops; end it: helmsman cancel {name}"
        stack.enter_context(exclusive_folder(group.folder, f"group {name}", remedy))
        until = time.monotonic() + ENDING_SECONDS  # loops of a run that was killed just now still write down how they end
        while time.monotonic() < until and any(holder(loop_folder(repository, one).lock) for one in group.names):
            time.sleep(HEAR_SECONDS)
        stack.enter_context(driving_run(name, uid, {"helmsman", f"group:{name}", f"uid:{uid}"}, group.folder.cancel))
        try:
            yield group
        except BaseException:
            _end_all(group)  # the engine waits for what it has begun, which would go on for hours
            raise


def _uid(repository: Repository, group: str) -> str:
    """The same on every day; another repository may have a group of that name."""
    return hashlib.sha256(f"{repository.common}\0{group}".encode()).hexdigest()[:16]


def _end_all(group: Group) -> None:
    """Have every loop stop, and wait for that."""
    group.folder.cancel.touch()
    while group.at_work:
        departed(group, heard(group))


def heard(group: Group) -> WorkerExit:
    """The next loop whose process has ended. An engine that goes away may end a task before it has begun: that is heard too."""
    while True:
        over = [loop for loop, future in group.futures.items() if loop in group.at_work and future.done()]
        try:
            return group.departures.get(timeout=HEAR_SECONDS)
        except Empty:
            if over:
                return WorkerExit(over[0], None, "the engine did not let its process begin; is it away?")


def work(group: Group) -> bool:
    """Begin what is due, and wait until one loop's process has ended. False where nobody is at work any more."""
    started = list[PrefectFuture[int | None]]()
    for due in due_loops(group):
        group.at_work.add(due.loop)
        group.driven[due.loop] += 1
        try:
            # for a task with tags the engine is asked for a slot before it begins
            with TagsContext(current_tags=set()):
                # the engine would look into what a task is given for futures, and copy a group that is at work
                future = cast("Any", drive).submit(opaque(group), opaque(due), due.loop)
        except BaseException:
            group.at_work.discard(due.loop)
            raise
        group.futures[due.loop] = future.wrapped_future
        started.append(future)
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
    loops = tuple(state.loop for state in group.states() if state is not None and state.outcome is Outcome.COMPLETED)
    if not group.request.best or group.at_work or group.cancelled() or not loops:
        return False
    try:
        choice = group.chosen or compare(group.request.repository, group.request.group, loops)
    except Cancelled:
        return False
    return keep(group, choice)


def concluded(group: Group) -> State[dict[str, Any]]:
    """How the flow run ends."""
    result = group_result(group)
    told = f"{result.completed} of {plural(len(result.loops), 'loop')} completed"
    told = f"{told}; best: {result.chosen.loop}, {clean(result.chosen.reason)}" if result.chosen else told
    data = result.model_dump(mode="json")
    kind, name = (StateType.COMPLETED, "Completed") if result.done else (StateType.FAILED, "Incomplete")
    kind, name = (StateType.CANCELLED, "Cancelled") if group.cancelled() else (kind, name)
    return EndState(type=kind, name=name, message=told, data=data)


@task(name="loop", task_run_name="{name}", persist_result=False, cache_policy=NO_CACHE)
def drive(group: Group, due: LoopRequest, name: str) -> int | None:
    """Drive one loop in a process of its own. Whatever becomes of it is told; nothing is raised."""
    try:
        gone = drive_member(due, loop_folder(group.repository, name), group.cancelled)
    except Exception as error:  # noqa: BLE001 - whoever waits for it must hear of it, and the others go on
        gone = WorkerExit(name, None, str(error) or type(error).__name__)
    group.departures.put(gone)
    return gone.exit_code


@task(name="choose", task_run_name="choose of {group}", persist_result=False, cache_policy=NO_CACHE)
def compare(repository: str, group: str, loops: tuple[str, ...]) -> Choice:
    """The best of these loops."""
    found = open_repository(Path(repository))
    states = [state for loop in loops if (state := known_state(found, loop))]
    return best_of(found, states, f"{_uid(found, group)}/choice", group_folder(found, group).cancel.exists)


def drive_member(due: LoopRequest, folder: LoopFolder, cancelled: Callable[[], bool]) -> WorkerExit:
    """Drive a loop until its process ends. Once `cancelled` says so it is asked to stop, and ended where it does not."""
    environment = {
        name: value for name, value in ours().items() if name not in (*OF_A_SESSION, TAG) and not name.startswith(OF_THE_ENGINE)
    }
    ended = run(
        [sys.executable, "-P", "-m", MODULE, "member", *(["--embedded"] if is_embedded() else [])],
        cwd=neutral_directory(),
        env=other_environment(ours(), OF_PYTHON, ()),
        tag=f"member-{uuid4().hex}",
        deadline=FOREVER,
        grace=GRACE_SECONDS,
        # by a pipe: what a program is started with an agent could read
        stdin=f"{json.dumps(environment)}\n{due.model_dump_json()}".encode(),
        stop=_stopping(folder.cancel, cancelled),
    )
    words = clean_lines(ended.stderr or ended.tail or ended.head).strip()
    return WorkerExit(due.loop, ended.exit_code, words[-WORDS_KEPT:])


def _stopping(flag: Path, cancelled: Callable[[], bool]) -> Callable[[], bool]:
    """The flag is set again and again: a driver that is only starting takes an old one away."""
    since: list[float] = []

    def stop() -> bool:
        if not cancelled():
            return False
        since.append(time.monotonic())
        del since[1:]
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()
        return time.monotonic() - since[0] > PATIENCE_SECONDS

    return stop


def best_of(repository: Repository, states: Sequence[LoopState], tag: str, stop: Callable[[], bool]) -> Choice:
    """The best of loops that have completed. Raises Cancelled."""
    if len(states) == 1:
        return Choice(loop=states[0].loop, reason="no other loop completed")
    candidates = [_candidate(repository, state) for state in states]
    config = states[0].config
    if not config.judge.criteria:
        return by_rule(candidates)
    by = Asking(config, lambda: judge_credentials(config), tag, stop)
    (one, first), (other, second) = (
        written(by, partial(compare_request, config, order), partial(read_choice, candidates=order))
        for order in (candidates, candidates[::-1])
    )
    spent = first.usage.cost_usd + second.usage.cost_usd
    return agreed(one or first.reason, other or second.reason, candidates).model_copy(update={"cost_usd": spent})


def _candidate(repository: Repository, state: LoopState) -> Candidate:
    between = (state.base_commit, state.head)
    numbers = git(repository.common, "diff", "--numstat", "--no-ext-diff", *between, "--").split("\n")  # a name may hold others
    rows = [line.split("\t", COLUMNS - 1)[:-1] for line in numbers if line]
    diff = git(repository.common, "diff", "--no-ext-diff", "--no-textconv", "--no-color", *between, "--")
    record = newest_record(repository, state.loop)
    return Candidate(
        loop=state.loop,
        diff=redact(diff[: 2 * LONGEST_DIFF])[:LONGEST_DIFF],
        files=len(rows),
        lines=sum(int(part) for row in rows for part in row if part.isdigit()),  # a binary file tells none
        findings=len(state.findings),
        score=record.judgement.score if record and record.judgement else None,
        cost_usd=state.spending.cost_usd,
    )
