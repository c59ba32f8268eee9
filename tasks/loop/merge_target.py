"""The branch that work is merged into: where it stands, and moving it on by compare-and-swap, with the checkout that is on it."""

import shlex
from dataclasses import dataclass

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean
from tasks.repository.branch_files import move_branch
from tasks.repository.git import GitError, Repository, contains, git, read_ref, succeeds
from tasks.repository.remote import PLAINLY, fetch_ref, is_another_course, lines_of, rejections, require_remote
from tasks.repository.state_ref import PREFIX

RACED = ("cannot lock ref", "failed to update ref", "reference already exists", "incorrect old value")
"""Why a remote rejects a push that came too late, in its own words: it was still in time when git looked."""


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


def require_target(repository: Repository, config: LoopConfig) -> None:
    """Raise OperatorError where a loop could never merge as it is told to."""
    merge, remote = config.merge, config.remote.name
    if not merge.into:
        return
    if config.workspace.in_place:
        raise _cannot("a loop that works in place has no branch of its own to merge", "leave --in-place out, or merge.into")
    if not config.checks:
        raise _cannot("nothing would verify what is merged", "give --check CMD, or leave merge.into out")
    if merge.push and not succeeds(repository.common, "remote", "get-url", remote):
        raise _cannot(
            f"there is no remote {clean(remote)!r} to push to", "add it, name another with remote.name, or leave merge.push out"
        )
    known = [f"refs/heads/{merge.into}", *([f"refs/remotes/{remote}/{merge.into}"] if merge.push else ())]
    if not any(read_ref(repository.common, ref) for ref in known):
        raise _cannot(f"there is no branch {merge.into}", f"make it: git branch {shlex.quote(merge.into)}; or name another")


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
                remedy="allow it there, or merge the branch by hand as it is done there",
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
