"""What goes to a remote and comes from it: branch and state of a loop pushed together, so that any clone can go on with it."""

from collections.abc import Sequence

from helmsman.errors import HelmsmanError, OperatorError, TransientError
from helmsman.plain import clean
from helmsman.records.state import LoopState
from tasks.repository.git import TIMEOUT_SECONDS, GitError, Repository, git, read_ref, succeeds
from tasks.repository.state_ref import PREFIX, Fenced, read_state, state_ref

REFUSED = ("[rejected]", "stale info", "non-fast-forward", "fetch first")
REJECTED_THERE = "[remote rejected]"
PLAINLY = "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"
"""No setting of a user's sends more than is named, such as the agent's tags."""
OWN = "failed", "later", "rebased", "salvage", "fenced"  # below which of its refs a loop keeps work that it took off its branch
GOES_ALONG = "/salvage/", "/fenced/"
"""Of those, what may hold somebody else's work, which the remote had: it keeps it below the same ref."""


def push_loop(repository: Repository, state: LoopState, *, seconds: float = TIMEOUT_SECONDS) -> None:
    """Push atomically; git refuses it when the remote's state is not an ancestor of ours, which fences a second driver.

    A branch that went back to its best commit, or was rebased, replaces what the remote holds of it, where that is the loop's own
    work. `seconds`: how long each answer is waited for.

    Raises Fenced then, OperatorError when there is no such remote or the state is not verified, and TransientError when it
    cannot be reached or refuses otherwise.
    """
    _, commit = read_state(repository, state.loop)
    _push(repository, state, (f"{commit}:{state_ref(state.loop)}",), seconds=seconds)


def push_branch(repository: Repository, state: LoopState) -> None:
    """Push the branch alone, for a pull request. Raises as `push_loop` does."""
    _push(repository, state, ())


def _push(
    repository: Repository, state: LoopState, along: Sequence[str], *, replaces: str = "", seconds: float = TIMEOUT_SECONDS
) -> None:
    """`along`: what goes with the branch. `replaces`: the remote's commit of the branch, as it was found."""
    remote, branch = state.config.remote.name, f"refs/heads/{state.branch}"
    require_remote(repository, remote)
    lease = [f"--force-with-lease={branch}:{replaces}"] if replaces else []
    try:  # to the same name, wherever `remote.*.push` would send it
        git(repository.common, "push", *PLAINLY, "--atomic", *lease, remote, f"{branch}:{branch}", *along, timeout=seconds)
    except GitError as error:
        refused = is_another_course(error.stderr)
        taken_off, kept = _taken_off(repository, state, seconds) if refused and not replaces else ("", ())
        if taken_off:
            others = [f"{one}:{one}" for one in kept if any(below in one for below in GOES_ALONG)]
            return _push(repository, state, (*along, *others), replaces=taken_off, seconds=seconds)
        raise _push_failed(state, error, refused=refused) from error


def _push_failed(state: LoopState, error: GitError, *, refused: bool) -> HelmsmanError:
    ref, remote = state_ref(state.loop), state.config.remote.name
    if refused:
        return Fenced(
            f"remote {remote} holds another course of loop {state.loop}",
            found=error.stderr,
            remedy=f"somebody else went on with it; look there with: git fetch {remote} {ref}",
        )
    if any("(non-fast-forward)" in line for line in rejections(error.stderr)):
        return OperatorError(
            f"remote {remote} lets no branch go back, and {state.branch} went back to an earlier commit",
            found=error.stderr,
            remedy=f"allow it there for {state.branch} (receive.denyNonFastForwards), or leave remote.push out",
        )
    return TransientError(f"the loop could not be pushed to remote {remote}", found=error.stderr)


def is_another_course(stderr: str) -> bool:
    """Whether git has seen that the remote's commits are not in ours. What the remote says of its own rules is another matter."""
    ours = (line for line in _gits_own_lines(stderr) if REJECTED_THERE not in line)
    return any(word in line for line in ours for word in REFUSED)


def rejections(stderr: str) -> Sequence[str]:
    """Git's own lines on what the remote rejected, each with a word of why."""
    return [line for line in _gits_own_lines(stderr) if REJECTED_THERE in line]


def lines_of(stderr: str) -> list[str]:
    """Cut where git cuts what the remote says, and nowhere else: each of these lines begins with `remote:` then."""
    return stderr.replace("\r", "\n").split("\n")


def _gits_own_lines(stderr: str) -> list[str]:
    """All but the words of the remote's hooks, which may be any."""
    return [line for line in lines_of(stderr) if not line.startswith("remote:")]


def fetch_ref(repository: Repository, remote: str, ref: str, to: str) -> str | None:
    """The commit of one of the remote's refs, brought here as `to`; None where it has none of that name. Raises TransientError.

    Nothing else changes: no FETCH_HEAD, no tag, nobody's view of the remote.
    """
    how = "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap="
    try:
        git(repository.common, "fetch", *how, remote, f"+{ref}:{to}")
    except GitError as error:
        if "couldn't find remote ref" in error.stderr:
            return None
        raise TransientError(
            f"{ref.removeprefix('refs/heads/')} could not be fetched from {clean(remote)}",
            found=error.stderr,
            remedy=f"see that {clean(remote)} can be reached from here, then try again",
        ) from error
    return read_ref(repository.common, to)


def require_remote(repository: Repository, name: str) -> None:
    """Raise OperatorError where it is no remote that is set up: git itself would take any path or address.

    Asked before each push, as an agent could have removed the remote and laid a repository where git looks then.
    """
    if not succeeds(repository.common, "remote", "get-url", "--", name):
        raise no_remote(name, "no such remote")


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
