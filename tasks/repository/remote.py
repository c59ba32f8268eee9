"""Letting a loop travel: branch and state pushed together, so that any clone can go on with it."""

from collections.abc import Sequence

from helmsman.errors import OperatorError, WorldError
from helmsman.records.state import LoopState
from tasks.repository.git import TIMEOUT_SECONDS, GitError, Repository, git, succeeds
from tasks.repository.state_ref import PREFIX, Fenced, state_ref

REFUSED = ("[rejected]", "stale info", "non-fast-forward", "fetch first")
OWN = "failed", "later", "rebased", "salvage", "fenced"
"""Below which of its refs a loop keeps work that it took off its branch."""
GOES_ALONG = "/salvage/", "/fenced/"
"""Of those, what may hold somebody else's work, which the remote had: it keeps it below the same ref."""


def push_loop(repository: Repository, state: LoopState, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Push atomically; git refuses it when the remote's state is not an ancestor of ours, which fences a second driver.

    A branch that went back to its best commit, or was rebased, replaces what the remote holds of it, where that is the loop's own
    work. `seconds`: how long each answer is waited for.

    Raises Fenced then, OperatorError when there is no such remote, and WorldError when it cannot be reached or refuses otherwise.
    """
    ref = state_ref(state.loop)
    _push(repository, state, (f"refs/heads/{state.branch}", f"{ref}:{ref}"), seconds=seconds)


def push_branch(repository: Repository, state: LoopState) -> None:
    """Push the branch alone, for a pull request. Raises as `push_loop` does."""
    _push(repository, state, (f"refs/heads/{state.branch}",))


def _push(
    repository: Repository, state: LoopState, refs: Sequence[str], *, replaces: str = "", seconds: float = TIMEOUT_SECONDS
) -> None:
    """`replaces`: the remote's commit of the branch, as it was found."""
    ref, remote = state_ref(state.loop), state.config.remote.name
    lease = [f"--force-with-lease=refs/heads/{state.branch}:{replaces}"] if replaces else []
    try:
        git(repository.common, "push", "--quiet", "--atomic", *lease, remote, *refs, timeout=seconds)
    except GitError as error:
        refused = any(word in error.stderr for word in REFUSED)
        taken_off, kept = _taken_off(repository, state, seconds) if refused and not replaces else ("", ())
        if taken_off:
            along = [f"{one}:{one}" for one in kept if any(below in one for below in GOES_ALONG)]
            return _push(repository, state, (*refs, *along), replaces=taken_off, seconds=seconds)
        if refused:
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


def _taken_off(repository: Repository, state: LoopState, seconds: float) -> tuple[str, Sequence[str]]:
    """The remote's commit of the branch, where the loop has taken it off its own, and the refs that keep it; else empty."""
    try:
        said = git(repository.common, "ls-remote", state.config.remote.name, f"refs/heads/{state.branch}", timeout=seconds)
        commit = said.partition("\t")[0].strip()
        below = (f"{PREFIX}{state.loop}/{why}" for why in OWN)
        listed = ("for-each-ref", "--format=%(refname)", "--contains", commit, *below)
        kept = git(repository.common, *listed).split() if commit else []
    except GitError:
        return "", ()
    return (commit, kept) if kept else ("", ())
