"""One file of a branch, read and changed by plumbing: no checkout is needed, and one that has the branch is brought along."""

import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import OperatorError, TransientError
from helmsman.plain import clean
from helmsman.records.state import LoopState
from tasks.repository.git import GitError, Repository, contains, git, git_bytes, read_ref, succeeds
from tasks.repository.objects import read_object
from tasks.repository.trees import FILE_MODES, entry_at, size_of

NEW_FILE = "100644"
LARGEST = 1_600_000
"""Bytes of a file that is read."""


@dataclass(frozen=True)
class Held:
    """A file of a commit."""

    mode: str
    blob: str
    content: bytes


def work_of(repository: Repository, state: LoopState) -> str:
    """The commit that the loop's branch is at. Raises OperatorError where the work that was proven is not on it any more."""
    tip = read_ref(repository.common, f"refs/heads/{state.branch}")
    if tip is None or not contains(repository.common, tip, state.head):
        raise OperatorError(
            f"branch {clean(state.branch)} does not hold the loop's work any more",
            expected=state.head,
            found=tip or "no such branch",
        )
    return tip


def held_in(repository: Repository, commit: str, name: str) -> Held | None:
    """The file as it is in a commit; None where there is nothing of that name. Raises OperatorError where it is no plain file."""
    entry = entry_at(repository.common, commit, name)
    if entry is None:
        return None
    size = size_of(repository.common, entry) if entry.mode in FILE_MODES else 0
    if entry.mode not in FILE_MODES or size > LARGEST:
        found = f"{size:,} bytes" if entry.mode in FILE_MODES else f"mode {entry.mode}"
        raise OperatorError(f"{clean(name)} is no file that can be added to", expected="a plain file, and no link", found=found)
    return Held(entry.mode, entry.id, read_object(repository.common, entry.id))


def text_of(content: bytes, name: str) -> str:
    """Raises OperatorError where a file is no text."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"{clean(name)} cannot be read", expected="UTF-8", found=str(error.reason)) from error


def not_in_commit(repository: Repository, commit: str, path: str, key: str) -> OperatorError:
    """What to say where a file that a key of the configuration names is in no commit."""
    lies_there = not repository.bare and (repository.top / path).is_file()
    return OperatorError(
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


def commit_tree(repository: Repository, state: LoopState, tip: str, tree: str, subject: str) -> str:
    """Put a commit of ours on the loop's branch, on top of `tip`. Raises TransientError where somebody moved it meanwhile."""
    said = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}"
    commit = git(repository.common, "commit-tree", tree, "-p", tip, *said).strip()
    try:
        git(repository.common, "update-ref", f"refs/heads/{state.branch}", commit, tip)
    except GitError as error:
        raise TransientError(f"branch {clean(state.branch)} was moved meanwhile", found=error.stderr) from error
    return commit


def put_on_branch(repository: Repository, state: LoopState, tip: str, name: str, content: bytes, subject: str) -> str:
    """Commit this file on the loop's branch, and in the checkout that is on it. Returns the commit.

    The checkout comes first: whoever dies in between leaves there what the next attempt commits.
    """
    before = held_in(repository, tip, name)
    tree = tree_with(repository, tip, name, content, before.mode if before else NEW_FILE)
    checkout = checkout_of(repository, state.branch)
    if checkout and _as_committed(checkout, name, before):
        _bring_along(checkout, tree, name)
    return commit_tree(repository, state, tip, tree, subject)


def checkout_of(repository: Repository, branch: str) -> Path | None:
    """The worktree that is on the branch, be it the repository's own checkout."""
    ref = f"refs/heads/{branch}"
    listed = git_bytes(repository.common, "for-each-ref", "--format=%(refname) %(worktreepath)", "--", ref)
    found = Path(os.fsdecode(listed.removeprefix(f"{ref} ".encode()).removesuffix(b"\n")))
    no_checkout = repository.bare and found.resolve() == repository.common  # a bare one counts as a worktree of its own HEAD
    return found if listed.startswith(f"{ref} /".encode()) and found.is_dir() and not no_checkout else None


def _as_committed(checkout: Path, name: str, before: Held | None) -> bool:
    """Whether nobody has anything of this file in hand there; what somebody has stays as it is."""
    where = f":(top,literal){name}"
    listed = git(checkout, "ls-files", "-z", "--stage", "--", where).partition("\t")[0]
    if before is None:
        return not listed and not os.path.lexists(checkout / name)
    return listed == f"{before.mode} {before.blob} 0" and succeeds(checkout, "diff", "--quiet", "--no-ext-diff", "--", where)


def _bring_along(checkout: Path, tree: str, name: str) -> None:
    with an_index() as index:
        git(checkout, "read-tree", tree, env=index)
        entry = git(checkout, "ls-files", "-z", "--stage", "--", f":(top,literal){name}", env=index).partition("\t")[0]
        git(checkout, "checkout-index", "--force", "--quiet", "--", name, env=index)
    mode, blob, _ = entry.split()
    git(checkout, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")
