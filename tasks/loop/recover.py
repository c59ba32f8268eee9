"""Recovery after a driver's death (processes, the agent's sandbox, its work), a loop's end from outside, and moving a branch
back: to an earlier commit in an iteration, or to its best tree at the loop's end.

Commits that are rolled back stay on a ref, and the next iteration is told. At the end the state is written first and the branch
moves last. A crash in between loses nothing: the state says where the branch belongs, and the next driver moves it there.
"""

import logging
from datetime import UTC, datetime

from helmsman.errors import HelmsmanError
from helmsman.oversee.best import best_to_restore, describe_best, restore_best
from helmsman.records.advance import end, interrupt
from helmsman.records.agent import Execution, InterruptedCall, Salvage
from helmsman.records.control import LATER, Checkpoint, RolledBack
from helmsman.records.decision import CRITICAL, Decision, Outcome
from helmsman.records.events import AttemptInterrupted
from helmsman.records.state import LoopState
from helmsman.texts import plural
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.repository.git import commit_and_tree, current_branch, git, read_ref
from tasks.repository.loop_context import LoopContext
from tasks.repository.state_ref import PREFIX, free_ref, replace_state
from tasks.repository.worktree import (
    dirty_paths,
    ensure_worktree,
    recover,
    restore,
    salvage,
    save_commits,
    save_stray_work,
    set_branch,
)
from tasks.sandbox.enter import import_agent_work
from tasks.system.journal import publish
from tasks.system.process import end_tagged

MOST_FILES = 20
REGRESSING = "regressing"
_log = logging.getLogger(__name__)


def end_processes(state: LoopState) -> None:
    """Kill the loop's processes on this machine. The caller holds the lock, so none belongs to a live driver."""
    end_tagged(f"{state.uid}/", prefix=True)


def save_work(context: LoopContext, state: LoopState, start: str) -> Salvage | None:
    """Save the agent's work since `start`, in its sandbox or outside, on a ref; reset the worktree to `start`."""
    import_agent_work(context, state)
    return salvage(context.repository, context.worktree, state, start)


def repair(context: LoopContext, state: LoopState) -> LoopState:
    """Make the loop ready to continue, whatever happened to its last driver. The caller holds the lock."""
    end_processes(state)
    if state.ending is not None:
        return state
    ensure_worktree(context.repository, context.worktree, state.branch, state.head, state.base_commit)
    return mark_interrupted(context, state)


def mark_interrupted(context: LoopContext, state: LoopState) -> LoopState:
    """If an agent call started and never ended, save its work on a ref and make the next attempt due."""
    folder = CallFolder(context.folder.call(state.due, state.attempt), state.uid)
    attempt = interrupted_call(folder)
    if attempt is None:
        return state
    salvaged = save_work(context, state, attempt.start)
    after = interrupt(state, attempt, salvaged)
    outcome = f"work kept at {salvaged.ref} ({plural(salvaged.files, 'file')})" if salvaged else "nothing to keep"
    summary = f"iteration {state.due} attempt {state.attempt} was interrupted: {outcome}"
    publish(AttemptInterrupted(what=summary))
    return replace_state(context.repository, state, after, summary)


def mark_lost(context: LoopContext, state: LoopState, now: datetime) -> LoopState:
    """Make the next attempt due after an agent call on another machine whose result is unknown."""
    salvaged = salvage(context.repository, context.worktree, state, state.head)
    after = interrupt(state, InterruptedCall(start=state.head, started_at=now, ended_at=now), salvaged)
    outcome = f"work kept at {salvaged.ref}" if salvaged else "its work stays there"
    subject = f"iteration {state.due} attempt {state.attempt} was cut off with {state.host or 'its machine'}: {outcome}"
    return replace_state(context.repository, state, after, subject)


def close_loop(context: LoopContext, state: LoopState, why: BaseException, now: datetime) -> LoopState:
    """End a loop from outside an iteration: cancelled, or failed with a permanent error. The caller holds the lock."""
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


def roll_back(context: LoopContext, state: LoopState, execution: Execution, decision: Decision) -> RolledBack:
    """Reset the branch and the worktree to `decision.back_to`. Idempotent, also after a crash."""
    commit, back_to = execution.change.commit, decision.back_to
    recover(context.repository, context.worktree, state.branch)
    if read_ref(context.repository.common, f"refs/heads/{state.branch}") != back_to:  # else it was rolled back before a crash
        save_stray_work(context.repository, context.worktree, state, commit)
    ref = free_ref(context.repository, state.loop, "failed", f"{state.due}-{state.attempt}", commit)
    if read_ref(context.repository.common, ref) != commit:
        git(context.worktree, "update-ref", ref, commit)
    reset_branch(context, state, back_to)
    files = changed_between(context, back_to, commit)
    rule = decision.rule if decision.rule.startswith(CRITICAL) else REGRESSING
    reason = decision.reason if len(decision.reason) <= 300 else f"{decision.reason[:299]}…"  # noqa: PLR2004 - as recorded
    return RolledBack(iteration=state.due, ref=ref, commit=commit, back_to=back_to, rule=rule, why=reason, files=files)


def undo_changes(context: LoopContext, state: LoopState, start: str) -> tuple[str, ...]:
    """Reset the branch to `start` and return the changed files. Idempotent: after a crash the files are still returned."""
    commit = git(context.worktree, "rev-parse", "HEAD").strip()
    ref = f"{PREFIX}{state.loop}/failed/{state.due}-{state.attempt}"
    if commit != start:
        git(context.worktree, "update-ref", ref, commit)
        reset_branch(context, state, start)
    saved = read_ref(context.repository.common, ref)
    return changed_between(context, start, saved) if saved else ()


def changed_between(context: LoopContext, start: str, commit: str) -> tuple[str, ...]:
    names = git(context.worktree, "diff", "--name-only", "-z", start, commit, "--").split("\0")
    return tuple(name for name in names if name)[:MOST_FILES]


def reset_branch(context: LoopContext, state: LoopState, back_to: str) -> None:
    """Reset the branch and the worktree to that commit; a commit on no other branch is saved on a ref first."""
    tip = commit_and_tree(context.worktree, f"refs/heads/{state.branch}")[0]
    save_commits(context.repository, context.worktree, state, [tip], back_to)
    restore(context.worktree, back_to, state.branch, tip)


def leave_at_best(context: LoopContext, state: LoopState) -> LoopState:
    """Leave an ended loop at its best tree. An error before the state is stored leaves it unchanged; a later one is repaired."""
    best = best_to_restore(state)
    if best is None:
        return state
    try:
        state = _store_best(context, state, best)
        move_to_best(context, state)
    except HelmsmanError as error:
        _log.warning("the branch stays at its last tree for now, though %s was better: %s", best.commit[:10], error)
    return state


def move_to_best(context: LoopContext, state: LoopState) -> None:
    """Move the branch to where the state says that the loop was left, unless it is there; other changes go to a salvage ref."""
    left, worktree = state.failed, context.worktree
    if left is None or left.rule != LATER or state.head != left.back_to or not worktree.exists():
        return
    tip, current = read_ref(context.repository.common, f"refs/heads/{state.branch}"), current_branch(worktree)
    if tip == left.commit and current in {"", state.branch}:  # a person may have switched branches since
        recover(context.repository, worktree, state.branch)
        salvage(context.repository, worktree, state, left.commit)
        restore(worktree, left.back_to, state.branch, left.commit)
    elif tip == left.back_to and not current:
        set_branch(worktree, state.branch, left.back_to)


def _store_best(context: LoopContext, state: LoopState, best: Checkpoint) -> LoopState:
    """Store that the loop is left at its best tree; where an obstacle prevents that, log it and return the state unchanged."""
    obstacle = ""
    if not context.worktree.exists():
        obstacle = "its worktree is gone"
    elif read_ref(context.repository.common, f"refs/heads/{state.branch}") != state.head:
        obstacle = f"{state.branch} has moved since the loop ended"
    elif state.config.workspace.in_place and (dirty := dirty_paths(context.worktree)):
        obstacle = f"the checkout has uncommitted changes: {', '.join(dirty)}"
    if obstacle:
        _log.warning("the branch stays at its last tree, though %s was better: %s", best.commit[:10], obstacle)
        return state
    ref = free_ref(context.repository, state.loop, "later", str(state.iteration), state.head)
    if read_ref(context.repository.common, ref) is None:
        git(context.repository.common, "update-ref", ref, state.head, "")
    files = changed_between(context, best.commit, state.head)
    rollback = RolledBack(
        iteration=state.iteration,
        ref=ref,
        commit=state.head,
        back_to=best.commit,
        why=describe_best(state, best)[:300],
        files=files,
    )
    after = restore_best(state, best, rollback).model_copy(update={"updated_at": datetime.now(UTC)})
    return replace_state(context.repository, state, after, f"left at its best: {best.commit[:12]}")
