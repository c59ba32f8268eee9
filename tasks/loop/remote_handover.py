"""A loop between machines: fetched before somebody drives it, claimed on the remote, and left alone by whoever lost it.

The state's ref on the remote is the fence. Every driver begins with a commit of its own on it. From then on git refuses each
push of an earlier driver, which has not got that commit.
"""

import logging
import secrets
import socket
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from helmsman.config import RemoteConfig
from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.records.decision import Outcome
from helmsman.records.state import LoopState
from tasks.loop.recover import end_processes, keep_work
from tasks.repository.git import TIMEOUT_SECONDS, GitError, Repository, contains, git, read_ref, succeeds
from tasks.repository.loop_context import loop_context, loop_folder, worktree_of
from tasks.repository.remote import fetch_ref, no_remote, push_loop, require_remote
from tasks.repository.state_ref import PREFIX, Fenced, Shown, read_state, shown_at, state_ref, write_state
from tasks.repository.state_signature import Tip, Unverified, note_next
from tasks.repository.worktree import dirty_paths, stand_on
from tasks.system.faults import patiently
from tasks.system.keys import VARIABLE
from tasks.system.lock import exclusive_driver

FETCHED = "refs/helmsman-fetched/"
"""Where a loop lies as the remote has it, until it is known whether it is newer. Outside of what is listed as loops."""
AGAIN_SECONDS = (1.0, 3.0, 9.0, 27.0)
"""Waits between tries to reach the remote at the start: a machine whose link comes back has it within these."""
SECONDS_AT_AN_END = 10.0
"""How long a remote is waited for that does not answer: whoever cancels a loop waits as long. Nearly all was pushed before."""

_log = logging.getLogger(__name__)


def pull_state(repository: Repository, loop: str, remote: RemoteConfig, *, held: bool) -> None:
    """Have a loop that travels here as the remote has it, unless what is here came after that.

    What this machine did after somebody else had gone on is kept below refs/helmsman/<loop>/. `held`: the caller has the lock.
    Raises OperatorError without such a remote or while somebody drives the loop here, TransientError where it cannot be reached.
    """
    if not remote.push:
        return
    require_remote(repository, remote.name)
    theirs = patiently(lambda: fetch_ref(repository, remote.name, state_ref(loop), f"{FETCHED}{loop}/state"), AGAIN_SECONDS)
    if theirs is None:
        return
    ours = read_ref(repository.common, state_ref(loop))
    with nullcontext() if held else exclusive_driver(loop_folder(repository, loop).lock, loop):
        if ours is not None and contains(repository.common, ours, theirs):  # what is here came after that
            _follow(repository, loop, remote)
        else:
            _replace(repository, loop, remote, ours, theirs)


def refuse_taken(repository: Repository, loop: str, remote: RemoteConfig) -> None:
    """Raises OperatorError where a loop that travels has the name of one on the remote, and TransientError as `pull_state`."""
    if not remote.push:
        return
    require_remote(repository, remote.name)
    if _on_remote(repository, remote, state_ref(loop)):
        raise OperatorError(
            f"a loop named {loop} already exists on remote {remote.name}",
            remedy=f"go on with it here: helmsman resume {loop}; or choose another --name",
        )


def acquire_lease(repository: Repository, state: LoopState) -> LoopState:
    """Have the remote know that this process drives the loop. Raises Fenced where somebody else was faster."""
    if not state.config.remote.push or state.ending is not None:
        return state
    _, commit = read_state(repository, state.loop)
    here = socket.gethostname()
    elsewhere = state.host not in {"", here}
    after = state.model_copy(update={"host": here, **({"session": None} if elsewhere else {})})  # a session lies on its machine
    told = f"driven on {here}" + (f", after {state.host}" if elsewhere else "")
    told += f" [{secrets.token_hex(4)}]"  # two clones on one host, in one second, would write the very same commit
    write_state(repository, after, over=commit, record=None, subject=told)
    patiently(lambda: push_loop(repository, after), AGAIN_SECONDS)
    return after


def check_lease(repository: Repository, state: LoopState, seconds: float = TIMEOUT_SECONDS) -> None:
    """Raises Fenced when somebody else has claimed the loop on the remote since, and TransientError when that cannot be asked."""
    if not state.config.remote.push:
        return
    theirs = _on_remote(repository, state.config.remote, state_ref(state.loop), seconds)
    ours = read_ref(repository.common, state_ref(state.loop))
    if theirs and not (ours and contains(repository.common, ours, theirs)):
        look = f"git fetch {state.config.remote.name} {state_ref(state.loop)}"
        raise Fenced(
            f"loop {state.loop} has another driver now, so this process stops writing",
            expected=f"the remote's {state_ref(state.loop)} to be one that this process has written",
            found=theirs,
            remedy=f"nothing; fetch what the other driver wrote with: {look}",
        )


def is_ours(repository: Repository, state: LoopState) -> bool:
    """Whether nobody else is known to have claimed the loop. A remote that is gone or does not answer soon tells nothing."""
    try:
        check_lease(repository, state, SECONDS_AT_AN_END)
    except Fenced:
        return False
    except HelmsmanError:
        return True
    return True


@contextmanager
def pushed(repository: Repository, loop: str) -> Generator[None]:
    """However the block ends, the remote has the loop as it stands then. What fails, the next push makes up for."""
    try:
        yield
    finally:
        try:
            state, _ = read_state(repository, loop)
            if state.config.remote.push:
                push_loop(repository, state, seconds=SECONDS_AT_AN_END)
        except HelmsmanError as error:
            _log.warning("loop %s is not on its remote as it stands here: %s", loop, error)


def push_state(repository: Repository, state: LoopState) -> None:
    """Have the remote hold the loop as it stands here. Raises Fenced where somebody else went on, TransientError as `pull_state`.

    One that nobody has driven yet has no branch: where the remote has not heard of it either, there is nobody to tell.
    """
    if not state.config.remote.push:
        return
    there = patiently(lambda: _on_remote(repository, state.config.remote, state_ref(state.loop)), AGAIN_SECONDS)
    begun = there or read_ref(repository.common, f"refs/heads/{state.branch}")
    if begun and there != read_ref(repository.common, state_ref(state.loop)):
        patiently(lambda: push_loop(repository, state), AGAIN_SECONDS)


def _replace(repository: Repository, loop: str, remote: RemoteConfig, ours: str | None, theirs: str) -> None:
    """Put the remote's course in the place of ours; whatever of ours it does not hold is kept on refs."""
    shown, ref = shown_at(repository, loop, f"{FETCHED}{loop}/state"), state_ref(loop)
    if shown.unverified and not ours:  # to be looked at, and accepted; until then nothing else is done with it
        git(repository.common, "update-ref", ref, theirs, "0" * len(theirs))
        return
    before, state = read_state(repository, loop)[0] if ours else None, shown.state
    _require_ours(repository, remote, before, shown)
    head = fetch_ref(repository, remote.name, f"refs/heads/{state.branch}", f"{FETCHED}{loop}/branch")
    worktree = worktree_of(repository, loop, state.config.workspace)
    if before is not None:
        _leave(repository, before, theirs, head)
    if head is not None and (worktree / ".git").exists():
        stand_on(worktree, state.branch, head)
    elif head is not None:  # git refuses it, and names the place, where somebody has the branch checked out
        git(repository.common, "worktree", "prune")
        git(repository.common, "fetch", "--quiet", ".", f"+{FETCHED}{loop}/branch:refs/heads/{state.branch}")
    note_next(repository, loop, Tip(uid=state.uid, commit=theirs))
    git(repository.common, "update-ref", ref, theirs, ours or "0" * len(theirs))


def _require_ours(repository: Repository, remote: RemoteConfig, before: LoopState | None, shown: Shown) -> None:
    """Raises where the remote's loop is not verified, works in somebody's checkout, or is another one than ours."""
    state, branch, commit = shown.state, shown.state.branch, shown.commit[:12]
    ref = state_ref(state.loop)
    if shown.unverified:
        raise Unverified(
            f"remote {remote.name} holds a state of loop {state.loop} that is not verified, and nothing was used from it",
            expected=f"a state that was signed with this machine's key or that of {VARIABLE}",
            found=shown.unverified,
            remedy=f"give all machines one {VARIABLE}; or look at it (git show {commit}:state.json) and take it: "
            f"git fetch {remote.name} +{ref}:{ref}, then helmsman resume {state.loop} --accept-state {commit}",
        )
    if state.config.workspace.in_place:  # its tree would come in the place of a person's, with what lies there uncommitted
        raise OperatorError(
            f"loop {state.loop} works in a checkout of its own, and went on in another one",
            expected=f"the checkout on {state.host or 'the machine'} that it works in",
            found=str(repository.top),
            remedy=f"resume it there; or bring this one to where it stands: git fetch {remote.name} +{ref}:{ref}, "
            f"git switch {branch} and git pull {remote.name} {branch}",
        )
    if before is not None and before.uid != state.uid:
        raise Fenced(
            f"remote {remote.name} holds another loop that is called {state.loop} as well",
            expected=f"the loop with the uid {before.uid}",
            found=state.uid,
            remedy="give the new one another --name",
        )


def _follow(repository: Repository, loop: str, remote: RemoteConfig) -> None:
    """Have the branch as far as the remote's, which a call of the agent moves before the state. Not where work lies about."""
    state, _ = read_state(repository, loop)
    branch = f"refs/heads/{state.branch}"
    head = None if state.config.workspace.in_place else fetch_ref(repository, remote.name, branch, f"{FETCHED}{loop}/branch")
    tip = read_ref(repository.common, branch)
    if head is None or (tip is not None and not contains(repository.common, head, tip)) or state.outcome is Outcome.COMPLETED:
        return
    worktree = worktree_of(repository, loop, state.config.workspace)
    if not (worktree / ".git").exists():
        succeeds(repository.common, "fetch", "--quiet", ".", f"{FETCHED}{loop}/branch:{branch}")  # not where it is checked out
    elif head != tip and not dirty_paths(worktree):
        stand_on(worktree, state.branch, head)


def _leave(repository: Repository, state: LoopState, theirs: str, head: str | None) -> None:
    """What this machine has of the loop and nobody else: work in flight, commits, a state."""
    context = loop_context(str(repository.top), state)
    end_processes(state)
    if (context.worktree / ".git").exists():
        keep_work(context, state, state.head)
    _, ours = read_state(repository, state.loop)
    for commit, other in ((ours, theirs), (read_ref(repository.common, f"refs/heads/{state.branch}"), head)):
        if commit and other and not contains(repository.common, other, commit):
            git(repository.common, "update-ref", f"{PREFIX}{state.loop}/fenced/{commit[:12]}", commit)


def _on_remote(repository: Repository, remote: RemoteConfig, ref: str, seconds: float = TIMEOUT_SECONDS) -> str:
    try:
        return git(repository.common, "ls-remote", remote.name, ref, timeout=seconds).partition("\t")[0].strip()
    except GitError as error:
        if not succeeds(repository.common, "remote", "get-url", remote.name):
            raise no_remote(remote.name, error.stderr) from error
        raise TransientError(f"remote {remote.name} cannot be asked for the loop", found=error.stderr) from error
