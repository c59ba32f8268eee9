"""Handing a loop over between machines: fetch it before running, acquire its lease on the remote, stop when that is lost.

The state's ref on the remote is the fence. Every driver starts by pushing its own commit to it. From then on git rejects each
push of an earlier driver, which lacks that commit.
"""

import logging
import secrets
import shlex
import socket
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from helmsman.config import RemoteConfig
from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.loop.recover import end_processes, save_work
from tasks.repository.git import TIMEOUT_SECONDS, GitError, Repository, contains, git, read_ref, succeeds
from tasks.repository.loop_context import loop_context, loop_folder, worktree_of
from tasks.repository.remote import fetch_ref, push_loop, require_remote
from tasks.repository.state_ref import PREFIX, Fenced, ShownState, read_state, show_state_at, state_ref, write_state
from tasks.repository.state_signature import Tip, Unverified, note_next
from tasks.repository.worktree import dirty_paths, require_work, reset_to
from tasks.system.faults import retry_transient
from tasks.system.keys import VARIABLE
from tasks.system.lock import exclusive_driver

FETCHED = "refs/helmsman-fetched/"
"""Refs of fetched loops, until it is known whether they are newer. Not below the refs that are listed as loops."""
RETRY_SECONDS = (1.0, 3.0, 9.0, 27.0)
"""Delays between attempts to reach the remote at the start, long enough for a network link to come back."""
END_SECONDS = 10.0
"""Timeout for a remote at a loop's end, which delays a cancel by as much. Nearly everything was pushed before."""

_log = logging.getLogger(__name__)


def pull_state(repository: Repository, loop: str, remote: RemoteConfig, *, locked: bool) -> None:
    """Fetch the remote's state of a loop with `remote.push`, unless the local one is newer.

    Work that diverged here from another machine's is saved below refs/helmsman/<loop>/. `locked`: the caller has the lock.
    Raises OperatorError without such a remote or while the loop runs here, TransientError where it cannot be reached.
    """
    if not remote.push:
        return
    require_remote(repository, remote.name)
    theirs = retry_transient(lambda: fetch_ref(repository, remote.name, state_ref(loop), f"{FETCHED}{loop}/state"), RETRY_SECONDS)
    if theirs is None:
        return
    ours = read_ref(repository.common, state_ref(loop))
    with nullcontext() if locked else exclusive_driver(loop_folder(repository, loop).lock, loop):
        if ours is not None and contains(repository.common, ours, theirs):  # the local state is newer
            _fast_forward(repository, loop, remote)
        else:
            _take_remote_state(repository, loop, remote, ours, theirs)


def bring_branch(repository: Repository, state: LoopState) -> None:
    """Move the branch forward to the head of a state that was fetched without it. Raises OperatorError where that is not here."""
    branch = f"refs/heads/{state.branch}"
    tip, worktree = read_ref(repository.common, branch), worktree_of(repository, state.loop, state.config.workspace)
    if tip == state.head or state.merged or state.config.workspace.in_place:
        return
    # where the branch was at the head before, a person moved it back or deleted it, or a killed driver rolled it back
    has_run = loop_folder(repository, state.loop).journal.exists()
    if state.head in git(repository.common, "reflog", "--format=%H", branch).split() if tip else has_run:
        return
    has_worktree, is_behind = (worktree / ".git").exists(), tip is None or contains(repository.common, state.head, tip)
    fetch = f"git fetch {state.config.remote.name} {state.branch}:{state.branch}"
    fetch = f"git worktree remove {shlex.quote(str(worktree))}, then {fetch}" if has_worktree else fetch
    require_work(repository, state.branch, state.head, fetch, stale=is_behind and has_worktree)
    if is_behind:
        git(repository.common, "branch", "--force", state.branch, state.head)


def require_new_name(repository: Repository, loop: str, remote: RemoteConfig) -> None:
    """Raise OperatorError where the remote already has a loop of this name, and TransientError as `pull_state`."""
    if remote.push and _on_remote(repository, remote, state_ref(loop)):
        raise OperatorError(
            f"a loop named {loop} already exists on remote {remote.name}",
            remedy=f"continue it here: helmsman resume {loop}; or choose another --name",
        )


def acquire_lease(repository: Repository, state: LoopState) -> LoopState:
    """Record on the remote that this process runs the loop. Raises Fenced where another process was faster."""
    if not state.config.remote.push or state.ending is not None:
        return state
    _, commit = read_state(repository, state.loop)
    host = socket.gethostname()
    was_elsewhere = state.host not in {"", host}
    # a session is stored on its machine
    after = state.model_copy(update={"host": host, **({"session": None} if was_elsewhere else {})})
    subject = f"driven on {host}" + (f", after {state.host}" if was_elsewhere else "")
    subject += f" [{secrets.token_hex(4)}]"  # two clones on one host would write the same commit within one second
    write_state(repository, after, over=commit, record=None, subject=subject)
    retry_transient(lambda: push_loop(repository, after), RETRY_SECONDS)
    return after


def check_lease(repository: Repository, state: LoopState, seconds: float = TIMEOUT_SECONDS) -> None:
    """Raise Fenced when another process has claimed the loop on the remote, TransientError when that cannot be checked."""
    if not state.config.remote.push:
        return
    theirs = _on_remote(repository, state.config.remote, state_ref(state.loop), seconds)
    ours = read_ref(repository.common, state_ref(state.loop))
    if theirs and not (ours and contains(repository.common, ours, theirs)):
        command = f"git fetch {state.config.remote.name} {state_ref(state.loop)}"
        raise Fenced(
            f"loop {state.loop} has another driver now, so this process stops writing",
            expected=f"the remote's {state_ref(state.loop)} at a commit that this process wrote",
            found=theirs,
            remedy=f"nothing; fetch the other driver's state with: {command}",
        )


def holds_lease(repository: Repository, state: LoopState) -> bool:
    """Whether no other process is known to have claimed the loop. An unreachable or slow remote counts as yes."""
    try:
        check_lease(repository, state, END_SECONDS)
    except HelmsmanError as error:
        return not isinstance(error, Fenced)
    return True


@contextmanager
def push_at_end(repository: Repository, loop: str) -> Generator[None]:
    """Push the loop's state when the block ends, however it ends. A failed push is logged; the next push includes it."""
    try:
        yield
    finally:
        try:
            state, _ = read_state(repository, loop)
            if state.config.remote.push:
                push_loop(repository, state, seconds=END_SECONDS)
        except HelmsmanError as error:
            _log.warning("the latest state of loop %s was not pushed: %s", loop, error)


def push_state(repository: Repository, state: LoopState) -> None:
    """Push the loop's state. Raises Fenced where another machine continued the loop, TransientError as `pull_state`.

    A loop that never ran has no branch: where the remote does not have it either, nothing is pushed.
    """
    if not state.config.remote.push:
        return
    remote_commit = retry_transient(lambda: _on_remote(repository, state.config.remote, state_ref(state.loop)), RETRY_SECONDS)
    has_started = remote_commit or read_ref(repository.common, f"refs/heads/{state.branch}")
    if has_started and remote_commit != read_ref(repository.common, state_ref(state.loop)):
        retry_transient(lambda: push_loop(repository, state), RETRY_SECONDS)


def _take_remote_state(repository: Repository, loop: str, remote: RemoteConfig, ours: str | None, theirs: str) -> None:
    """Replace the local state and branch by the remote's; local commits that these do not contain are saved on refs."""
    shown, ref = show_state_at(repository, loop, f"{FETCHED}{loop}/state"), state_ref(loop)
    if shown.unverified and not ours:  # a person has to accept it first; until then only the ref is set
        git(repository.common, "update-ref", ref, theirs, "0" * len(theirs))
        return
    before, state = read_state(repository, loop)[0] if ours else None, shown.state
    _require_same_loop(repository, remote, before, shown)
    head = fetch_ref(repository, remote.name, f"refs/heads/{state.branch}", f"{FETCHED}{loop}/branch")
    worktree = worktree_of(repository, loop, state.config.workspace)
    if before is not None:
        _save_local_work(repository, before, theirs, head)
    if head is not None and (worktree / ".git").exists():
        reset_to(worktree, state.branch, head)
    elif head is not None:  # where the branch is checked out, git refuses and names that worktree
        git(repository.common, "worktree", "prune")
        git(repository.common, "fetch", "--quiet", ".", f"+{FETCHED}{loop}/branch:refs/heads/{state.branch}")
    note_next(repository, loop, Tip(uid=state.uid, commit=theirs))
    git(repository.common, "update-ref", ref, theirs, ours or "0" * len(theirs))


def _require_same_loop(repository: Repository, remote: RemoteConfig, before: LoopState | None, shown: ShownState) -> None:
    """Raise where the remote's loop is not verified, works in a person's checkout, or is not the same loop as ours."""
    state, branch, commit = shown.state, shown.state.branch, shown.commit[:12]
    ref = state_ref(state.loop)
    if shown.unverified:
        raise Unverified(
            f"remote {remote.name} has an unverified state of loop {state.loop}, which was not used",
            expected=f"a state that was signed with this machine's key or that of {VARIABLE}",
            found=shown.unverified,
            remedy=f"set one {VARIABLE} on all machines; or inspect it (git show {commit}:state.json) and accept it: "
            f"git fetch {remote.name} +{ref}:{ref}, then helmsman resume {state.loop} --accept-state {commit}",
        )
    if state.config.workspace.in_place:  # its tree would replace a person's checkout with its uncommitted changes
        raise OperatorError(
            f"loop {state.loop} works in place, and continued in another checkout",
            expected=f"the checkout on {state.host or 'the machine'} that it works in",
            found=str(repository.top),
            remedy=f"resume it there; or update this checkout: git fetch {remote.name} +{ref}:{ref}, "
            f"git switch {branch} and git pull {remote.name} {branch}",
        )
    if before is not None and before.uid != state.uid:
        raise Fenced(
            f"remote {remote.name} has another loop named {state.loop}",
            expected=f"the loop with the uid {before.uid}",
            found=state.uid,
            remedy="give the new one another --name",
        )


def _fast_forward(repository: Repository, loop: str, remote: RemoteConfig) -> None:
    """Fast-forward the branch to the remote's, which an agent call moves before the state. Skipped with uncommitted work."""
    state, _ = read_state(repository, loop)
    branch = f"refs/heads/{state.branch}"
    head = None if state.config.workspace.in_place else fetch_ref(repository, remote.name, branch, f"{FETCHED}{loop}/branch")
    tip, completed = read_ref(repository.common, branch), state.outcome is Outcome.COMPLETED
    if head is None or (tip is not None and not contains(repository.common, head, tip)) or (completed and head != state.head):
        return
    worktree = worktree_of(repository, loop, state.config.workspace)
    if not (worktree / ".git").exists():
        succeeds(repository.common, "fetch", "--quiet", ".", f"{FETCHED}{loop}/branch:{branch}")  # fails where it is checked out
    elif head != tip and not dirty_paths(worktree):
        reset_to(worktree, state.branch, head)


def _save_local_work(repository: Repository, state: LoopState, theirs: str, head: str | None) -> None:
    """Save what only this machine has of the loop: work in flight, commits, a state."""
    context = loop_context(str(repository.top), state)
    end_processes(state)
    if (context.worktree / ".git").exists():
        save_work(context, state, state.head)
    _, ours = read_state(repository, state.loop)
    for commit, other in ((ours, theirs), (read_ref(repository.common, f"refs/heads/{state.branch}"), head)):
        if commit and other and not contains(repository.common, other, commit):
            git(repository.common, "update-ref", f"{PREFIX}{state.loop}/fenced/{commit[:12]}", commit)


def _on_remote(repository: Repository, remote: RemoteConfig, ref: str, seconds: float = TIMEOUT_SECONDS) -> str:
    """The remote's commit of a ref; empty if it has none. Raises OperatorError without that remote, and TransientError."""
    require_remote(repository, remote.name)
    try:
        return git(repository.common, "ls-remote", remote.name, ref, timeout=seconds).partition("\t")[0].strip()
    except GitError as error:
        raise TransientError(f"the loop cannot be looked up on remote {remote.name}", found=error.stderr) from error
