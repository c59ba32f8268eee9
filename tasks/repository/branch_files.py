"""Read and change files of a branch, and move the branch: without a checkout, or together with the one that is on it."""

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
from tasks.repository.objects import FILE_MODES, Entry, entry_at, index_info, missing_object, read_object, read_sizes
from tasks.system.files import locked
from tasks.system.paths import helmsman_folder

NEW_FILE = "100644"
MERGE_OPTIONS = "--quiet", "--no-verify-signatures", "--no-squash", "--commit", "--no-overwrite-ignore"
"""An ignored file may be the only copy that somebody has."""
REBASING = "rebase-*/head-name", "worktrees/*/rebase-*/head-name"
"""Files in which git records the branch being rebased, for a repository and its worktrees."""
BUSY = ("index.lock", "cannot lock ref")  # git's messages when another git holds a lock, which it releases in a moment
LARGEST = 1_600_000  # maximum bytes of a file to read


class CommittedFile(NamedTuple):
    """A file of a commit."""

    mode: str
    blob: str
    content: bytes


def proven_tip(repository: Repository, state: LoopState) -> str:
    """Tip of the loop's branch. Raises OperatorError if it no longer contains the proven work."""
    tip = read_ref(repository.common, f"refs/heads/{state.branch}")
    if tip is None or not contains(repository.common, tip, state.head):
        raise OperatorError(
            f"branch {clean(state.branch)} no longer contains the loop's work",
            expected=state.head,
            found=tip or "no such branch",
        )
    return tip


def file_at(repository: Repository, commit: str, name: str) -> CommittedFile | None:
    """A file of a commit; None if there is none of that name. Raises OperatorError if it is not a plain file."""
    entry = entry_at(repository.common, commit, name)
    if entry is None:
        return None
    size = read_sizes(repository.common, [entry.id])[0] if entry.mode in FILE_MODES else 0
    if size is None:
        raise missing_object(repository.common, f"{entry.id} ({entry.path})")
    if entry.mode not in FILE_MODES or size > LARGEST:
        found = f"{size:,} bytes" if entry.mode in FILE_MODES else f"mode {entry.mode}"
        raise OperatorError(f"{clean(name)} is not a regular file", expected="a plain file, and no link", found=found)
    return CommittedFile(entry.mode, entry.id, read_object(repository.common, entry.id))


def decode_text(content: bytes, name: str) -> str:
    """Decode a file. Raises OperatorError if it is not text."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"{clean(name)} cannot be read", expected="UTF-8", found=str(error.reason)) from error


def required_file(repository: Repository, commit: str, path: str, key: str) -> CommittedFile:
    """Like `file_at`, for a file that a configuration key names. Also raises OperatorError if the commit has no such file."""
    if (file := file_at(repository, commit, path)) is not None:
        return file
    uncommitted = not repository.bare and (repository.top / path).is_file()
    raise OperatorError(
        f"{key}: {clean(path)} is not in commit {commit[:12]}",
        expected="a committed file, by its path from the top of the repository",
        found="it is in the checkout, but not committed" if uncommitted else "no such file",
        remedy=f"commit it: git add {clean(path)}; git commit" if uncommitted else "name another file, or write and commit it",
    )


def tree_with(repository: Repository, commit: str, name: str, content: bytes, mode: str = NEW_FILE) -> str:
    """Write the commit's tree with this file, and return its id."""
    blob = git(repository.common, "hash-object", "-w", "--stdin", stdin=content).strip()
    return tree_with_entries(repository.common, commit, [Entry(mode, blob, name)])


def tree_with_entries(cwd: Path, commit: str, entries: Sequence[Entry]) -> str:
    """Write the commit's tree with these entries in place of its own."""
    with temporary_index() as index:
        git(cwd, "read-tree", commit, env=index)
        git(cwd, "update-index", "-z", "--replace", "--index-info", stdin=index_info(entries), env=index)
        return git(cwd, "write-tree", env=index).strip()


@contextmanager
def temporary_index() -> Generator[Mapping[str, str]]:
    """Environment variable for git with a temporary index; no other index changes."""
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        yield {"GIT_INDEX_FILE": str(Path(folder) / "index")}


def commit_file(repository: Repository, state: LoopState, tip: str, name: str, content: bytes, subject: str) -> str:
    """Commit this file on top of `tip`, on no branch yet. Returns `tip` if it already has the file."""
    before = file_at(repository, tip, name)
    if before is not None and before.content == content:
        return tip
    tree = tree_with(repository, tip, name, content, before.mode if before else NEW_FILE)
    messages = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}"
    return git(repository.common, "commit-tree", tree, "-p", tip, *messages).strip()


def commit_to_branch(repository: Repository, state: LoopState, tip: str, name: str, content: bytes, subject: str) -> str:
    """Commit this file on the loop's branch, on top of `tip`, and update the checkout that is on it. Returns the commit.

    Raises OperatorError if that checkout cannot be updated, and TransientError if the branch has moved meanwhile.
    """
    commit = commit_file(repository, state, tip, name, content, subject)
    if commit != tip and not move_branch(repository, f"refs/heads/{state.branch}", tip, commit):
        raise TransientError(f"branch {clean(state.branch)} was moved meanwhile")
    return commit


def checkout_of(repository: Repository, branch: str) -> Path | None:
    """The worktree or checkout of the repository that is on the branch."""
    ref = f"refs/heads/{branch}"
    listed = git_bytes(repository.common, "for-each-ref", "--format=%(refname) %(worktreepath)", "--", ref)
    folder = Path(os.fsdecode(listed.removeprefix(f"{ref} ".encode()).removesuffix(b"\n")))
    if not listed.startswith(f"{ref} /".encode()) or not folder.is_dir():
        return None
    if folder.resolve() != repository.common:
        return folder
    # git names the git folder itself if the repository is bare, and if `.git` in the checkout is a file that leads to it
    own = git(repository.top, "rev-parse", "--absolute-git-dir").removesuffix("\n")
    is_here = Path(own).resolve() == repository.common
    return None if repository.bare else repository.top if is_here else folder


def move_branch(repository: Repository, ref: str, old: str, new: str) -> bool:
    """Move the branch, with files and index of a checkout that is on it. Returns False if the branch has moved meanwhile."""
    name, common = ref.removeprefix("refs/heads/"), repository.common
    # git locks the index and the branch separately: two moves at once would leave a mixed checkout
    with locked(helmsman_folder(common) / "checkout.lock", 0o644):
        checkout = checkout_of(repository, name)
        if checkout is None:
            _require_no_rebase(repository, ref)
        try:
            if checkout is None:
                git(common, "update-ref", "-m", "helmsman: move on", ref, new, old)
            else:  # git refuses if the merge touches local changes
                git(checkout, "-c", "merge.autoStash=false", "merge", "--ff-only", *MERGE_OPTIONS, new)
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
    """Raise OperatorError during a rebase of the branch: HEAD is detached meanwhile, and --abort would reset the branch."""
    for file in (path for pattern in REBASING for path in repository.common.glob(pattern)):
        if file.read_text(errors="replace").strip() == ref:
            raise OperatorError(
                f"branch {ref.removeprefix('refs/heads/')} is being rebased, and would lose this commit; nothing was changed",
                found=str(file.parent),
                remedy="finish it there: git rebase --continue, or --abort; then resume the loop",
            )
