"""Push and fetch: branch and state of a loop are pushed together, so that any clone can continue it."""

from collections.abc import Sequence

from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.plain import clean
from helmsman.records.state import LoopState
from tasks.repository.git import TIMEOUT_SECONDS, GitError, Repository, git, read_ref, succeeds
from tasks.repository.state_ref import PREFIX, Fenced, read_state, state_ref

DIVERGED_MESSAGES = ("[rejected]", "stale info", "non-fast-forward", "fetch first")
REMOTE_REJECTED = "[remote rejected]"
PUSH_OPTIONS = "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"
"""Overrides user settings that would push more than the given refs, such as the agent's tags."""
REMOVED_KINDS = "failed", "later", "rebased", "salvage", "fenced"
"""Namespaces of the refs with work that the loop removed from its branch."""
PUSHED_ALONG = "/salvage/", "/fenced/"
"""Of those, the refs that may contain work of others from the remote: they are pushed along."""


def push_loop(repository: Repository, state: LoopState, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Push atomically; git rejects it if the remote's state is not an ancestor of ours, which fences a second driver.

    A branch that was reset to its best commit, or rebased, replaces the remote's if that is the loop's own work.
    `seconds`: timeout of each git command.

    Raises Fenced on that rejection, OperatorError if there is no such remote or the state is not verified, and TransientError
    if the remote cannot be reached or rejects the push for another reason.
    """
    _, commit = read_state(repository, state.loop)
    _push(repository, state, (f"{commit}:{state_ref(state.loop)}",), seconds=seconds)


def push_branch(repository: Repository, state: LoopState) -> None:
    """Push only the branch, for a pull request. Raises like `push_loop`."""
    _push(repository, state, ())


def _push(
    repository: Repository, state: LoopState, along: Sequence[str], *, replaces: str = "", seconds: float = TIMEOUT_SECONDS
) -> None:
    """`along`: further refspecs to push. `replaces`: expected commit of the remote's branch, to be replaced."""
    remote, branch = state.config.remote.name, f"refs/heads/{state.branch}"
    require_remote(repository, remote)
    lease = [f"--force-with-lease={branch}:{replaces}"] if replaces else []
    try:  # to the same name, whatever `remote.*.push` says
        git(repository.common, "push", *PUSH_OPTIONS, "--atomic", *lease, remote, f"{branch}:{branch}", *along, timeout=seconds)
    except GitError as error:
        refused = has_diverged(error.stderr)
        removed, refs = _find_removed(repository, state, seconds) if refused and not replaces else ("", ())
        if removed:
            others = [f"{ref}:{ref}" for ref in refs if any(namespace in ref for namespace in PUSHED_ALONG)]
            return _push(repository, state, (*along, *others), replaces=removed, seconds=seconds)
        raise _push_error(state, error, refused=refused) from error


def _push_error(state: LoopState, error: GitError, *, refused: bool) -> HelmsmanError:
    ref, remote = state_ref(state.loop), state.config.remote.name
    if refused:
        return Fenced(
            f"remote {remote} has other commits of loop {state.loop}",
            found=error.stderr,
            remedy=f"another machine continued it; inspect it with: git fetch {remote} {ref}",
        )
    if any("(non-fast-forward)" in line for line in rejections(error.stderr)):
        return OperatorError(
            f"remote {remote} rejects the reset of {state.branch} to an earlier commit",
            found=error.stderr,
            remedy=f"allow it there for {state.branch} (receive.denyNonFastForwards), or leave remote.push out",
        )
    return TransientError(f"the loop could not be pushed to remote {remote}", found=error.stderr)


def has_diverged(stderr: str) -> bool:
    """Whether git rejected the push because the remote has commits that we lack, not because of the remote's own rules."""
    own_lines = (line for line in _without_hook_output(stderr) if REMOTE_REJECTED not in line)
    return any(word in line for line in own_lines for word in DIVERGED_MESSAGES)


def rejections(stderr: str) -> Sequence[str]:
    """Git's own lines on refs that the remote rejected, with the reasons."""
    return [line for line in _without_hook_output(stderr) if REMOTE_REJECTED in line]


def split_lines(stderr: str) -> list[str]:
    """Split only where git splits the remote's messages, so that each of their lines begins with `remote:`."""
    return stderr.replace("\r", "\n").split("\n")


def _without_hook_output(stderr: str) -> list[str]:
    """Lines without the messages of the remote's hooks, which may say anything."""
    return [line for line in split_lines(stderr) if not line.startswith("remote:")]


def fetch_ref(repository: Repository, remote: str, ref: str, to: str) -> str | None:
    """Fetch one of the remote's refs to `to` and return its commit; None if there is no such ref. Raises TransientError.

    Changes nothing else: no FETCH_HEAD, no tags, no remote-tracking branches.
    """
    options = "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="
    try:
        git(repository.common, "fetch", *options, remote, f"+{ref}:{to}")
    except GitError as error:
        if "couldn't find remote ref" in error.stderr:
            return None
        raise TransientError(
            f"{ref.removeprefix('refs/heads/')} could not be fetched from {clean(remote)}",
            found=error.stderr,
            remedy=f"check that {clean(remote)} is reachable from here, then try again",
        ) from error
    return read_ref(repository.common, to)


def has_remote(repository: Repository, name: str) -> bool:
    return succeeds(repository.common, "remote", "get-url", "--", name)


def require_remote(repository: Repository, name: str) -> None:
    """Raise OperatorError unless the remote is configured: git itself would accept any path or address.

    Called before each push, as an agent could remove the remote and create a repository at the path of its name.
    """
    if not has_remote(repository, name):
        raise OperatorError(
            f"there is no remote {name!r} to push the loop to",
            remedy="add it with git remote add, name another with remote.name, or leave remote.push out",
        )


def _find_removed(repository: Repository, state: LoopState, seconds: float) -> tuple[str, Sequence[str]]:
    """The remote's commit of the branch, if the loop removed it from its own, and the refs that keep it; or else empty."""
    try:
        output = git(repository.common, "ls-remote", state.config.remote.name, f"refs/heads/{state.branch}", timeout=seconds)
        commit = output.partition("\t")[0].strip()
        namespaces = (f"{PREFIX}{state.loop}/{kind}" for kind in REMOVED_KINDS)
        listed = ("for-each-ref", "--format=%(refname)", "--contains", commit, *namespaces)
        refs = git(repository.common, *listed).split() if commit else []
    except GitError:
        return "", ()
    return (commit, refs) if refs else ("", ())
