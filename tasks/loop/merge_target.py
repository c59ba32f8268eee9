"""The branch that work is merged into: where it stands, and moving it on by compare-and-swap, with the checkout that is on it."""

import shlex
import time
from dataclasses import dataclass
from pathlib import Path

from helmsman.config import LoopConfig
from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean
from tasks.repository.branch_files import checkout_of
from tasks.repository.git import GitError, Repository, contains, git, read_ref, succeeds
from tasks.repository.remote import PLAINLY, fetch_ref, is_another_course, lines_of, rejections, require_remote
from tasks.repository.state_ref import PREFIX
from tasks.system.files import locked
from tasks.system.paths import helmsman_folder

PATHS_SHOWN = 10
LOOKS = 4
LOOK_SECONDS = 0.25
"""Between two looks at a checkout."""
RACED = ("cannot lock ref", "failed to update ref", "reference already exists", "incorrect old value")
"""Why a remote rejects a push that came too late, in its own words: it was still in time when git looked."""
WHOLLY = "--quiet", "--no-verify-signatures", "--no-squash", "--commit", "--no-overwrite-ignore"
"""A file that git ignores may be all that somebody has of it."""
REBASING = "rebase-*/head-name", "worktrees/*/rebase-*/head-name"
"""Where git notes which branch is being rebased, in a repository and in its worktrees."""
BUSY = ("index.lock", "cannot lock ref")
"""Words of a git that finds another one at work; that one is gone in a moment."""


@dataclass(frozen=True)
class Target:
    """The branch as it is now."""

    repository: Repository
    branch: str
    base: str
    """Its commit."""
    remote: str
    """Where it is that branch which counts; empty where it is ours."""

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
    if target.remote:
        return _pushed(target, commit)
    return _brought(target.repository, target.ref, target.base, commit)


def _pushed(target: Target, commit: str) -> bool:
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
        return "" if _brought(repository, ref, local, commit) else f"your branch {target.branch} is being moved; pull it"
    except (OperatorError, TransientError) as error:
        return f"your branch {target.branch} stays behind: {clean(error.problem)}"


def _brought(repository: Repository, ref: str, old: str, new: str) -> bool:
    """A checkout that is on the branch comes along: files, index and branch together. False: somebody else moved the branch."""
    # git changes files and index under one lock and the branch under another: two at once leave a checkout of both
    with locked(helmsman_folder(repository.common) / "checkout.lock", 0o644):
        checkout = checkout_of(repository, ref.removeprefix("refs/heads/"))
        if checkout is None:
            _require_not_in_hand(repository, ref)
            return _moved(repository.common, repository, ref, old, "update-ref", "-m", "helmsman: merge", ref, new, old)
        if not _untouched(repository, checkout, ref, old):
            return False
        plainly = "-c", "merge.autoStash=false"
        return _moved(checkout, repository, ref, old, *plainly, "merge", "--ff-only", *WHOLLY, new)


def _require_not_in_hand(repository: Repository, ref: str) -> None:
    """A rebase of the branch is on no branch meanwhile; given up, it puts the branch back to where it began."""
    for name in (path for place in REBASING for path in repository.common.glob(place)):
        if name.read_text(errors="replace").strip() == ref:
            raise OperatorError(
                f"branch {ref.removeprefix('refs/heads/')} is being rebased, and would lose the merge; it was left as it is",
                found=str(name.parent),
                remedy="end it there: git rebase --continue, or --abort; then go on with the loop",
            )


def _moved(cwd: Path, repository: Repository, ref: str, old: str, *command: str) -> bool:
    try:
        git(cwd, *command)
    except GitError as error:
        if read_ref(repository.common, ref) != old or any(word in error.stderr for word in BUSY):
            return False
        if cwd == repository.common:
            raise
        raise _in_the_way(cwd, ref.removeprefix("refs/heads/"), error.stderr) from error
    return read_ref(repository.common, ref) != old  # a person may have left the branch meanwhile


def _untouched(repository: Repository, checkout: Path, ref: str, old: str) -> bool:
    """Whether nothing in that checkout is in hand. False: somebody else moves the branch. Raises OperatorError for a person's.

    Another git that brings it along changes files first, so what looks like a person's change is looked at again.
    """
    changed: list[str] = []
    for _ in range(LOOKS):
        if read_ref(repository.common, ref) != old:
            return False
        listed = git(checkout, "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames").split("\0")
        changed = [entry[3:] for entry in listed if entry]
        if not changed:
            return True
        time.sleep(LOOK_SECONDS)
    more = ", …" if len(changed) > PATHS_SHOWN else ""
    branch, found = ref.removeprefix("refs/heads/"), ", ".join(changed[:PATHS_SHOWN])
    raise _in_the_way(checkout, branch, f"changes that are not committed: {found}{more}")


def _in_the_way(checkout: Path, branch: str, found: str) -> OperatorError:
    where = shlex.quote(str(checkout))
    return OperatorError(
        f"branch {branch} is checked out, and that checkout cannot come along; it was left as it is",
        expected=f"{checkout} with everything committed, or on another branch",
        found=found,
        remedy=f"commit or stash there, or: git -C {where} switch --detach; then go on with the loop",
    )
