"""The run of a group of loops: each loop has its own process, and stopping the run stops them all."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateType
from prefect.context import TagsContext
from prefect.logging import get_run_logger
from prefect.utilities.annotations import opaque

from helmsman.errors import Cancelled
from helmsman.oversee.best import Candidate, choose_by_rule, combine_choices, comparison_question, read_choice
from helmsman.plain import clean, clean_lines
from helmsman.records.decision import Outcome
from helmsman.records.request import Choice, LoopRequest, ParallelRequest
from helmsman.records.state import LoopState
from helmsman.texts import plural
from tasks.credentials import judge_credentials
from tasks.engine.embedded import FOREVER, is_embedded
from tasks.engine.runs import EndState, driving_run
from tasks.groups.parallel import Group, WorkerExit, due_loops, group_result, open_group, record_exit, store_choice
from tasks.loop.run import STOPPED_FROM_OUTSIDE
from tasks.models.asking import write_text
from tasks.models.sending import WRITING_SECONDS, CallSettings
from tasks.repository.git import Repository, git, open_repository
from tasks.repository.loop_context import group_folder, loop_folder
from tasks.repository.state_ref import known_state, read_records
from tasks.system.environment import (
    PYTHON_VARIABLES,
    SESSION_VARIABLES,
    neutral_directory,
    other_environment,
    own_environment,
    refuse_nested,
)
from tasks.system.files import write_atomic
from tasks.system.lock import exclusive_folder, holder
from tasks.system.paths import LoopFolder
from tasks.system.process import TAG, run
from tasks.system.secrets import redact

POLL_SECONDS = 0.5  # between two polls of the engine's tasks
ENDING_SECONDS = 40.0
"""Time for a loop of a killed group to end its agent and store its state; a hanging driver is killed earlier."""
MODULE = "deployments.driver"  # what the process runs, by name: the layer that starts flows is above this one
PATIENCE_SECONDS = 20.0
"""Between asking a driver to stop and killing it: it ends its agent and stores the loop's state."""
GRACE_SECONDS = 10.0
WORDS_KEPT = 2_000
OF_THE_ENGINE = "PREFECT__"
"""Prefix of the variables that tell a worker's process its run. A member process is not one of the worker's."""
LONGEST_DIFF = 400_000  # characters kept of one candidate's diff; the prompt has room for fewer
COLUMNS = 3  # of a line of `git diff --numstat`: added, removed, path


@contextmanager
def running_group(request: ParallelRequest) -> Generator[Group]:
    """Lock the group while the block runs. Raises OperatorError where it already runs, or cannot run."""
    refuse_nested()
    repository = open_repository(Path(request.repository))
    group = open_group(request, repository)
    uid = _uid(repository, request.group)
    with ExitStack() as stack:
        name = request.group
        remedy = f"helmsman list shows its loops; end it: helmsman cancel {name}"
        stack.enter_context(exclusive_folder(group.folder, f"group {name}", remedy))
        write_atomic(group.folder.names, "\n".join(group.names))
        until = time.monotonic() + ENDING_SECONDS  # loops of a run that was just killed still store how they end
        while time.monotonic() < until and any(holder(loop_folder(repository, loop).lock) for loop in group.names):
            time.sleep(POLL_SECONDS)
        stack.enter_context(driving_run(name, uid, {"helmsman", f"group:{name}", f"uid:{uid}"}, group.folder.cancel))
        try:
            yield group
        except BaseException:
            _end_all(group)  # the engine waits for started tasks, which may run for hours
            raise


def _uid(repository: Repository, group: str) -> str:
    """A stable id of the group: another repository may have a group of the same name."""
    return hashlib.sha256(f"{repository.common}\0{group}".encode()).hexdigest()[:16]


def _end_all(group: Group) -> None:
    """Stop every loop and wait until all have stopped."""
    group.folder.cancel.touch()
    while group.futures:
        record_exit(group, next_exit(group))


def next_exit(group: Group) -> WorkerExit:
    """Wait for the next loop whose task ends, which an unreachable engine can do before the process starts."""
    while True:
        done = wait(group.futures.values(), timeout=POLL_SECONDS, return_when=FIRST_COMPLETED).done
        ended = next((loop for loop, future in group.futures.items() if future in done), None)
        if ended is not None:
            return group.exits.pop(ended, WorkerExit(ended, None, "the engine did not start its process; is it reachable?"))


def run_due_loops(group: Group) -> bool:
    """Start the loops that are due, and wait until one process ends. Return False where no loop is running."""
    for due in due_loops(group):
        group.runs[due.loop] += 1
        # a task with tags asks the engine for a slot before it starts
        with TagsContext(current_tags=set()):
            # the engine would search the arguments for futures, and copy a running group
            future = cast("Any", run_loop).submit(opaque(group), opaque(due), due.loop)
        group.futures[due.loop] = future.wrapped_future
    if not group.futures:
        return False
    try:
        record_exit(group, next_exit(group))
    except STOPPED_FROM_OUTSIDE as why:
        get_run_logger().error("group %s ends: %s", group.request.group, why or "interrupted by a signal")
        _end_all(group)
    return True


def choose_best(group: Group) -> bool:
    """Choose the best completed loop, once, and prepare its merge. Return whether there is more to do."""
    loops = tuple(state.loop for state in group.states() if state is not None and state.outcome is Outcome.COMPLETED)
    if not group.request.best or group.futures or group.cancelled() or not loops:
        return False
    try:
        choice = group.chosen or choose_loop(group.request.repository, group.request.group, loops)
    except Cancelled:
        return False
    return store_choice(group, choice)


def final_state(group: Group) -> State[dict[str, Any]]:
    """The final state of the flow run."""
    result = group_result(group)
    message = f"{result.completed} of {plural(len(result.loops), 'loop')} completed"
    message = f"{message}; best: {result.chosen.loop}, {clean(result.chosen.reason)}" if result.chosen else message
    data = result.model_dump(mode="json")
    kind, name = (StateType.COMPLETED, "Completed") if result.done else (StateType.FAILED, "Incomplete")
    kind, name = (StateType.CANCELLED, "Cancelled") if group.cancelled() else (kind, name)
    return EndState(type=kind, name=name, message=message, data=data)


@task(name="loop", task_run_name="{name}", persist_result=False, cache_policy=NO_CACHE)
def run_loop(group: Group, due: LoopRequest, name: str) -> int | None:
    """Run one loop in its own process and report how that ends. Raises nothing."""
    try:
        ended = run_member(due, loop_folder(group.repository, name), group.cancelled)
    except Exception as error:  # noqa: BLE001 - reported to the group, whose other loops continue
        ended = WorkerExit(name, None, str(error) or type(error).__name__)
    group.exits[name] = ended
    return ended.exit_code


@task(name="choose", task_run_name="choose of {group}", persist_result=False, cache_policy=NO_CACHE)
def choose_loop(repository: str, group: str, loops: tuple[str, ...]) -> Choice:
    """Choose the best of these loops."""
    repo = open_repository(Path(repository))
    states = [state for loop in loops if (state := known_state(repo, loop))]
    return best_of(repo, states, f"{_uid(repo, group)}/choice", group_folder(repo, group).cancel.exists)


def run_member(due: LoopRequest, folder: LoopFolder, cancelled: Callable[[], bool]) -> WorkerExit:
    """Run a loop until its process ends. Once `cancelled` returns True it is asked to stop, then killed."""
    environment = {
        name: value
        for name, value in own_environment().items()
        if name not in (*SESSION_VARIABLES, TAG) and not name.startswith(OF_THE_ENGINE)
    }
    ended = run(
        [sys.executable, "-P", "-m", MODULE, "member", *(["--embedded"] if is_embedded() else [])],
        cwd=neutral_directory(),
        env=other_environment(own_environment(), PYTHON_VARIABLES, ()),
        tag=f"member-{uuid4().hex}",
        deadline=FOREVER,
        grace=GRACE_SECONDS,
        # by a pipe: an agent could read a program's arguments and environment
        stdin=f"{json.dumps(environment)}\n{due.model_dump_json()}".encode(),
        stop=_stop_function(folder.cancel, cancelled),
    )
    errors = clean_lines(ended.stderr or ended.tail or ended.head).strip()
    return WorkerExit(due.loop, ended.exit_code, errors[-WORDS_KEPT:])


def _stop_function(flag: Path, cancelled: Callable[[], bool]) -> Callable[[], bool]:
    """A stop function that sets the cancel flag on every poll: a starting driver removes an old flag."""
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
    """The best of the completed loops. Raises Cancelled."""
    if len(states) == 1:
        return Choice(loop=states[0].loop, reason="no other loop completed")
    candidates = [_candidate(repository, state) for state in states]
    config = states[0].config
    if not config.judge.criteria:
        return choose_by_rule(candidates)
    asking = CallSettings(config, lambda: judge_credentials(config), tag, stop, WRITING_SECONDS)
    (choice, reason, usage), (reverse_choice, reverse_reason, reverse_usage) = (
        write_text(asking, partial(comparison_question, config, order), partial(read_choice, candidates=order))
        for order in (candidates, candidates[::-1])
    )
    combined = combine_choices(choice or reason, reverse_choice or reverse_reason, candidates)
    return combined.model_copy(update={"cost_usd": usage.plus(reverse_usage).cost_usd})


def _candidate(repository: Repository, state: LoopState) -> Candidate:
    commits = (state.base_commit, state.head)
    numstat = git(repository.common, "diff", "--numstat", "--no-ext-diff", *commits, "--").split("\n")  # a name may hold others
    rows = [line.split("\t", COLUMNS - 1)[:-1] for line in numstat if line]
    diff = git(repository.common, "diff", "--no-ext-diff", "--no-textconv", "--no-color", *commits, "--")
    record = next(read_records(repository, state.loop), None)
    return Candidate(
        loop=state.loop,
        diff=redact(diff[: 2 * LONGEST_DIFF])[:LONGEST_DIFF],
        files=len(rows),
        lines=sum(int(part) for row in rows for part in row if part.isdigit()),  # a binary file has no counts
        findings=len(state.findings),
        score=record.judgement.score if record and record.judgement else None,
        cost_usd=state.spending.cost_usd,
    )
