"""The folder that the agent works in: made, kept clean, measured, salvaged."""

import os
import tempfile
from pathlib import Path

from helmsman.errors import OperatorError
from helmsman.records.evidence import Change, Commit, Salvage
from helmsman.records.state import LoopState
from tasks.git import GitError, Repository, commit_and_tree, current_branch, git, read_ref, succeeds
from tasks.state_ref import free_salvage_ref

COMMITS_SHOWN = 50
FILES_SHOWN = 200

JUNK = (
    "**/__pycache__/**",
    "**/*.pyc",
    "**/.pytest_cache/**",
    "**/.mypy_cache/**",
    "**/.ruff_cache/**",
    "**/.hypothesis/**",
    "**/node_modules/**",
    "**/.venv/**",
    "**/.coverage",
    "**/.DS_Store",
)
"""Left lying about by tools and ignored by most repositories; never work, so never committed by us."""

WORK = (".", *(f":(exclude,glob){pattern}" for pattern in JUNK), ":(exclude,glob).helmsman/**")
"""Paths that count: everything but junk and the loop's own files."""


def ensure_worktree(repository: Repository, path: Path, branch: str, start: str) -> None:
    """Make the worktree on the loop's branch where it is missing. Raises OperatorError when the branch is in use elsewhere."""
    if path == repository.top and not repository.bare:
        _require_branch(path, branch)
        return
    if not (path / ".git").exists():
        _add_worktree(repository, path, branch, start)
    _add_submodules(path)


def _require_branch(path: Path, branch: str) -> None:
    found = current_branch(path)
    if found != branch:
        raise OperatorError(
            "the checkout is on another branch than the loop that works in it",
            expected=branch,
            found=found or "a detached HEAD",
            remedy=f"git -C {path} switch {branch}",
        )


def _add_worktree(repository: Repository, path: Path, branch: str, start: str) -> None:
    git(repository.common, "worktree", "prune")
    path.parent.mkdir(parents=True, exist_ok=True)
    exists = read_ref(repository.common, f"refs/heads/{branch}") is not None
    how = [str(path), branch] if exists else ["-b", branch, str(path), start]
    try:
        git(repository.common, "worktree", "add", "--quiet", *how)
    except GitError as error:
        raise OperatorError(
            f"the worktree for branch {branch} could not be made",
            found=error.stderr,
            remedy=f"free the branch and the folder {path}, then resume",
        ) from error


def _add_submodules(path: Path) -> None:
    if not (path / ".gitmodules").exists():
        return
    try:
        git(path, "submodule", "update", "--init", "--recursive", "--quiet")
    except GitError as error:
        raise OperatorError(
            "the repository's submodules could not be checked out in the worktree",
            found=error.stderr,
            remedy=f"make this work: git -C {path} submodule update --init --recursive",
        ) from error


def remove_worktree(repository: Repository, path: Path) -> None:
    """Remove a worktree whose work is on its branch. The caller makes sure that nothing uncommitted is in it."""
    git(repository.common, "worktree", "remove", "--force", "--force", str(path))


def dirty_paths(path: Path, limit: int = 20) -> tuple[str, ...]:
    """Paths with uncommitted work, junk left out."""
    listed = git(path, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *WORK)
    return tuple(entry[3:] for entry in listed.split("\0") if entry)[:limit]


def require_clean(path: Path) -> None:
    """Raise OperatorError when a checkout that the loop is to work in holds uncommitted work."""
    dirty = dirty_paths(path)
    if dirty:
        raise OperatorError(
            "the checkout has uncommitted changes, and --in-place would mix them with the agent's",
            found=", ".join(dirty),
            remedy="commit or stash them, or leave --in-place out: a worktree does not touch your checkout",
        )


def settle_work(repository: Repository, path: Path, state: LoopState, start: str) -> Change:
    """End an agent's turn: back on the loop's branch, leftovers committed, and what it changed measured."""
    _return_to_branch(repository, path, state, start)
    leftovers = _commit_leftovers(path, state)
    return measure_change(path, start, leftovers=leftovers)


def measure_change(path: Path, start: str, *, leftovers: bool) -> Change:
    """Compare HEAD with the commit that an iteration began with."""
    commit, tree = commit_and_tree(path)
    log = git(path, "log", "-z", "--first-parent", "--format=%H %s", f"--max-count={COMMITS_SHOWN}", f"{start}..{commit}")
    numbers = git(path, "diff", "--numstat", "-z", "--no-renames", start, commit)
    rows = [row.split("\t", 2) for row in numbers.split("\0") if row]
    return Change(
        start=start,
        commit=commit,
        tree=tree,
        commits=tuple(Commit(id=line[:40], subject=line[41:241]) for line in log.split("\0") if line),
        files=tuple(name for _, _, name in rows[:FILES_SHOWN]),
        files_changed=len(rows),
        insertions=sum(int(added) for added, _, _ in rows if added.isdigit()),
        deletions=sum(int(removed) for _, removed, _ in rows if removed.isdigit()),
        leftovers_committed=leftovers,
    )


def _return_to_branch(repository: Repository, path: Path, state: LoopState, start: str) -> None:
    """Undo a switch of branches or a rewritten history: the agent's tree is kept, on top of where it started."""
    on_branch = current_branch(path) == state.branch
    if on_branch and succeeds(path, "merge-base", "--is-ancestor", start, "HEAD"):
        return
    kept = free_salvage_ref(repository, state.loop, state.due, state.attempt)
    git(path, "update-ref", kept, "HEAD")
    git(path, "update-ref", f"refs/heads/{state.branch}", start)
    git(path, "symbolic-ref", "HEAD", f"refs/heads/{state.branch}")


def _commit_leftovers(path: Path, state: LoopState) -> bool:
    git(path, "add", "--all", "--", *WORK)
    if succeeds(path, "diff", "--cached", "--quiet"):
        return False
    subject = f"helmsman: keep what iteration {state.due} left uncommitted"
    body = f"The agent ended its turn without committing this.\n\nHelmsman-Loop: {state.loop}"
    git(path, "commit", "--quiet", "--no-verify", "--message", subject, "--message", body)
    return True


def restore(path: Path, commit: str) -> tuple[str, ...]:
    """Put the worktree back to a commit; returns the paths that were not as committed. Ignored files and junk stay."""
    dirty = dirty_paths(path)
    if dirty:
        git(path, "reset", "--quiet", "--hard", commit)
        git(path, "clean", "-ffdq", "--", *WORK)
    return dirty


def salvage(repository: Repository, path: Path, state: LoopState, start: str) -> Salvage | None:
    """Keep what a dead or cancelled attempt left, committed or not, on a ref; then return to the commit that it began with."""
    _break_stale_lock(path)
    head, _ = commit_and_tree(path)
    commit = _snapshot(path, head, state) if dirty_paths(path, 1) else head
    kept = None
    if commit != start:
        ref = free_salvage_ref(repository, state.loop, state.due, state.attempt)
        git(path, "update-ref", ref, commit)
        files = git(path, "diff", "--name-only", "-z", start, commit).count("\0")
        kept = Salvage(iteration=state.due, attempt=state.attempt, ref=ref, commit=commit, files=files)
    _back_to(path, state.branch, start)
    return kept


def _snapshot(path: Path, head: str, state: LoopState) -> str:
    """Commit the worktree as it is, through an index of its own, without moving any branch."""
    with tempfile.TemporaryDirectory(prefix="helmsman-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}  # noqa: PTH118 - an environment variable is a string
        git(path, "read-tree", head, env=index)
        git(path, "add", "--all", "--", *WORK, env=index)
        tree = git(path, "write-tree", env=index).strip()
    message = f"helmsman: work in flight of iteration {state.due}, attempt {state.attempt}"
    return git(path, "commit-tree", tree, "-p", head, "-m", message).strip()


def _back_to(path: Path, branch: str, start: str) -> None:
    git(path, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    git(path, "reset", "--quiet", "--hard", start)
    git(path, "clean", "-ffdq", "--", *WORK)


def _break_stale_lock(path: Path) -> None:
    """A killed git leaves its lock behind; the caller has made sure that none of the loop's processes live."""
    lock = Path(git(path, "rev-parse", "--git-path", "index.lock").rstrip("\n"))
    (path / lock).unlink(missing_ok=True)
