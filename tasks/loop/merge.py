"""Merging proven work: the target branch never gets a tree that was not checked.

A crash at any point leaves a correct branch and a loop that can continue: the prepared merge is stored before the branch moves,
and a branch that contains it counts as merged.
"""

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, TransientError
from helmsman.oversee.merging import (
    handle_failed_merge,
    is_merge_due,
    is_still_proven,
    require_new_proof,
    start_merge,
    wait_for_person,
    with_merge,
    with_prepared_merge,
)
from helmsman.plain import clean
from helmsman.records.checks import CheckReport
from helmsman.records.events import LoopMerged, MergeFailed
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged, MergeProblem, PreparedMerge
from helmsman.texts import plural
from helmsman.verify.completion import unseen_tests
from tasks.loop.handoff import commit_handoff
from tasks.loop.merge_work import MOST_FILES, Combined, merge_commit, move_loop_branch, rebase_or_merge, unshared_commits
from tasks.repository.branch_files import move_branch
from tasks.repository.git import GitError, Repository, commit_and_tree, contains, current_branch, git, read_ref, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import PUSH_OPTIONS, fetch_ref, has_diverged, rejections, require_remote, split_lines
from tasks.repository.state_ref import PREFIX, Fenced, read_state, replace_state
from tasks.repository.worktree import ensure_worktree, reset_to, salvage
from tasks.system.faults import delays_of, retry_transient
from tasks.system.journal import publish

RACE_MESSAGES = ("cannot lock ref", "failed to update ref", "reference already exists", "incorrect old value")
"""Messages of a remote that rejects a push because the branch moved after git looked at it."""

Check = Callable[[str, str], CheckReport]
"""Every check on a commit and its tree."""
RACES = 20  # times that another process may move the branch first
MOST_LISTED = 3  # files, checks or tests listed in a message
NAP_SECONDS = 0.5  # between two polls of a branch that is being moved


@dataclass(frozen=True)
class Target:
    """The branch to merge into, as it is now."""

    repository: Repository
    branch: str
    base: str  # tip of the branch
    remote: str  # the remote whose branch is merged into; empty for the local branch

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def holds(self, commit: str) -> bool:
        return contains(self.repository.common, self.base, commit)


def begin_merge(context: LoopContext, state: LoopState) -> LoopState:
    """Store that the work is proven, so that a cancel or a crash before the merge does not lose that."""
    return _store(context, state, start_merge(state), f"merge into {state.config.merge.into}")


def merge_loop(context: LoopContext, state: LoopState, check: Check) -> LoopState:
    """Merge the work of a loop after `begin_merge`. Return its state: merged, with a task, or waiting for a person.

    Raises Cancelled, and Fenced where another process runs the loop.
    """
    try:
        for _ in range(RACES):
            state = _try_merge(context, state, check)
            if not is_merge_due(state):
                return state
            _nap(context, NAP_SECONDS)
        raise TransientError(f"{state.config.merge.into} was updated by others {RACES} times in a row before the merge finished")
    except (Fenced, Cancelled):
        raise
    except HelmsmanError as error:
        rule = "world" if isinstance(error, TransientError) else "hindered"
        before, _ = read_state(context.repository, state.loop)
        return _store_failure(context, before, wait_for_person(before, rule, error.one_line, datetime.now(UTC)))


def finish_branch_move(context: LoopContext, state: LoopState) -> LoopState:
    """Move the branch to where the state says, if the driver that stored the trouble died before moving it."""
    trouble = state.merging.trouble
    if trouble and state.head == trouble.head:
        move_loop_branch(context, state, trouble.head, trouble.work)
    return state


def _try_merge(context: LoopContext, state: LoopState, check: Check) -> LoopState:
    """One attempt to merge. The merge is still due afterwards where another process moved the branch."""
    delays, nap = delays_of(state.config.retry), partial(_nap, context)
    target = retry_transient(lambda: find_target(context.repository, state.config, state.loop), delays, nap)
    already_merged = _without_merge(context, state, target)
    if already_merged is not None:
        return already_merged
    ensure_worktree(context.repository, context.worktree, state.branch, state.head, state.base_commit)
    salvage(context.repository, context.worktree, state, state.head)  # whatever was left there besides the loop's last commit
    joined = rebase_or_merge(context, state, target.base)
    if joined.conflicts:
        return _store_trouble(context, state, target, joined)
    if target.holds(joined.commit):
        return _store_merged(context, state, target, PreparedMerge(base=target.base, head=joined.commit, commit=target.base))
    commit = commit_handoff(context, state, joined.commit)  # with the loop's handoff, where that passes
    report = check(commit, commit_and_tree(context.worktree, commit)[1])
    problem = _problem(state, report)
    if problem and commit != joined.commit:
        commit = joined.commit
        report = check(commit, commit_and_tree(context.worktree, commit)[1])
        problem = _problem(state, report)
    if not is_still_proven(state, read_ref(context.repository.common, f"refs/heads/{state.branch}")):
        return state
    if problem:
        return _store_trouble(context, state, target, replace(joined, commit=commit), problem, report)
    merge = merge_commit(context, state, target.base, commit, report, joined.notes)
    prepared = PreparedMerge(base=target.base, head=commit, commit=merge)  # found again after a crash behind the move
    state = _store(
        context, state, with_prepared_merge(state, prepared), f"ready to be merged into {target.branch} as {merge[:12]}"
    )
    moved = retry_transient(lambda: move_target(target, merge), delays, nap)
    return _store_merged(context, state, target, prepared, joined.notes) if moved else state


def _without_merge(context: LoopContext, state: LoopState, target: Target) -> LoopState | None:
    """The state where no merge is needed: the branch contains the work already, or the proven work is no longer there."""
    prepared = state.merging.prepared
    if prepared and target.holds(prepared.commit):
        return _store_merged(context, state, target, prepared)
    tip = read_ref(context.repository.common, f"refs/heads/{state.branch}")
    if not is_still_proven(state, tip):
        if tip and context.worktree.exists() and not current_branch(context.worktree):  # detached for the checks
            reset_to(context.worktree, state.branch, tip)
        return _store(context, state, require_new_proof(state, datetime.now(UTC)), "its branch moved before the merge")
    if target.holds(state.head):
        return _store_merged(context, state, target, PreparedMerge(base=target.base, head=state.head, commit=target.base))
    return None


def _problem(state: LoopState, report: CheckReport) -> str:
    """Why the report does not allow the merge; empty where it does."""
    missing = unseen_tests(state.config, report)
    if missing:
        return f"required tests did not run: {', '.join(map(clean, missing[:MOST_LISTED]))}"
    if report.passed:
        return ""
    names = ", ".join(clean(result.name) for result in report.failures[:MOST_LISTED])
    return f"{len(report.failures)} of {plural(len(report.results), 'check')} failed on both sides together: {names}"


def _store_merged(
    context: LoopContext, state: LoopState, target: Target, prepared: PreparedMerge, notes_so_far: tuple[str, ...] = ()
) -> LoopState:
    """Store that the branch contains the work, and move the loop's branch to it."""
    notes = list(notes_so_far)
    try:
        if not move_loop_branch(context, state, prepared.head, state.head):
            notes.append(f"{state.branch} has moved since and was not changed")
    except HelmsmanError as error:  # the merge itself is done
        notes.append(f"{state.branch} was not changed: {error.problem}")
    merged = Merged(
        into=target.branch,
        base=prepared.base,
        head=prepared.head,
        commit=prepared.commit,
        at=datetime.now(UTC),
        remote=target.remote if prepared.commit != prepared.base else "",
    )
    has_same_base = prepared.head == state.head or contains(context.repository.common, state.head, prepared.base)
    new_base = state.base_commit if has_same_base else prepared.base
    after = _store(context, state, with_merge(state, merged, new_base), f"merged into {target.branch} as {prepared.commit[:12]}")
    publish(LoopMerged(merged=merged, notes=tuple(notes)))
    return after


def _store_trouble(
    context: LoopContext, state: LoopState, target: Target, joined: Combined, problem: str = "", report: CheckReport | None = None
) -> LoopState:
    """Store that both sides are in conflict or, as `problem` says, fail the checks together."""
    files = joined.conflicts[:MOST_FILES]
    paths = [file.path for file in files]
    shown = ", ".join(map(clean, paths[:MOST_LISTED]))
    why = problem or f"{plural(len(joined.conflicts), 'file')} in conflict with {target.branch}: {shown}"
    trouble = MergeProblem(
        kind="checks" if problem else "conflict",
        into=target.branch,
        base=target.base,
        work=state.head,
        head=joined.commit,
        # a state is JSON, and a file name may be any bytes
        files=tuple(file.model_copy(update={"path": os.fsencode(file.path).decode(errors="replace")}) for file in files),
        ours=() if problem else unshared_commits(context.repository, state.head, target.base, paths),
        theirs=unshared_commits(context.repository, target.base, state.head, paths),
        why="; ".join((why, *joined.notes)),
    )
    return _store_failure(context, state, handle_failed_merge(state, trouble, report, datetime.now(UTC)))


def _store_failure(context: LoopContext, before: LoopState, after: LoopState) -> LoopState:
    """Store the failed merge, then move the loop's branch, so that the next driver can repeat an interrupted move."""
    why = after.ending.reason if after.ending else after.merging.trouble.why if after.merging.trouble else ""
    publish(MergeFailed(into=after.config.merge.into, why=why))
    after = _store(context, before, after, f"not merged: {why[:150]}")
    if after.head != before.head:
        move_loop_branch(context, after, after.head, before.head)
    return after


def _store(context: LoopContext, before: LoopState, after: LoopState, subject: str) -> LoopState:
    return after if after == before else replace_state(context.repository, before, after, subject)


def _nap(context: LoopContext, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not context.folder.cancel.exists() and time.monotonic() < until:
        time.sleep(min(NAP_SECONDS, max(until - time.monotonic(), 0.0)))
    if context.folder.cancel.exists():
        raise Cancelled("cancelled during the merge")


def require_target(repository: Repository, config: LoopConfig) -> None:
    """Raise OperatorError where a loop could never merge as configured."""
    merge, remote = config.merge, config.remote.name
    if not merge.into:
        return
    if config.workspace.in_place:
        raise _cannot_merge("a loop that works in place has no branch of its own to merge", "leave --in-place out, or merge.into")
    if not config.checks:
        raise _cannot_merge("nothing would verify the merge", "give --check CMD, or leave merge.into out")
    if merge.push and not succeeds(repository.common, "remote", "get-url", remote):
        raise _cannot_merge(
            f"there is no remote {clean(remote)!r} to push to", "add it, name another with remote.name, or leave merge.push out"
        )
    refs = [f"refs/heads/{merge.into}", *([f"refs/remotes/{remote}/{merge.into}"] if merge.push else ())]
    if not any(read_ref(repository.common, ref) for ref in refs):
        raise _cannot_merge(
            f"there is no branch {merge.into}", f"create it: git branch {shlex.quote(merge.into)}; or name another"
        )


def _cannot_merge(why: str, remedy: str) -> OperatorError:
    return OperatorError(f"the work cannot be merged: {why}", remedy=remedy)


def find_target(repository: Repository, config: LoopConfig, loop: str) -> Target:
    """The current merge target, at the remote with `merge.push`. Raises OperatorError, TransientError."""
    require_target(repository, config)
    branch, remote = config.merge.into, config.remote.name if config.merge.push else ""
    if remote:  # into a ref of the loop, which keeps the commit from being pruned
        require_remote(repository, remote)
        base = fetch_ref(repository, remote, f"refs/heads/{branch}", f"{PREFIX}{loop}/base")
    else:
        base = read_ref(repository.common, f"refs/heads/{branch}")
    if base is None:
        raise _cannot_merge(f"there is no branch {branch} any more", "create it again, or name another with merge.into")
    return Target(repository, branch, base, remote)


def move_target(target: Target, commit: str) -> bool:
    """Move the branch to a descendant commit. Return False where another process moved the branch first.

    Raises OperatorError where a person has to act first, and TransientError where a retry may succeed.
    """
    if not target.remote:
        return move_branch(target.repository, target.ref, target.base, commit)
    lease = f"--force-with-lease={target.ref}:{target.base}"
    require_remote(target.repository, target.remote)
    try:
        git(target.repository.common, "push", *PUSH_OPTIONS, lease, target.remote, f"{commit}:{target.ref}")
    except GitError as error:
        rejected = rejections(error.stderr)
        if has_diverged(error.stderr) or any(word in line for line in rejected for word in RACE_MESSAGES):
            return False
        if rejected:  # show the remote's own message, if any: git's text around it is long and adds nothing
            messages = [line.partition("remote:")[2].strip() for line in split_lines(error.stderr) if line.startswith("remote:")]
            raise OperatorError(
                f"{clean(target.remote)} refuses the merge into {target.branch}",
                found="\n".join(filter(None, messages)) or error.stderr,
                remedy="allow it there, or merge the branch by hand",
            ) from error
        raise TransientError(f"the merge could not be pushed to {clean(target.remote)}", found=error.stderr) from error
    return True
