"""Recovery: what a driver that died left in flight (processes, the agent's box, its work), a loop's end from outside, and a
branch that goes back: to an earlier commit in an iteration, or to its best tree at the loop's end.

What is taken off stays on a ref, and the next iteration is told. At the end the state is written first and the branch moves
last. Who dies in between has lost nothing: the state says where the branch belongs, and the next driver puts it there.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime

from helmsman.errors import HelmsmanError
from helmsman.oversee.best import better_to_leave, left_at, why_left
from helmsman.records.advance import end, interrupt
from helmsman.records.agent import Execution, Interrupted, Salvage
from helmsman.records.control import LATER, Checkpoint, Failed
from helmsman.records.decision import PAIN, Decision, Outcome
from helmsman.records.events import AttemptInterrupted
from helmsman.records.state import LoopState
from helmsman.texts import plural
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.repository.git import current_branch, git, read_ref
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import PREFIX, free_ref, replace_state
from tasks.repository.worktree import dirty_paths, ensure_worktree, go_back_to, hold_branch, keep, recover, salvage
from tasks.sandbox.enter import take_over_work
from tasks.system.clock import now_utc
from tasks.system.journal import publish
from tasks.system.process import end_tagged

FILES_TOLD = 20
REGRESSING = "regressing"
_log = logging.getLogger(__name__)


def end_processes(state: LoopState) -> None:
    """Whatever still runs of the loop on this machine. The caller holds the lock: none of it is a driver's who lives."""
    end_tagged(f"{state.uid}/", prefix=True)


def keep_work(context: LoopContext, state: LoopState, start: str) -> Salvage | None:
    """What the agent did since `start`, in its box or beside it, on a ref; the worktree is as it was then, afterwards."""
    take_over_work(context, state)
    return salvage(context.repository, context.worktree, state, start)


def repair(context: LoopContext, state: LoopState) -> LoopState:
    """Make the loop ready to go on, whatever happened to its last driver. The caller holds the lock."""
    end_processes(state)
    if state.ending is not None:
        return state
    ensure_worktree(context.repository, context.worktree, state.branch, state.head, state.base_commit)
    return mark_interrupted(context, state)


def mark_interrupted(context: LoopContext, state: LoopState) -> LoopState:
    """When an agent call began and never ended: keep its work on a ref and make the next attempt due."""
    folder = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    attempt = interrupted_call(folder)
    if attempt is None:
        return state
    kept = keep_work(context, state, attempt.start)
    after = interrupt(state, attempt, kept)
    where = f"work kept at {kept.ref} ({plural(kept.files, 'file')})" if kept else "nothing to keep"
    what = f"iteration {state.due} attempt {state.attempt} was interrupted: {where}"
    publish(AttemptInterrupted(what=what))
    return replace_state(context.repository, state, after, what)


def lost_elsewhere(context: LoopContext, state: LoopState, now: datetime) -> LoopState:
    """A call of the agent began on a machine that is gone, and nobody knows how it ended: the next attempt is due."""
    kept = salvage(context.repository, context.worktree, state, state.head)
    after = interrupt(state, Interrupted(start=state.head, started_at=now, ended_at=now), kept)
    what = f"work kept at {kept.ref}" if kept else "its work stays there"
    told = f"iteration {state.due} attempt {state.attempt} was cut off with {state.host or 'its machine'}: {what}"
    return replace_state(context.repository, state, after, told)


def close(context: LoopContext, state: LoopState, why: BaseException, now: datetime) -> LoopState:
    """End a loop from outside an iteration: cancelled, or broken by an error that no retry repairs. The caller holds the lock."""
    end_processes(state)
    state = mark_interrupted(context, state)
    fault = why.fault if isinstance(why, HelmsmanError) and why.fault != "nobody" else ""
    decision = Decision(
        kind="stop",
        rule=f"error.{fault}" if fault else "cancelled",
        reason=f"{str(why) or 'asked to stop'}; continue with: helmsman resume {state.loop}",
        at=now,
        outcome=Outcome.FAILED if fault else Outcome.CANCELLED,
        fault=fault,
    )
    return replace_state(context.repository, state, end(state, decision, now), f"end: {decision.rule}")


def roll_back(context: LoopContext, state: LoopState, execution: Execution, decision: Decision) -> Failed:
    """Put the branch and the worktree at `decision.back_to`. Done already, by a driver that died after it: nothing changes."""
    commit, back_to = execution.change.commit, decision.back_to
    recover(context.repository, context.worktree, state.branch)
    ref = free_ref(context.repository, state.loop, "failed", f"{state.due}-{state.attempt}", commit)
    if read_ref(context.repository.common, ref) != commit:
        git(context.worktree, "update-ref", ref, commit)
    go_back(context, state, back_to)
    files = changed_between(context, back_to, commit)
    rule = decision.rule if decision.rule.startswith(PAIN) else REGRESSING
    why = decision.reason if len(decision.reason) <= 300 else f"{decision.reason[:299]}…"  # noqa: PLR2004 - as recorded
    return Failed(iteration=state.due, ref=ref, commit=commit, back_to=back_to, rule=rule, why=why, files=files)


def take_back(context: LoopContext, state: LoopState, start: str) -> tuple[str, ...]:
    """Put the branch back to `start` and return what had been changed. Done already, by a driver that died: told all the same."""
    commit = git(context.worktree, "rev-parse", "HEAD").strip()
    known = f"{PREFIX}{state.loop}/failed/{state.due}-{state.attempt}"
    if commit != start:
        git(context.worktree, "update-ref", known, commit)
        go_back(context, state, start)
    kept = read_ref(context.repository.common, known)
    return changed_between(context, start, kept) if kept else ()


def changed_between(context: LoopContext, start: str, commit: str) -> tuple[str, ...]:
    names = git(context.worktree, "diff", "--name-only", "-z", start, commit, "--").split("\0")
    return tuple(name for name in names if name)[:FILES_TOLD]


def go_back(context: LoopContext, state: LoopState, back_to: str) -> None:
    """The branch and the worktree at that commit, whatever they hold; a commit that nobody else holds goes to a ref first."""
    tip = read_ref(context.worktree, f"refs/heads/{state.branch}")
    keep(context.repository, context.worktree, state, [tip] if tip else [], back_to)
    go_back_to(context.worktree, state.branch, back_to)


def left_at_best(context: LoopContext, state: LoopState) -> LoopState:
    """The loop as it ends. What goes wrong before its state says so leaves it where it was; what goes wrong later is repaired."""
    best = better_to_leave(state)
    if best is None:
        return state
    with _telling(f"the branch stays at its last tree, though {best.commit[:10]} was better"):
        state = _written(context, state, best)
    kept = state.failed
    if kept is not None and kept.rule == LATER and state.head == kept.back_to:
        with _telling(f"the branch is put to {best.commit[:10]} by whoever goes on with the loop"):
            _go_back(context, state, kept)
    return state


@contextmanager
def _telling(what: str) -> Generator[None]:
    try:
        yield
    except HelmsmanError as error:
        _log.warning("%s: %s", what, error)


def stand_at_best(context: LoopContext, state: LoopState) -> None:
    """Put the branch where the state says that the loop was left, if the driver that left it died before."""
    kept = state.failed
    if kept is None or kept.rule != LATER or state.head != kept.back_to or not context.worktree.exists():
        return
    tip, on = read_ref(context.repository.common, f"refs/heads/{state.branch}"), current_branch(context.worktree)
    if tip == kept.commit and on in {"", state.branch}:
        _go_back(context, state, kept)
    elif tip == kept.back_to and not on:  # somebody may have gone to another branch since
        hold_branch(context.worktree, state.branch, kept.back_to)


def _written(context: LoopContext, state: LoopState, best: Checkpoint) -> LoopState:
    """The loop that is to be left there, as its state says from now on; or as it was, where something hinders it."""
    hindered = ""
    if not context.worktree.exists():
        hindered = "its worktree is gone"
    elif read_ref(context.repository.common, f"refs/heads/{state.branch}") != state.head:
        hindered = f"{state.branch} is not where the loop left it"
    elif state.config.workspace.in_place and (dirty := dirty_paths(context.worktree)):
        hindered = f"the checkout has uncommitted changes: {', '.join(dirty)}"
    if hindered:
        _log.warning("the branch stays at its last tree, though %s was better: %s", best.commit[:10], hindered)
        return state
    ref = free_ref(context.repository, state.loop, "later", str(state.iteration), state.head)
    if read_ref(context.repository.common, ref) is None:
        git(context.repository.common, "update-ref", ref, state.head, "")
    files = changed_between(context, best.commit, state.head)
    kept = Failed(
        iteration=state.iteration, ref=ref, commit=state.head, back_to=best.commit, why=why_left(state, best)[:300], files=files
    )
    after = left_at(state, best, kept).model_copy(update={"updated_at": now_utc()})
    return replace_state(context.repository, state, after, f"left at its best: {best.commit[:12]}")


def _go_back(context: LoopContext, state: LoopState, kept: Failed) -> None:
    """Whatever lies in the worktree beside the work goes to a salvage ref."""
    recover(context.repository, context.worktree, state.branch)
    salvage(context.repository, context.worktree, state, kept.commit)
    go_back_to(context.worktree, state.branch, kept.back_to, before=kept.commit)
