"""Trying to merge proven work: the branch that it is for never holds a tree that was not checked.

Whoever dies at any point leaves a branch that is right and a loop that goes on: what is ready is written down before the branch
moves, and a branch that holds it has been merged.
"""

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from helmsman.config import LoopConfig
from helmsman.errors import Cancelled, HelmsmanError, OperatorError, TransientError
from helmsman.oversee.merging import arrived, hindered, landing, landing_due, ready, still_proven, to_be_proven, troubled
from helmsman.plain import clean
from helmsman.records.checks import CheckReport
from helmsman.records.events import LoopMerged, MergeFailed
from helmsman.records.state import LoopState
from helmsman.records.tracking import Merged, Prepared, Trouble
from helmsman.texts import plural
from helmsman.verify.completion import unseen_tests
from tasks.loop.handoff import handed_on
from tasks.loop.merge_work import FILES_TOLD, Joined, intents, join, merge_commit, place_on
from tasks.repository.branch_files import move_branch
from tasks.repository.git import GitError, Repository, commit_and_tree, contains, current_branch, git, read_ref, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.remote import PLAINLY, fetch_ref, is_another_course, lines_of, rejections, require_remote
from tasks.repository.state_ref import PREFIX, Fenced, read_state, replace_state
from tasks.repository.worktree import ensure_worktree, salvage, stand_on
from tasks.system.clock import now_utc
from tasks.system.faults import delays_of, patiently
from tasks.system.journal import publish

RACED = ("cannot lock ref", "failed to update ref", "reference already exists", "incorrect old value")
"""Why a remote rejects a push that came too late, in its own words: it was still in time when git looked."""

Check = Callable[[str, str], CheckReport]
"""Every check on a commit and its tree."""
RACES = 20  # times that somebody else may move the branch first
NAMED = 3  # files, checks or tests that a clause names
NAP_SECONDS = 0.5  # until the next look at a branch that is being moved


@dataclass(frozen=True)
class Target:
    """The branch as it is now."""

    repository: Repository
    branch: str
    base: str  # its commit
    remote: str  # where it is that branch which counts; empty where it is ours

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def holds(self, commit: str) -> bool:
        return contains(self.repository.common, self.base, commit)


def begin_landing(context: LoopContext, state: LoopState) -> LoopState:
    """Write down that the work is proven, so that it stays so, whoever cancels or kills us while it waits to be merged."""
    return _written(context, state, landing(state), f"merge into {state.config.merge.into}")


def land(context: LoopContext, state: LoopState, check: Check) -> LoopState:
    """Merge the work of a loop whose landing has begun. Returns it merged, with a task, or waiting for a person.

    Raises Cancelled, and Fenced where another process drives the loop.
    """
    try:
        for _ in range(RACES):
            state = _tried(context, state, check)
            if not landing_due(state):
                return state
            _nap(context, NAP_SECONDS)
        raise TransientError(f"{state.config.merge.into} was updated by others {RACES} times in a row before the merge finished")
    except (Fenced, Cancelled):
        raise
    except HelmsmanError as error:
        rule = "world" if isinstance(error, TransientError) else "hindered"
        before, _ = read_state(context.repository, state.loop)
        return _failed(context, before, hindered(before, rule, error.in_a_line, now_utc()))


def catch_up(context: LoopContext, state: LoopState) -> LoopState:
    """The branch where the state says that it goes on, if the driver that found the trouble died before it moved it."""
    trouble = state.merging.trouble
    if trouble and state.head == trouble.head:
        place_on(context, state, trouble.head, trouble.work)
    return state


def _tried(context: LoopContext, state: LoopState, check: Check) -> LoopState:
    """One attempt. It is still due afterwards where somebody else has moved the branch meanwhile."""
    delays, nap = delays_of(state.config.retry), partial(_nap, context)
    target = patiently(lambda: find_target(context.repository, state.config, state.loop), delays, nap)
    known = _decided(context, state, target)
    if known is not None:
        return known
    ensure_worktree(context.repository, context.worktree, state.branch, state.head, state.base_commit)
    salvage(context.repository, context.worktree, state, state.head)  # whatever somebody left there beside the loop's last commit
    joined = join(context, state, target.base)
    if joined.conflicts:
        return _in_trouble(context, state, target, joined)
    if target.holds(joined.commit):
        return _arrived(context, state, target, Prepared(base=target.base, head=joined.commit, commit=target.base))
    commit = handed_on(context, state, joined.commit)  # with what the loop hands over, where that passes
    report = check(commit, commit_and_tree(context.worktree, commit)[1])
    problem = _problem(state, report)
    if problem and commit != joined.commit:
        commit = joined.commit
        report = check(commit, commit_and_tree(context.worktree, commit)[1])
        problem = _problem(state, report)
    if not still_proven(state, read_ref(context.repository.common, f"refs/heads/{state.branch}")):
        return state
    if problem:
        return _in_trouble(context, state, target, replace(joined, commit=commit), problem, report)
    merge = merge_commit(context, state, target.base, commit, report, joined.notes)
    prepared = Prepared(base=target.base, head=commit, commit=merge)  # whoever dies after the branch has moved finds it there
    state = _written(context, state, ready(state, prepared), f"ready to be merged into {target.branch} as {merge[:12]}")
    moved = patiently(lambda: move_on(target, merge), delays, nap)
    return _arrived(context, state, target, prepared, joined.notes) if moved else state


def _decided(context: LoopContext, state: LoopState, target: Target) -> LoopState | None:
    """What needs no work: the branch holds it, be it by a driver that died, or what was proven is not what is there."""
    prepared = state.merging.prepared
    if prepared and target.holds(prepared.commit):
        return _arrived(context, state, target, prepared)
    tip = read_ref(context.repository.common, f"refs/heads/{state.branch}")
    if not still_proven(state, tip):
        if tip and context.worktree.exists() and not current_branch(context.worktree):  # it was on no branch, for the checks
            stand_on(context.worktree, state.branch, tip)
        return _written(context, state, to_be_proven(state, now_utc()), "its branch moved on before it was merged")
    if target.holds(state.head):
        return _arrived(context, state, target, Prepared(base=target.base, head=state.head, commit=target.base))
    return None


def _problem(state: LoopState, report: CheckReport) -> str:
    missing = unseen_tests(state.config, report)
    if missing:
        return f"required tests did not run: {', '.join(map(clean, missing[:NAMED]))}"
    if report.passed:
        return ""
    names = ", ".join(clean(result.name) for result in report.failures[:NAMED])
    return f"{len(report.failures)} of {plural(len(report.results), 'check')} failed on both sides together: {names}"


def _arrived(
    context: LoopContext, state: LoopState, target: Target, prepared: Prepared, known: tuple[str, ...] = ()
) -> LoopState:
    """The branch holds it. The loop's own branch comes to where it was merged, and so does the checkout of a remote's branch."""
    notes = [*known, bring_along(target, prepared.commit)]
    try:
        if not place_on(context, state, prepared.head, state.head):
            notes.append(f"{state.branch} has moved since and was not changed")
    except HelmsmanError as error:  # what is merged stays merged
        notes.append(f"{state.branch} was not changed: {error.problem}")
    merged = Merged(
        into=target.branch,
        base=prepared.base,
        head=prepared.head,
        commit=prepared.commit,
        at=now_utc(),
        remote=target.remote if prepared.commit != prepared.base else "",
    )
    stays = prepared.head == state.head or contains(context.repository.common, state.head, prepared.base)
    began = state.base_commit if stays else prepared.base
    after = _written(context, state, arrived(state, merged, began), f"merged into {target.branch} as {prepared.commit[:12]}")
    publish(LoopMerged(merged=merged, notes=tuple(filter(None, notes))))
    return after


def _in_trouble(
    context: LoopContext, state: LoopState, target: Target, joined: Joined, problem: str = "", report: CheckReport | None = None
) -> LoopState:
    """Both sides are in conflict; or, as `problem` says, they are not right together."""
    files = joined.conflicts[:FILES_TOLD]
    paths = [one.path for one in files]
    named = ", ".join(map(clean, paths[:NAMED]))
    why = problem or f"{plural(len(joined.conflicts), 'file')} in conflict with {target.branch}: {named}"
    trouble = Trouble(
        kind="checks" if problem else "conflict",
        into=target.branch,
        base=target.base,
        work=state.head,
        head=joined.commit,
        # a state is JSON, and a name is whatever bytes somebody chose
        files=tuple(one.model_copy(update={"path": os.fsencode(one.path).decode(errors="replace")}) for one in files),
        ours=() if problem else intents(context.repository, state.head, target.base, paths),
        theirs=intents(context.repository, target.base, state.head, paths),
        why="; ".join((why, *joined.notes)),
    )
    return _failed(context, state, troubled(state, trouble, report, now_utc()))


def _failed(context: LoopContext, before: LoopState, after: LoopState) -> LoopState:
    """The loop's branch follows what is written down, so that whoever dies in between knows where it belongs."""
    why = after.ending.reason if after.ending else after.merging.trouble.why if after.merging.trouble else ""
    publish(MergeFailed(into=after.config.merge.into, why=why))
    after = _written(context, before, after, f"not merged: {why[:150]}")
    if after.head != before.head:
        place_on(context, after, after.head, before.head)
    return after


def _written(context: LoopContext, before: LoopState, after: LoopState, subject: str) -> LoopState:
    return after if after == before else replace_state(context.repository, before, after, subject)


def _nap(context: LoopContext, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not context.folder.cancel.exists() and time.monotonic() < until:
        time.sleep(min(NAP_SECONDS, max(until - time.monotonic(), 0.0)))
    if context.folder.cancel.exists():
        raise Cancelled("cancelled during the merge")


def require_target(repository: Repository, config: LoopConfig) -> None:
    """Raise OperatorError where a loop could never merge as it is told to."""
    merge, remote = config.merge, config.remote.name
    if not merge.into:
        return
    if config.workspace.in_place:
        raise _cannot("a loop that works in place has no branch of its own to merge", "leave --in-place out, or merge.into")
    if not config.checks:
        raise _cannot("nothing would verify the merge", "give --check CMD, or leave merge.into out")
    if merge.push and not succeeds(repository.common, "remote", "get-url", remote):
        raise _cannot(
            f"there is no remote {clean(remote)!r} to push to", "add it, name another with remote.name, or leave merge.push out"
        )
    known = [f"refs/heads/{merge.into}", *([f"refs/remotes/{remote}/{merge.into}"] if merge.push else ())]
    if not any(read_ref(repository.common, ref) for ref in known):
        raise _cannot(f"there is no branch {merge.into}", f"create it: git branch {shlex.quote(merge.into)}; or name another")


def _cannot(why: str, remedy: str) -> OperatorError:
    return OperatorError(f"the work cannot be merged: {why}", remedy=remedy)


def find_target(repository: Repository, config: LoopConfig, loop: str) -> Target:
    """Where the branch stands now, at the remote where that is what counts. Raises OperatorError, TransientError."""
    require_target(repository, config)
    branch, remote = config.merge.into, config.remote.name if config.merge.push else ""
    if remote:  # onto a ref of the loop's own, where what was fetched is kept from being pruned
        require_remote(repository, remote)
        base = fetch_ref(repository, remote, f"refs/heads/{branch}", f"{PREFIX}{loop}/base")
    else:
        base = read_ref(repository.common, f"refs/heads/{branch}")
    if base is None:
        raise _cannot(f"there is no branch {branch} any more", "make it again, or name another with merge.into")
    return Target(repository, branch, base, remote)


def move_on(target: Target, commit: str) -> bool:
    """Move the branch to a commit that lies on top of it. False: somebody else has moved it.

    Raises OperatorError where a person has to do something first, and TransientError where it may work by and by.
    """
    if not target.remote:
        return move_branch(target.repository, target.ref, target.base, commit)
    lease = f"--force-with-lease={target.ref}:{target.base}"
    require_remote(target.repository, target.remote)
    try:
        git(target.repository.common, "push", *PLAINLY, lease, target.remote, f"{commit}:{target.ref}")
    except GitError as error:
        rejected = rejections(error.stderr)
        if is_another_course(error.stderr) or any(word in line for line in rejected for word in RACED):
            return False
        if rejected:  # the remote's own words, where it has any: what git says around them is long and says nothing else
            told = [line.partition("remote:")[2].strip() for line in lines_of(error.stderr) if line.startswith("remote:")]
            raise OperatorError(
                f"{clean(target.remote)} refuses the merge into {target.branch}",
                found="\n".join(filter(None, told)) or error.stderr,
                remedy="allow it there, or merge the branch by hand",
            ) from error
        raise TransientError(f"the merge could not be pushed to {clean(target.remote)}", found=error.stderr) from error
    return True


def bring_along(target: Target, commit: str) -> str:
    """The local branch, after the remote's. Returns in words why it stays behind; empty where it does not."""
    ref, repository = target.ref, target.repository
    local = read_ref(repository.common, ref)
    if not target.remote or local is None or contains(repository.common, local, commit):
        return ""
    if not contains(repository.common, commit, local):
        return f"your branch {target.branch} has commits that {clean(target.remote)} does not have, so it was left as it is"
    try:
        return "" if move_branch(repository, ref, local, commit) else f"your branch {target.branch} is being moved; pull it"
    except (OperatorError, TransientError) as error:
        return f"your branch {target.branch} stays behind: {clean(error.problem)}"
