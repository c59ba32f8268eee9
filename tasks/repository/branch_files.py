"""Files of a branch, read and changed by plumbing, and moving a branch: no checkout is needed, one that is on it comes along."""

import os
import shlex
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean
from helmsman.records.state import LoopState
from tasks.repository.git import GitError, Repository, contains, git, git_bytes, read_ref
from tasks.repository.objects import FILE_MODES, entry_at, missing_object, read_object, read_sizes
from tasks.system.files import locked
from tasks.system.paths import helmsman_folder

NEW_FILE = "100644"
WHOLLY = "--quiet", "--no-verify-signatures", "--no-squash", "--commit", "--no-overwrite-ignore"
"""A file that git ignores may be all that somebody has of it."""
REBASING = "rebase-*/head-name", "worktrees/*/rebase-*/head-name"
"""Where git notes which branch is being rebased, in a repository and in its worktrees."""
BUSY = ("index.lock", "cannot lock ref")  # words of a git that finds another one at work; that one is gone in a moment
LARGEST = 1_600_000  # bytes of a file that is read


class Held(NamedTuple):
    """A file of a commit."""

    mode: str
    blob: str
    content: bytes


def work_of(repository: Repository, state: LoopState) -> str:
    """The commit that the loop's branch is at. Raises OperatorError where the work that was proven is not on it any more."""
    tip = read_ref(repository.common, f"refs/heads/{state.branch}")
    if tip is None or not contains(repository.common, tip, state.head):
        raise OperatorError(
            f"branch {clean(state.branch)} no longer contains the loop's work",
            expected=state.head,
            found=tip or "no such branch",
        )
    return tip


def held_in(repository: Repository, commit: str, name: str) -> Held | None:
    """The file as it is in a commit; None where there is nothing of that name. Raises OperatorError where it is no plain file."""
    entry = entry_at(repository.common, commit, name)
    if entry is None:
        return None
    size = read_sizes(repository.common, [entry.id])[0] if entry.mode in FILE_MODES else 0
    if size is None:
        raise missing_object(repository.common, f"{entry.id} ({entry.path})")
    if entry.mode not in FILE_MODES or size > LARGEST:
        found = f"{size:,} bytes" if entry.mode in FILE_MODES else f"mode {entry.mode}"
        raise OperatorError(f"{clean(name)} is not a regular file", expected="a plain file, and no link", found=found)
    return Held(entry.mode, entry.id, read_object(repository.common, entry.id))


def text_of(content: bytes, name: str) -> str:
    """Raises OperatorError where a file is no text."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"{clean(name)} cannot be read", expected="UTF-8", found=str(error.reason)) from error


def named_in(repository: Repository, commit: str, path: str, key: str) -> Held:
    """Likewise for a file that a key of the configuration names. Raises OperatorError also where the commit has none."""
    if (held := held_in(repository, commit, path)) is not None:
        return held
    lies_there = not repository.bare and (repository.top / path).is_file()
    raise OperatorError(
        f"{key}: {clean(path)} is not in commit {commit[:12]}",
        expected="a committed file, by its path from the top of the repository",
        found="it lies in the checkout and is not committed" if lies_there else "no such file",
        remedy=f"commit it: git add {clean(path)}; git commit" if lies_there else "name another file, or write and commit it",
    )


def tree_with(repository: Repository, commit: str, name: str, content: bytes, mode: str = NEW_FILE) -> str:
    """The commit's tree with this file in it."""
    blob = git(repository.common, "hash-object", "-w", "--stdin", stdin=content).strip()
    return tree_with_entries(repository.common, commit, [f"{mode} {blob}\t".encode() + os.fsencode(name)])


def tree_with_entries(cwd: Path, commit: str, entries: Sequence[bytes]) -> str:
    """The commit's tree with these entries, as `git update-index --index-info` reads them, in the place of its own."""
    gone_first = sorted(entries, key=lambda entry: not entry.startswith(b"0 "))  # a folder may stand where a file was
    with an_index() as index:
        git(cwd, "read-tree", commit, env=index)
        given = b"".join(entry + b"\0" for entry in gone_first)
        git(cwd, "update-index", "-z", "--replace", "--index-info", stdin=given, env=index)
        return git(cwd, "write-tree", env=index).strip()


@contextmanager
def an_index() -> Generator[Mapping[str, str]]:
    """An index of its own, in a variable for git; nobody's index is touched."""
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        yield {"GIT_INDEX_FILE": str(Path(folder) / "index")}


def commit_with(repository: Repository, state: LoopState, tip: str, name: str, content: bytes, subject: str) -> str:
    """A commit of the loop's on top of `tip`, on no branch yet, with this file; `tip` where that has it already."""
    before = held_in(repository, tip, name)
    if before is not None and before.content == content:
        return tip
    tree = tree_with(repository, tip, name, content, before.mode if before else NEW_FILE)
    said = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}"
    return git(repository.common, "commit-tree", tree, "-p", tip, *said).strip()


def put_on_branch(repository: Repository, state: LoopState, tip: str, name: str, content: bytes, subject: str) -> str:
    """Commit this file on the loop's branch, on top of `tip`, and in the checkout that is on it. Returns the commit.

    Raises OperatorError where that checkout cannot come along, and TransientError where somebody moved the branch meanwhile.
    """
    commit = commit_with(repository, state, tip, name, content, subject)
    if commit != tip and not move_branch(repository, f"refs/heads/{state.branch}", tip, commit):
        raise TransientError(f"branch {clean(state.branch)} was moved meanwhile")
    return commit


def checkout_of(repository: Repository, branch: str) -> Path | None:
    """The worktree that is on the branch, be it the repository's own checkout."""
    ref = f"refs/heads/{branch}"
    listed = git_bytes(repository.common, "for-each-ref", "--format=%(refname) %(worktreepath)", "--", ref)
    found = Path(os.fsdecode(listed.removeprefix(f"{ref} ".encode()).removesuffix(b"\n")))
    no_checkout = repository.bare and found.resolve() == repository.common  # a bare one counts as a worktree of its own HEAD
    return found if listed.startswith(f"{ref} /".encode()) and found.is_dir() and not no_checkout else None


def move_branch(repository: Repository, ref: str, old: str, new: str) -> bool:
    """A checkout that is on the branch comes along: files, index and branch together. False: somebody else moved the branch."""
    name, common = ref.removeprefix("refs/heads/"), repository.common
    # git changes files and index under one lock and the branch under another: two at once leave a checkout of both
    with locked(helmsman_folder(common) / "checkout.lock", 0o644):
        checkout = checkout_of(repository, name)
        if checkout is None:
            _require_no_rebase(repository, ref)
        try:
            if checkout is None:
                git(common, "update-ref", "-m", "helmsman: move on", ref, new, old)
            else:  # git refuses where the merge touches what somebody has changed
                git(checkout, "-c", "merge.autoStash=false", "merge", "--ff-only", *WHOLLY, new)
        except GitError as error:
            if read_ref(common, ref) != old or any(word in error.stderr for word in BUSY):
                return False
            if checkout is None:
                raise
            raise OperatorError(
                f"branch {name} is checked out, and that checkout could not be updated; nothing was changed",
                expected=f"{checkout} without changes to what is merged, or on another branch",
                found=error.stderr,
                remedy=f"commit or stash there, or: git -C {shlex.quote(str(checkout))} switch --detach; then resume the loop",
            ) from error
        return read_ref(common, ref) != old  # a person may have left the branch meanwhile


def _require_no_rebase(repository: Repository, ref: str) -> None:
    """A rebase of the branch is on no branch meanwhile; given up, it puts the branch back to where it began."""
    for name in (path for place in REBASING for path in repository.common.glob(place)):
        if name.read_text(errors="replace").strip() == ref:
            raise OperatorError(
                f"branch {ref.removeprefix('refs/heads/')} is being rebased, and would lose this commit; nothing was changed",
                found=str(name.parent),
                remedy="end it there: git rebase --continue, or --abort; then resume the loop",
            )
