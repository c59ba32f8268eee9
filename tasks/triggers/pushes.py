"""From a push to what it starts: the commit found, its configuration read, a loop's first state written; or why not.

Everything is looked at again here, on the machine that runs it: whoever reaches the engine can start a run, and hours may
have passed since the message came.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from helmsman.config.layers import Layer
from helmsman.errors import OperatorError, TransientError
from helmsman.naming import OWN_BRANCHES
from helmsman.parsers.pushes import Allowed, made_by_us, matches_branch, push_loop_id, read_allowed
from helmsman.records.request import LoopRequest
from helmsman.records.triggers import Ignored, Push
from tasks.agents.catalogue import LoopSettings
from tasks.loop.alignment_file import with_alignment
from tasks.loop.configure import configure, read_toml
from tasks.loop.handoff import handoffs_at_commit
from tasks.loop.start import first_state, require_checks, write_first
from tasks.repository.git import GitError, Repository, contains, git, git_bytes, open_repository, read_ref, succeeds
from tasks.repository.loop_context import loop_folder
from tasks.repository.objects import FILE_MODES, read_object
from tasks.repository.remote import fetch_ref
from tasks.repository.state_ref import loop_names, read_state, show_state, state_ref
from tasks.system.files import LARGEST_FILE
from tasks.system.lock import holder
from tasks.system.paths import state_home

IN_A_WORKTREE = {"workspace": {"in_place": False}}  # a push never changes what somebody has checked out

REMOTE = "origin"


def read_allowed_file(path: Path) -> Mapping[str, Allowed]:
    """Which repositories may start loops, and where they are. Raises OperatorError."""
    return read_allowed(read_toml(path), str(path))


def begin(push: Push, now: datetime) -> LoopRequest | Ignored:
    """What a push comes to. Raises OperatorError for a wrong pushed configuration, TransientError where git cannot fetch."""
    if push.branch.startswith(OWN_BRANCHES):
        return Ignored(reason=f"{push.branch} is a branch of Helmsman's own")
    where = find_repository(push.location)
    repository = open_repository(where)
    here = push.location.startswith("/") and _held(repository, push)  # a clone of ours is only as new as its fetch
    if not here and not (fetched(repository, push.branch) and _held(repository, push)):
        return Ignored(reason=f"{push.what}: the branch does not hold that commit, or does not any more")
    if _is_ours(repository, push.commit):
        return Ignored(reason=f"{push.what} was made by a loop or by Helmsman, which does not start itself")
    if (known := _go_on(repository, push, where)) is not None:
        return known
    with laid_out(repository, push.commit, f"commit {push.commit[:10]}", "fix it, and push again") as folder:
        pushed = _configured(push, folder)
        if pushed is None:
            return Ignored(reason=f"{push.what}: its configuration names no such branch in on_push.branches")
        require_checks(pushed.config)
        config = with_alignment(replace(repository, top=folder, bare=False), pushed.config)
    inherited = handoffs_at_commit(repository, push.commit, config.alignment)
    begun = {"loop": push_loop_id(push), "branch": push.branch, "commit": push.commit}
    state = first_state(repository, replace(pushed, config=config), now, **begun).model_copy(update={"inherited": inherited})
    write_first(repository, state, f"start: push of {push.commit[:12]}")  # or another run for the same push did
    return LoopRequest(repository=str(where), loop=state.loop)


def _go_on(repository: Repository, push: Push, where: Path) -> LoopRequest | Ignored | None:
    """With a loop that this push has started before. One whose driver died goes on; None where there is none."""
    loop = push_loop_id(push)
    if read_ref(repository.common, state_ref(loop)) is None:
        return None
    state, _ = read_state(repository, loop)
    if state.ending is not None and state.gate is None:
        return Ignored(reason=f"loop {loop} was started for {push.what} before and has ended: {state.ending.rule}")
    if holder(loop_folder(repository, loop).lock) is not None:
        return Ignored(reason=f"loop {loop} is already working on {push.what}")
    return LoopRequest(repository=str(where), loop=loop)


def _configured(push: Push, folder: Path) -> LoopSettings | None:
    """What the files of the commit and this machine's environment say; None where they do not name the branch, goal or not."""
    request = LoopRequest(repository=str(folder), settings=IN_A_WORKTREE)
    theirs = [Layer("the receiver's file", push.settings)]
    first = configure(folder, request.model_copy(update={"goal": "any"}), consent=None, stronger=theirs).config
    if not matches_branch(push.branch, first.on_push.branches):
        return None
    return configure(folder, request, consent=None, stronger=theirs)


def find_repository(location: str) -> Path:
    """The operator's folder, or our own clone of the operator's URL, made where it is missing."""
    if location.startswith("/"):
        return Path(location)
    words = re.sub(r"[^A-Za-z0-9-]+", "-", location.rstrip("/").rpartition("/")[2].removesuffix(".git"))[:40]
    ours = state_home() / "repositories" / f"{words}-{hashlib.sha256(location.encode()).hexdigest()[:12]}.git"
    if ours.exists():
        return ours
    ours.parent.mkdir(parents=True, exist_ok=True)
    # into a folder beside it first: half a clone must not look like one, and another run may be doing the same
    with tempfile.TemporaryDirectory(prefix=".clone-", dir=ours.parent) as folder:
        try:
            git(ours.parent, "clone", "--quiet", "--bare", "--no-tags", "--", location, f"{folder}/new.git")
        except GitError as error:
            raise TransientError("the repository of a push could not be cloned", found=error.stderr) from error
        with suppress(OSError):  # it is there by now
            Path(folder, "new.git").rename(ours)
    return ours


def fetched(repository: Repository, branch: str) -> str | None:
    """The commit that the remote's branch is at, once it is here; None where there is no remote, or no such branch there."""
    if not succeeds(repository.common, "remote", "get-url", REMOTE):
        return None
    return fetch_ref(repository, REMOTE, f"refs/heads/{branch}", f"refs/remotes/{REMOTE}/{branch}")


def _held(repository: Repository, push: Push) -> bool:
    theirs = f"refs/remotes/{REMOTE}/{push.branch}"
    refs = (f"refs/heads/{push.branch}", theirs) if push.location.startswith("/") else (theirs,)
    return any(contains(repository.common, ref, push.commit) for ref in refs)


def _is_ours(repository: Repository, commit: str) -> bool:
    """Whether Helmsman wrote the commit, or an agent did in a loop that this repository knows."""
    told = git(repository.common, "log", "--max-count=1", "--format=%ae%n%ce%n%B", commit, "--")
    if made_by_us(*told.split("\n", 2)):
        return True
    holding = set(
        git(repository.common, "for-each-ref", "--format=%(refname)", f"--contains={commit}", "refs/heads/").split("\n")
    )
    for name in loop_names(repository):
        with suppress(OperatorError):  # one that another version wrote must not stand in the way of every push
            loop = show_state(repository, name).state  # verified or not
            if (branch := f"refs/heads/{loop.branch}") not in holding:
                continue
            # among what the loop has added to what it began with; somebody else's branch goes on behind its end
            end = branch if loop.branch.startswith(OWN_BRANCHES) else loop.head
            if contains(repository.common, end, commit) and not contains(repository.common, loop.base_commit, commit):
                return True
    return False


@contextmanager
def laid_out(repository: Repository, commit: str, what: str, remedy: str) -> Generator[Path]:
    """A folder with the plain files of a commit that can be configuration. No link is among them: it would lead into our files.

    What is wrong with them is told as the commit's, which `what` names in words.
    """
    with tempfile.TemporaryDirectory(prefix="helmsman-") as place:
        listed = git_bytes(repository.common, "ls-tree", "-r", "-z", "--long", "--full-tree", commit).split(b"\0")
        for entry in filter(None, listed):
            about, _, name = entry.partition(b"\t")
            (mode, _, blob, size), path = about.decode().split(), Path(os.fsdecode(name))
            # git itself makes no such names, but whoever pushes may
            if mode in FILE_MODES and int(size) <= LARGEST_FILE and ".." not in path.parts and not path.is_absolute():
                Path(place, path).parent.mkdir(parents=True, exist_ok=True)
                Path(place, path).write_bytes(read_object(repository.common, blob))
        try:
            yield Path(place)
        except OperatorError as error:
            found = str(error).replace(f"{place}/", "")
            raise OperatorError(f"the configuration of {what} cannot be used", found=found, remedy=remedy) from error
