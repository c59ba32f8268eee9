"""Handling a push: find the commit, read its configuration, write a loop's first state; or report why not.

Everything is checked again here, on the machine that runs the loop: anyone who reaches the engine can start a run, and the
message may be hours old.
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
from helmsman.parsers.pushes import AllowedRepo, is_own_commit, matches_branch, push_loop_id, read_allowed
from helmsman.plain import OWN_BRANCHES, clean
from helmsman.records.request import LoopRequest
from helmsman.records.triggers import Ignored, Push
from tasks.agents.catalogue import LoopSettings
from tasks.loop.alignment_file import with_alignment
from tasks.loop.configure import configure, read_toml
from tasks.loop.handoff import handoffs_at_commit
from tasks.loop.start import first_state, require_checks, write_first_state
from tasks.repository.git import GitError, Repository, contains, git, git_bytes, open_repository, read_ref, succeeds
from tasks.repository.loop_context import loop_folder
from tasks.repository.objects import FILE_MODES, read_object
from tasks.repository.remote import fetch_ref
from tasks.repository.state_ref import loop_names, read_state, show_state, state_ref
from tasks.system.faults import transient_error
from tasks.system.files import LARGEST_FILE
from tasks.system.lock import holder
from tasks.system.paths import state_home

IN_A_WORKTREE = {"workspace": {"in_place": False}}  # a push never changes a person's checkout

REMOTE = "origin"


def read_allowed_file(path: Path) -> Mapping[str, AllowedRepo]:
    """The repositories that may start loops, by location. Raises OperatorError."""
    return read_allowed(read_toml(path), str(path))


def handle_push(push: Push, now: datetime) -> LoopRequest | Ignored:
    """Handle a push. Raises OperatorError for a wrong pushed configuration, TransientError where git cannot fetch."""
    if push.branch.startswith(OWN_BRANCHES):
        return Ignored(reason=f"{push.branch} is one of Helmsman's own branches")
    path = find_repository(push.location)
    repository = open_repository(path)
    is_present = push.location.startswith("/") and _contains_push(repository, push)  # our own clone is only as new as its fetch
    if not is_present and not (fetch_branch(repository, push.branch) and _contains_push(repository, push)):
        return Ignored(reason=f"{push.what}: the branch does not contain that commit, or no longer does")
    if _is_ours(repository, push.commit):
        return Ignored(reason=f"{push.what} was made by a loop or by Helmsman and starts no loop")
    if (earlier := _earlier_loop(repository, push, path)) is not None:
        return earlier
    with configuration_files(repository, push.commit, f"commit {push.commit[:10]}", "fix it, and push again") as folder:
        pushed = _read_configuration(push, folder)
        if pushed is None:
            return Ignored(reason=f"{push.what}: on_push.branches does not name the branch")
        require_checks(pushed.config)
        config = with_alignment(replace(repository, top=folder, bare=False), pushed.config)
    inherited = handoffs_at_commit(repository, push.commit, config.alignment)
    origin = {"loop": push_loop_id(push), "branch": push.branch, "commit": push.commit}
    state = first_state(repository, replace(pushed, config=config), now, **origin).model_copy(update={"inherited": inherited})
    write_first_state(repository, state, f"start: push of {push.commit[:12]}")  # no effect if another run for it was faster
    return LoopRequest(repository=str(path), loop=state.loop)


def _earlier_loop(repository: Repository, push: Push, path: Path) -> LoopRequest | Ignored | None:
    """The result for a loop that this push started before, which continues where its driver died; None without one."""
    loop = push_loop_id(push)
    if read_ref(repository.common, state_ref(loop)) is None:
        return None
    state, _ = read_state(repository, loop)
    if state.ending is not None and state.gate is None:
        return Ignored(reason=f"loop {loop} exists for {push.what} and has ended: {state.ending.rule}")
    if holder(loop_folder(repository, loop).lock) is not None:
        return Ignored(reason=f"loop {loop} is already working on {push.what}")
    return LoopRequest(repository=str(path), loop=loop)


def _read_configuration(push: Push, folder: Path) -> LoopSettings | None:
    """The configuration from the commit's files and this machine's environment; None where it does not name the branch."""
    request = LoopRequest(repository=str(folder), settings=IN_A_WORKTREE)
    receiver_layers = [Layer("the receiver's file", push.settings)]
    first = configure(folder, request.model_copy(update={"goal": "any"}), consent=None, stronger=receiver_layers).config
    if not matches_branch(push.branch, first.on_push.branches):
        return None
    return configure(folder, request, consent=None, stronger=receiver_layers)


def find_repository(location: str) -> Path:
    """The operator's folder, or our own clone of the operator's URL, created where it is missing."""
    if location.startswith("/"):
        return Path(location)
    slug = re.sub(r"[^A-Za-z0-9-]+", "-", location.rstrip("/").rpartition("/")[2].removesuffix(".git"))[:40]
    clone = state_home() / "repositories" / f"{slug}-{hashlib.sha256(location.encode()).hexdigest()[:12]}.git"
    if clone.exists():
        return clone
    clone.parent.mkdir(parents=True, exist_ok=True)
    # into a temporary folder first: a partial clone must not look complete, and another run may clone it too
    with tempfile.TemporaryDirectory(prefix=".clone-", dir=clone.parent) as folder:
        try:
            git(clone.parent, "clone", "--quiet", "--bare", "--no-tags", "--", location, f"{folder}/new.git")
        except GitError as error:
            raise TransientError("the repository of a push could not be cloned", found=error.stderr) from error
        with suppress(OSError):  # another run was faster
            Path(folder, "new.git").rename(clone)
    return clone


def fetch_branch(repository: Repository, branch: str) -> str | None:
    """Fetch the remote's branch and return its commit; None without a remote or such a branch."""
    if not succeeds(repository.common, "remote", "get-url", REMOTE):
        return None
    return fetch_ref(repository, REMOTE, f"refs/heads/{branch}", f"refs/remotes/{REMOTE}/{branch}")


def _contains_push(repository: Repository, push: Push) -> bool:
    theirs = f"refs/remotes/{REMOTE}/{push.branch}"
    refs = (f"refs/heads/{push.branch}", theirs) if push.location.startswith("/") else (theirs,)
    return any(contains(repository.common, ref, push.commit) for ref in refs)


def _is_ours(repository: Repository, commit: str) -> bool:
    """Whether Helmsman or the agent of a loop in this repository made the commit."""
    metadata = git(repository.common, "log", "--max-count=1", "--format=%ae%n%ce%n%B", commit, "--")
    if is_own_commit(*metadata.split("\n", 2)):
        return True
    branches = set(
        git(repository.common, "for-each-ref", "--format=%(refname)", f"--contains={commit}", "refs/heads/").split("\n")
    )
    for name in loop_names(repository):
        with suppress(OperatorError):  # an unreadable state of another version must not block every push
            loop = show_state(repository, name).state  # verified or not
            if (branch := f"refs/heads/{loop.branch}") not in branches:
                continue
            # only the loop's own commits count; a person's branch continues after the loop's head
            end = branch if loop.branch.startswith(OWN_BRANCHES) else loop.head
            if contains(repository.common, end, commit) and not contains(repository.common, loop.base_commit, commit):
                return True
    return False


@contextmanager
def configuration_files(repository: Repository, commit: str, what: str, remedy: str) -> Generator[Path]:
    """A folder with the plain files of a commit that can be configuration, without links, which could lead into our files.

    Errors in the block are raised as errors of the commit, which `what` describes.
    """
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        entries = git_bytes(repository.common, "ls-tree", "-r", "-z", "--long", "--full-tree", commit).split(b"\0")
        for entry in filter(None, entries):
            metadata, _, name = entry.partition(b"\t")
            (mode, _, blob, size), path = metadata.decode().split(), Path(os.fsdecode(name))
            # git itself creates no such names, but a pusher can
            if mode in FILE_MODES and int(size) <= LARGEST_FILE and ".." not in path.parts and not path.is_absolute():
                _write_file(Path(folder, path), read_object(repository.common, blob), what)
        try:
            yield Path(folder)
        except OperatorError as error:
            message = str(error).replace(f"{folder}/", "")
            raise OperatorError(f"the configuration of {what} cannot be used", found=message, remedy=remedy) from error


def _write_file(path: Path, content: bytes, what: str) -> None:
    """Write a file of a commit. Raises OperatorError for a name that no checkout could have, and TransientError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        problem, found = f"the files of {what} cannot be read", f"{clean(path.name)[:100]}: {error.strerror}"
        raise transient_error(error) or OperatorError(problem, expected="files that can be checked out", found=found) from error
