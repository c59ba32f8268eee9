"""The agent's files as they are when it wants to stop, in the checkout that its checks run in."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import WorldError
from tasks.repository.git import commit_and_tree, current_branch, git
from tasks.system.files import write_atomic
from tasks.worktrees.as_checkout import Checkout
from tasks.worktrees.snapshots import snapshot
from tasks.worktrees.staging import own_folder, submodules
from tasks.worktrees.worktree import dirty_paths, hold_branch, own_git

MESSAGE = "helmsman: the agent's files at a stop"


@dataclass(frozen=True)
class StopPlace:
    """The worktree of a session, and the checkout that its checks run in; nobody else uses that during the session."""

    worktree: Path
    start: str
    """Commit that the session began at."""
    checkout: Checkout
    agents_git: Path | None = None
    """Where the repository of the agent's box lies while that stands; its index says what the agent has added."""


@contextmanager
def checked_out(place: StopPlace) -> Generator[None]:
    """Have the checkout hold the agent's files. The worktree stays as it is, or is put back where the checks run in it.

    Raises HelmsmanError and OSError where they cannot be laid out, and where set-up would have to run first: it could leave, for
    the checks that decide, what no commit shows.
    """
    worktree, checkout = place.worktree, place.checkout
    if own_git(worktree, place.start) is None:
        raise WorldError("the worktree is cut off from its repository")
    if any(dirty_paths(inner) for inner in submodules(worktree)):
        raise WorldError("work in a submodule is not committed, and cannot be checked before it is")
    commit = _snapshot(place)
    if not checkout.clean:
        with _put_back(worktree, checkout):
            checkout.prepare(commit)
            yield
        return
    checkout.prepare(commit)
    if checkout.setup_due():
        raise WorldError("set-up has to run again first, and runs only before the checks that decide")
    yield


def _snapshot(place: StopPlace) -> str:
    boxed = place.agents_git if place.agents_git and place.agents_git.exists() else None
    head, _ = commit_and_tree(place.worktree)
    return snapshot(place.worktree, head, MESSAGE, boxed or own_folder(place.worktree))


@contextmanager
def _put_back(worktree: Path, checkout: Checkout) -> Generator[None]:
    """Afterwards branch, HEAD and index are as they were, and so are all files that are not ignored."""
    index = own_folder(worktree) / "index"
    if index.with_name("index.lock").exists():
        raise WorldError("a git command is at work in the worktree, or was killed there")
    branch, (head, _), staged = current_branch(worktree), commit_and_tree(worktree), index.read_bytes()
    try:
        yield
    finally:
        if own_git(worktree, head) is None:  # git would take a repository above for this one
            raise WorldError("the checks cut the worktree off from its repository")
        index.with_name("index.lock").unlink(missing_ok=True)  # of a git that was ended with its check
        checkout.reset()
        if branch:
            hold_branch(worktree, branch, head)
        else:
            git(worktree, "update-ref", "--no-deref", "HEAD", head)
        write_atomic(index, staged)
