"""A loop's run: one driver, repair at the start, baseline checks, cancellation, merges, and a stored ending.

Only one loop merges at a time: an engine slot covers all machines, a kernel lock all processes of this one. Both are optional:
they spare loops checks that a faster merge would make void. The branch stays correct because it moves by compare-and-swap, so
after a long wait a loop merges without them.
"""

import os
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.client.schemas.objects import StateType
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists, PrefectHTTPStatusError, TerminationSignal
from prefect.logging import get_run_logger

from helmsman.agents import introduction
from helmsman.errors import Cancelled, HelmsmanError
from helmsman.memory.estimates import format_estimate
from helmsman.orient.decomposition import oversize_warning
from helmsman.oversee.limits import many_iterations_alert
from helmsman.oversee.merging import is_merge_due, require_new_proof
from helmsman.oversee.summary import start_warnings, with_baseline, with_other_checks
from helmsman.prices import known_price
from helmsman.records.checks import CheckReport, checks_fail
from helmsman.records.decision import Outcome
from helmsman.records.events import AgentIntroduced, LoopBegun, SignalRaised, WaitStarted
from helmsman.records.request import LoopRequest
from helmsman.records.result import result_of
from helmsman.records.state import LoopState
from tasks.agents.call_folder import CallFolder, has_started
from tasks.approvals.ask import ask_due_questions
from tasks.checks.editable import editable_warnings
from tasks.checks.missing import start_error
from tasks.engine import runs
from tasks.engine.embedded import is_embedded
from tasks.engine.runs import EndState, sleep_until
from tasks.engine.step import is_kept, require_results
from tasks.loop import steps
from tasks.loop.merge import begin_merge, finish_branch_move, merge_loop
from tasks.loop.prepare import copy_notes, set_up_worktree, tear_down
from tasks.loop.recover import close_loop, mark_lost, move_to_best, repair
from tasks.loop.remember import with_estimate
from tasks.loop.remote_handover import acquire_lease, holds_lease, push_at_end
from tasks.loop.start import open_loop
from tasks.memory import project_id
from tasks.observers.artifacts import log_events
from tasks.observers.telemetry import exporting
from tasks.repository.git import Repository, commit_and_tree, current_branch, open_repository, read_ref
from tasks.repository.loop_context import LoopContext, exclusive_checkout, loop_context, loop_folder, mark_finished
from tasks.repository.objects import close_readers
from tasks.repository.plan import items_of
from tasks.repository.state_ref import Fenced, known_state, read_state, replace_state, state_ref
from tasks.repository.worktree import dirty_paths, remove_worktree, salvage
from tasks.sandbox.probe import require_sandbox
from tasks.system.environment import refuse_nested
from tasks.system.faults import transient_error
from tasks.system.files import locked_within
from tasks.system.journal import journal_to, listening, note, publish
from tasks.system.lock import exclusive_folder
from tasks.system.paths import helmsman_folder
from tasks.system.secrets import redact
from tasks.trackers.thread import publish_from

Stop = Callable[[], bool]

LEASE_SECONDS = 60
"""Lease of the merge slot, the shortest that the engine allows; it is renewed while its holder lives."""
PATIENCE_SECONDS = 30 * 60.0
"""Wait before merging concurrently with others, which is safe but slower: a merge takes as long as the checks."""
ONE_TRY_SECONDS = 3.0  # timeout of one request for the slot; a cancel is noticed between requests
NAP_SECONDS = 0.2
SLOTS = "helmsman-merge-"  # prefix of the names of the engine's limits
_UNREACHABLE = httpx.HTTPError, PrefectHTTPStatusError, RuntimeError

LONGEST_STAY = 60.0
"""Longest wait in seconds inside a worker's process: starting another takes ten, and a waiting one occupies a slot."""
LONGEST_NAP = 0.5  # seconds between two checks of the clock and the cancel flag while waiting
STOPPED_FROM_OUTSIDE = (HelmsmanError, KeyboardInterrupt, TerminationSignal, OSError)
"""Exceptions that end a loop without a decision. Of the OSErrors, those of a disk or a full machine."""
STATE_TYPES = {Outcome.COMPLETED: StateType.COMPLETED, Outcome.CANCELLED: StateType.CANCELLED}
"""Prefect state type of an outcome; any other outcome shows as failed, under its own name."""


@contextmanager
def drive_loop(request: LoopRequest) -> Generator[tuple[LoopContext, LoopState]]:
    """Open and lock the loop while the block runs. Raises OperatorError when it already runs or cannot start."""
    refuse_nested()
    request = reopen_if_intended(request)
    repository = open_repository(Path(request.repository))
    with ExitStack() as stack:
        stack.callback(close_readers)
        if request.loop:  # a loop that already runs is left unchanged
            stack.enter_context(exclusive_folder(loop_folder(repository, request.loop), request.loop))
        opened = open_loop(request, str(runs.run_id()), datetime.now(UTC))
        if not request.loop:
            stack.enter_context(exclusive_folder(loop_folder(repository, opened.loop), opened.loop))
        if opened.config.workspace.in_place:
            stack.enter_context(exclusive_checkout(repository))
        context = loop_context(request.repository, opened)
        state = repair(context, read_state(repository, opened.loop)[0])
        state = acquire_lease(repository, _mark_lost_call(context, state))
        stack.enter_context(push_at_end(repository, opened.loop))
        finish_branch_move(context, state)
        move_to_best(context, state)
        stack.enter_context(runs.leaving_restarted_run())
        of_loop = {f"loop:{state.loop}", f"uid:{state.uid}"}
        # if inner runs had the tag of loops, a list of loops would be a list of iterations
        tags, inside = {"helmsman", *of_loop}, {"helmsman-iteration", *of_loop}
        stack.enter_context(
            runs.driving_run(state.loop, state.uid, tags, context.folder.cancel, inside=inside, repository=repository.top)
        )
        stack.enter_context(listening(log_events()))
        stack.enter_context(exporting(repository, context.folder, state))
        stack.enter_context(listening(journal_to(context.folder.journal)))
        yield context, state


def _mark_lost_call(context: LoopContext, state: LoopState) -> LoopState:
    """The loop, with an agent call that was in flight on another machine marked as lost: its result is not known here.

    Raises as `require_results` does.
    """
    if not state.config.remote.push or state.ending is not None:
        return state
    call = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    if not require_results(state.loop) or has_started(call):  # this machine made the call, so it knows its result
        return state
    in_flight = is_kept(state, "prompt") and not is_kept(state, "execute")
    return mark_lost(context, state, datetime.now(UTC)) if in_flight else state


def wait_if_due(context: LoopContext, state: LoopState) -> None:
    """Sleep until the moment that the loop waits for. It is part of the state, so a restart continues the wait.

    Ends on whichever of the two clocks is first: setting the wall clock back does not prolong the wait. Raises Cancelled.
    """
    if state.waiting is None or datetime.now(UTC) >= state.waiting.until:
        return
    deadline = time.monotonic() + (state.waiting.until - datetime.now(UTC)).total_seconds()
    folder = context.folder
    publish(WaitStarted(until=state.waiting.until, reason=state.waiting.reason))
    get_run_logger().warning("%s", state.waiting.reason)
    if deadline - time.monotonic() > LONGEST_STAY and runs.is_under_a_worker():
        sleep_until(state.waiting.until, state.waiting.reason)
    while datetime.now(UTC) < state.waiting.until and (left := deadline - time.monotonic()) > 0:
        if folder.cancel.exists():
            raise Cancelled("cancelled while waiting")
        time.sleep(max(min(LONGEST_NAP, left, (state.waiting.until - datetime.now(UTC)).total_seconds()), 0.0))


def end_from_outside(context: LoopContext, state: LoopState, why: BaseException) -> LoopState:
    """Store that the loop was cancelled or failed. `state` is the last one that this driver knows.

    Where another driver has taken the loop over, nothing is stored and `why` is raised.
    """
    if isinstance(why, Fenced) or runs.is_started_elsewhere() or not holds_lease(context.repository, state):
        get_run_logger().error("loop %s is left to its new driver: %s", state.loop, why)
        raise why
    reason = transient_error(why) or why
    if isinstance(reason, OSError):  # not transient: a bug in Helmsman
        raise reason
    get_run_logger().error("loop %s ends: %s", state.loop, reason)
    # the stored state has everything after `state`: questions, answers, a merge, an iteration that could not be pushed. This
    # driver holds the lock, so it stored that itself, unless the loop is of another machine or was created again
    stored, _ = read_state(context.repository, state.loop)
    state = stored if (stored.uid, stored.host) == (state.uid, state.host) else state
    if state.ending is not None and not is_merge_due(state):  # an ended loop stays ended, whatever failed afterwards
        note(str(reason))
        return state
    cause = reason if isinstance(reason, HelmsmanError) else Cancelled("interrupted by a signal")
    if state.ending is not None and not isinstance(cause, Cancelled):  # proven but not merged yet: not an ending
        raise cause
    return close_loop(context, state, cause, datetime.now(UTC))


def tidy(context: LoopContext, state: LoopState) -> None:
    """Remove a completed loop's worktree: the work is on its branch, which a worktree keeps others from checking out."""
    if state.outcome is not Outcome.COMPLETED:
        return
    tear_down(context, state)
    if state.config.workspace.in_place or not context.worktree.exists():
        return
    try:
        copy_notes(context, state)
        mark_finished(context, state)
        _save_edits(context, state)
        remove_worktree(context.repository, context.worktree)
    except (HelmsmanError, OSError) as error:
        get_run_logger().warning("the worktree %s could not be removed: %s", context.worktree, error)


def _save_edits(context: LoopContext, state: LoopState) -> None:
    """Save on a ref what a person has edited in the worktree, and not committed, since the work was verified."""
    if current_branch(context.worktree) == state.branch and not dirty_paths(context.worktree):
        return
    tip = read_ref(context.repository.common, f"refs/heads/{state.branch}") or state.head
    if saved := salvage(context.repository, context.worktree, state, tip):
        note(f"uncommitted changes in {context.worktree}, which is removed, are kept: git show {saved.ref}")


def engine_state(state: LoopState, initial: LoopState) -> EndState:
    """The final state of the flow run, with the reason and the next step. `initial`: the state that this run found."""
    outcome = state.outcome or Outcome.WAITING
    kind, name = STATE_TYPES.get(outcome, StateType.FAILED), outcome.replace("_", " ").capitalize()
    why = state.ending or state.waiting
    result = result_of(state, state_ref(state.loop))
    messages = [f"{why.rule}: {why.reason.rstrip('.')}"] if why else []
    if state.ending and state.ending == initial.ending and runs.is_under_a_worker() and runs.driven_loop() != state.uid:
        ended = f"{state.ending.at:%Y-%m-%d %H:%M} UTC"
        messages.insert(0, f"This run did nothing: loop {state.loop} ended on {ended}. For a new loop, leave its id out")
    messages += ["Retry this run to continue the loop."] if runs.is_under_a_worker() and kind is not StateType.COMPLETED else []
    return EndState(type=kind, name=name, message=". ".join(messages), data=result.model_dump(mode="json"))


def reopen_if_intended(request: LoopRequest) -> LoopRequest:
    """The request with `reopen` set where a retry or a new run is a person's way to continue a loop that has ended.

    A retry of a stopped, failed or cancelled run continues the run's loop with its stored configuration; a new run that names
    a cancelled loop continues that loop. A run that the engine restarts by itself, after a crash, does not.
    """
    name = request.loop or runs.driven_loop("loop:")
    if request.reopen or not name or not runs.is_under_a_worker():
        return request
    state = known_state(open_repository(Path(request.repository)), name)
    if state is None or state.ending is None or state.outcome is Outcome.COMPLETED:
        return request
    if runs.driven_loop() == state.uid and runs.is_retried():
        return request.model_copy(update={"loop": name, "reopen": True, "settings": {}})
    names_cancelled = runs.driven_loop() != state.uid and state.outcome is Outcome.CANCELLED
    return request.model_copy(update={"reopen": True}) if names_cancelled else request


def begin_loop(context: LoopContext, state: LoopState) -> LoopState:
    """Check that the loop can run, and store the baseline of a new one. Raises SetupFailed and OperatorError."""
    publish_from(state)
    if state.ending:
        return state
    require_sandbox(state.config.sandbox)  # before any costs, on every machine that continues the loop
    if state.agent:  # shown on resume as well
        publish(AgentIntroduced(lines=tuple(introduction(state.agent)), untold=state.untold))
    if warning := many_iterations_alert(state.config.limits):
        publish(SignalRaised(signal=warning))
    if state.config.judge.criteria and known_price(model := state.config.judge.model) is None:
        get_run_logger().warning("the price of %s is unknown: its API calls count in tokens and not in dollars", model)
    if not state.config.checks:
        get_run_logger().warning("no check is configured: NOTHING WILL BE VERIFIED in this loop")
    set_up_worktree(context, state)
    return state if state.iteration or state.checks or state.gate else _with_baseline(context, state)


def _with_baseline(context: LoopContext, state: LoopState) -> LoopState:
    """Run the checks before any work and store them with an estimate from similar work."""
    _, tree = commit_and_tree(context.worktree, state.head)
    report = steps.baseline(context, state, tree) if state.config.checks else None
    at_top = context.repository.bare or (state.config.workspace.in_place and not state.config.workspace.clean)
    editable = () if at_top else editable_warnings(state.config.checks, context.repository.top)
    warnings = (*start_warnings(state.config, report, items_of(context, state)), *editable)
    if report or warnings:
        publish(LoopBegun(report=report, warnings=warnings))
    if report and (unready := start_error(report, context.repository, state.head)):
        raise unready
    expected = state if state.task_type else with_estimate(context, state, datetime.now(UTC))
    advice = oversize_warning(expected.config, expected.estimate)
    if expected.estimate:
        note(format_estimate(expected.estimate))
    if advice:
        publish(SignalRaised(signal=advice))
        note(advice.message)
    after = with_baseline(expected, report).model_copy(update={"updated_at": datetime.now(UTC)}) if report else expected
    if after == state:
        return state
    subject = f"baseline: {checks_fail(len(report.failures), len(report.results))}" if report else f"a {after.task_type}"
    return replace_state(context.repository, state, after, subject)


def with_current_checks(context: LoopContext, state: LoopState) -> LoopState:
    """The loop, measured from its start again if a person has changed its checks: what passed before any work proves nothing.

    Raises as `begin_loop` does.
    """
    reported = _commands(state.checks)
    if not reported or reported == [redact(check.command) for check in state.config.checks]:
        return state
    report = steps.baseline(context, state, commit_and_tree(context.worktree, state.base_commit)[1])
    if _commands(report) == reported:
        return state
    publish(LoopBegun(report=report, warnings=tuple(start_warnings(state.config, report, items_of(context, state)))))
    if unready := start_error(report, context.repository, state.base_commit):
        raise unready
    after = with_other_checks(state, report).model_copy(update={"updated_at": datetime.now(UTC)})
    subject = f"baseline of other checks: {checks_fail(len(report.failures), len(report.results))}"
    return replace_state(context.repository, state, after, subject)


def _commands(report: CheckReport | None) -> list[str]:
    """Commands of a report's checks, without hidden ones, which show none."""
    return [redact(result.command) for result in report.results if result.command] if report else []


def unless_moved(context: LoopContext, state: LoopState) -> LoopState:
    """The loop after an iteration. It continues if its branch is no longer at the verified commit: people merge the branch."""
    tip = read_ref(context.repository.common, f"refs/heads/{state.branch}")
    if state.outcome is not Outcome.COMPLETED or tip in {None, state.head}:
        return state
    note(f"{state.branch} has moved from the verified commit to {str(tip)[:12]}, which has to be verified")
    return replace_state(
        context.repository, state, require_new_proof(state, datetime.now(UTC)), "its branch moved during the checks"
    )


def merge_when_due(context: LoopContext, state: LoopState) -> LoopState:
    """Merge proven work where configured. Return the loop's next state: merged, with a task, or with a question."""
    while is_merge_due(state):
        state = begin_merge(context, state)
        with exclusive_merge(context.repository, context.folder.cancel.exists):
            state = merge_loop(context, state, partial(steps.check_for_merge, context, state))
        state = ask_due_questions(context, state)
    return finish_branch_move(context, state)


@contextmanager
def exclusive_merge(repository: Repository, stop: Stop) -> Generator[None]:
    """Keep other loops of this project from merging while the block runs, as far as possible. Raises Cancelled."""
    until = time.monotonic() + PATIENCE_SECONDS
    with ExitStack() as stack:
        if not is_embedded():
            hold_slot(stack, slot_name(repository), until, stop)
        path = helmsman_folder(repository.common) / "merge.lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        stack.callback(os.close, handle)
        _wait(lambda: locked_within(handle, NAP_SECONDS), f"the lock {path}", until, stop)
        yield


def slot_name(repository: Repository) -> str:
    """Name of the engine's limit, the same for every clone of a project."""
    return f"{SLOTS}{project_id(repository)}"


def hold_slot(stack: ExitStack, name: str, until: float, stop: Stop) -> None:
    """Take the engine's only slot of that name. Its lease expires when the holder dies."""
    try:
        with get_client(sync_client=True) as client, suppress(ObjectAlreadyExists):
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=1))
        _wait(lambda: _try_slot(stack, name), f"the slot {name}", until, stop)
    except _UNREACHABLE as error:  # an unreachable engine does not block the merge
        get_run_logger().warning("the engine gave no slot %s; merging without it: %s", name, error)


def _try_slot(stack: ExitStack, name: str) -> bool:
    slot = concurrency(
        name,
        timeout_seconds=ONE_TRY_SECONDS,
        lease_duration=LEASE_SECONDS,
        strict=True,
        raise_on_lease_renewal_failure=False,  # the branch is safe without it
    )
    try:
        slot.__enter__()
    except TimeoutError:
        return False
    stack.callback(release_slot, slot, name)
    return True


def release_slot(slot: AbstractContextManager[object], name: str) -> None:
    try:
        slot.__exit__(None, None, None)
    except _UNREACHABLE as error:  # its lease expires
        get_run_logger().warning("the slot %s was not released: %s", name, error)


def _wait(take: Callable[[], bool], resource: str, until: float, stop: Stop) -> None:
    """Wait until `take` returns True or the time is over. Raises Cancelled."""
    while not take():
        if stop():
            raise Cancelled("cancelled while waiting for other merges")
        if time.monotonic() >= until:
            get_run_logger().warning("%s is still taken; merging without it", resource)
            return
