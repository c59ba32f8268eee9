"""Letting a loop travel: branch and state pushed together, so that any clone can go on with it."""

from collections.abc import Sequence

from helmsman.errors import OperatorError, WorldError
from helmsman.records.state import LoopState
from tasks.git import GitError, Repository, git, succeeds
from tasks.state_ref import PREFIX, Fenced, state_ref

REFUSED = ("[rejected]", "stale info", "non-fast-forward", "fetch first")
OWN = "failed", "later", "rebased", "salvage", "fenced"
"""Below which of its refs a loop keeps work that it took off its branch."""


def push_loop(repository: Repository, state: LoopState, *, replaces: str = "") -> None:
    """Push atomically; git refuses it when the remote's state is not an ancestor of ours, which fences a second driver.

    A branch that went back to its best commit, or was rebased, replaces what the remote holds of it, where that is the loop's own
    work (`replaces`: the remote's commit, as it was found).

    Raises Fenced then, OperatorError when there is no such remote, and WorldError when it cannot be reached or refuses otherwise.
    """
    ref = state_ref(state.loop)
    _push(repository, state, (f"refs/heads/{state.branch}", f"{ref}:{ref}"), replaces)


def push_branch(repository: Repository, state: LoopState) -> None:
    """Push the branch alone, for a pull request. Raises as `push_loop` does."""
    _push(repository, state, (f"refs/heads/{state.branch}",))


def _push(repository: Repository, state: LoopState, refs: Sequence[str], replaces: str = "") -> None:
    ref, remote = state_ref(state.loop), state.config.remote.name
    lease = [f"--force-with-lease=refs/heads/{state.branch}:{replaces}"] if replaces else []
    try:
        git(repository.common, "push", "--quiet", "--atomic", *lease, remote, *refs)
    except GitError as error:
        taken_off = "" if replaces else _taken_off(repository, state)
        if taken_off:
            return _push(repository, state, refs, taken_off)
        if any(word in error.stderr for word in REFUSED):
            raise Fenced(
                f"remote {remote} holds another course of loop {state.loop}",
                found=error.stderr,
                remedy=f"somebody else went on with it; look there with: git fetch {remote} {ref}",
            ) from error
        if not succeeds(repository.common, "remote", "get-url", remote):
            raise no_remote(remote, error.stderr) from error
        raise WorldError(f"the loop could not be pushed to remote {remote}", found=error.stderr) from error


def no_remote(name: str, words: str) -> OperatorError:
    return OperatorError(
        f"there is no remote {name!r} to push the loop to",
        found=words,
        remedy="add it with git remote add, name another with remote.name, or leave remote.push out",
    )


def _taken_off(repository: Repository, state: LoopState) -> str:
    """The remote's commit of the branch, where the loop has taken it off its own; else empty."""
    try:
        said = git(repository.common, "ls-remote", state.config.remote.name, f"refs/heads/{state.branch}")
        commit = said.partition("\t")[0].strip()
        kept = (f"{PREFIX}{state.loop}/{why}" for why in OWN)
        return commit if commit and git(repository.common, "for-each-ref", "--contains", commit, *kept) else ""
    except GitError:
        return ""
