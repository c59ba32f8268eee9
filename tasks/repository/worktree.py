"""Create, clean, restore and salvage the agent's worktree."""

import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import AgentError, OperatorError
from helmsman.plain import clean
from helmsman.records.agent import Change, Commit, Salvage
from helmsman.records.state import LoopState
from tasks.repository.branch_files import tree_with_entries
from tasks.repository.git import GitError, Repository, contains, current_branch, git, read_ref, succeeds, tip_of
from tasks.repository.objects import Entry, own_folder
from tasks.repository.staging import (
    WORK,
    add_submodules,
    clean_submodules,
    has_staged_work,
    run_making_writable,
    snapshot,
    stage,
    submodules,
    unabsorbed_submodules,
)
from tasks.repository.state_ref import free_ref
from tasks.system.paths import helmsman_folder

COMMITS_SHOWN = 50
FILES_SHOWN = 200
SUBJECT_SHOWN = 200
LEFTOVERS = "helmsman: keep what"  # prefix of the subject of a commit with the agent's uncommitted work
DIRTY_SHOWN = 20
NAMED = 3  # maximum number of uncommitted paths in one line
IN_PROGRESS = "rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD"
"""Files in the git folder that mark an unfinished operation."""
MOST_SPARED = 2000  # maximum of ignored paths (a folder counts once) kept by name when their ignore rule is gone
_SPECIAL, _QUOTED = re.compile(r"([\\*?\[\]!# ])"), r"\\\1"
AHEAD_SECONDS = 3600
"""Caches of the previous run compare whole seconds for equality, builds for order: with this offset both notice the change."""
QUIT_COMMANDS = "rebase", "am", "cherry-pick", "revert"
"""Commands that may be left unfinished, and whose --quit forgets that without changing files."""


def measure_change(path: Path, start: str) -> Change:
    """Compare HEAD with the commit at the start of an iteration."""
    (commit, tree, _), *_ = log = first_parent_log(path, "HEAD", COMMITS_SHOWN, but=f"{start}^@")
    commits = tuple(Commit(id=name, subject=subject) for name, _, subject in log if name != start)
    numbers = git(path, "diff", "--numstat", "-z", "--no-renames", start, commit, "--")
    rows = [row.split("\t", 2) for row in numbers.split("\0") if row]
    return Change(
        start=start,
        commit=commit,
        tree=tree,
        commits=commits,
        files=tuple(name for _, _, name in rows[:FILES_SHOWN]),
        files_changed=len(rows),
        insertions=sum(int(added) for added, _, _ in rows if added.isdigit()),
        deletions=sum(int(removed) for _, removed, _ in rows if removed.isdigit()),
        leftovers_committed=any(commit.subject.startswith(LEFTOVERS) for commit in commits[:1]),
    )


def commits_between(path: Path, start: str, commit: str, limit: int) -> tuple[Commit, ...]:
    """First-parent commits after `start`, newest first."""
    return tuple(Commit(id=name, subject=subject) for name, _, subject in first_parent_log(path, commit, limit, but=start))


def first_parent_log(path: Path, tip: str, limit: int, *, but: str) -> list[tuple[str, str, str]]:
    """Commit, tree and subject of first-parent commits, newest first, without those reachable from `but`."""
    log = git(path, "log", "-z", "--first-parent", "--format=%H %T %s", f"--max-count={limit}", tip, "--not", but, "--")
    commits = (entry.split(" ", 2) for entry in log.split("\0") if entry)
    return [(name, tree, subject[:SUBJECT_SHOWN]) for name, tree, subject in commits]


def ensure_worktree(repository: Repository, path: Path, branch: str, start: str, base: str = "") -> None:
    """Create the worktree on the loop's branch unless it exists. Raises OperatorError when the branch is in use elsewhere.

    `base`: the commit that the loop started from. Only submodules that it declares are fetched, as an agent may name any address.
    """
    if path == repository.top and not repository.bare:
        if (current := current_branch(path)) != branch:
            raise OperatorError(
                "the checkout is not on the loop's branch",
                expected=branch,
                found=current or "a detached HEAD",
                remedy=f"git -C {shlex.quote(str(path))} switch {shlex.quote(branch)}",
            )
        return
    if path.exists():
        _repair_link(repository, path)
    if not (path / ".git").exists():
        _add_worktree(repository, path, branch, start)
    add_submodules(path, base or start)


def _add_worktree(repository: Repository, path: Path, branch: str, start: str) -> None:
    git(repository.common, "worktree", "prune")
    path.parent.mkdir(parents=True, exist_ok=True)
    exists = read_ref(repository.common, f"refs/heads/{branch}") is not None
    if not exists:
        require_work(repository, branch, start, f"git fetch origin {branch}:{branch}")
    target = [str(path), branch] if exists else ["-b", branch, str(path), start]
    try:
        git(repository.common, "worktree", "add", "--quiet", *target)
    except GitError as error:
        # as git-lfs, whose settings came with a copied configuration
        missing = re.search(r"([\w.-]+): (?:command )?not found", error.stderr)
        install = f"install {missing[1]}, which git's configuration names as a filter or a hook" if missing else ""
        raise OperatorError(
            f"the worktree for branch {branch} could not be created",
            found=error.stderr,
            remedy=f"{install or f'free the branch and the folder {path}'}, then resume",
        ) from error


def require_work(repository: Repository, branch: str, head: str, fetch: str, *, stale: bool = False) -> None:
    """Raise OperatorError where only the loop's state was fetched, and not its work. `fetch`: what fetches that.

    `stale`: whether a worktree has older work in any case.
    """
    if stale or not succeeds(repository.common, "cat-file", "-e", f"{head}^{{commit}}"):
        raise OperatorError(
            "only the loop's state was fetched, and not its work",
            expected=f"branch {branch} with commit {head}",
            remedy=f"fetch it from where the loop was: {fetch}",
        )


def _repair_link(repository: Repository, path: Path) -> bool:
    """Move a repository that the agent created in the worktree aside, and link the worktree to ours again.

    Returns whether it is linked: if not, git would search the folders above, and may find the user's home.
    """
    if not _is_linked(repository, path):
        if os.path.lexists(path / ".git"):
            aside = helmsman_folder(repository.common)
            shutil.move(path / ".git", Path(tempfile.mkdtemp(prefix=f"{path.name}-replaced-", dir=aside)) / "git")
        succeeds(repository.common, "worktree", "repair")
    return _is_linked(repository, path)


def _is_linked(repository: Repository, path: Path) -> bool:
    link = path / ".git"
    return not link.is_symlink() and link.is_file() and own_folder(path).parent == repository.common / "worktrees"


def own_git_folder(path: Path, commit: str) -> Path | None:
    """Git folder (index and HEAD) of the checkout at exactly this path.

    None if there is none, or it lacks the commit: git would search the folders above and use another repository.
    """
    exactly_here = path.is_dir() and succeeds(path, "--git-dir=.git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    return own_folder(path).resolve() if exactly_here else None


def _require_own_git(path: Path, commit: str) -> None:
    if own_git_folder(path, commit) is None:
        raise OperatorError(
            "the worktree is detached from its repository; git would change any repository above it",
            expected=f"{path / '.git'}, as it was made",
            found="a .git that is missing, broken or another repository's",
            remedy="fix that command; the worktree is repaired when the loop is resumed",
        )


def remove_worktree(repository: Repository, path: Path) -> None:
    """Remove a worktree whose work is on its branch, even a locked one. The caller makes sure that nothing is uncommitted.

    Raises GitError if it contains submodules: their commits are stored in this worktree's own folder and would be lost.
    """
    force = () if submodules(path) else ("--force", "--force")
    git(repository.common, "worktree", "remove", *force, str(path))


def dirty_paths(path: Path) -> tuple[str, ...]:
    """Paths with uncommitted work, without junk."""
    return _uncommitted(path)[:DIRTY_SHOWN]


def describe_uncommitted(repository: Repository) -> str:
    """What a person's checkout contains and no loop sees; empty if it is clean."""
    paths = () if repository.bare else dirty_paths(repository.top)
    more = ", …" if len(paths) > NAMED else ""
    return f"uncommitted changes in the checkout: {', '.join(map(clean, paths[:NAMED]))}{more}" if paths else ""


def _uncommitted(path: Path) -> tuple[str, ...]:
    """Skip repositories that an agent created: git would run the programs that their configuration names."""
    options = "--ignore-submodules=dirty", "--porcelain", "--untracked-files=all", "--no-renames"
    entries = git(path, "status", "-z", *options, "--", *WORK).split("\0")
    in_submodules = [inner.relative_to(path).as_posix() for inner in submodules(path) if _uncommitted(inner)]
    return tuple(dict.fromkeys((*(entry[3:] for entry in entries if entry), *in_submodules)))  # each begins with `XY `


def require_clean(path: Path) -> None:
    """Raise OperatorError if the checkout for the loop contains uncommitted work."""
    dirty = dirty_paths(path)
    if dirty:
        raise OperatorError(
            "the checkout has uncommitted changes, and --in-place would mix them with the agent's",
            found=", ".join(dirty),
            remedy="commit or stash them, or leave --in-place out: a worktree does not touch your checkout",
        )
    if loose := unabsorbed_submodules(path):
        raise OperatorError(
            "a submodule contains its own repository, whose settings the agent could change",
            expected="its repository below .git/modules, where git puts it",
            found=", ".join(loose),
            remedy=f"git -C {shlex.quote(str(path))} submodule absorbgitdirs",
        )


def commit_turn(repository: Repository, path: Path, state: LoopState, start: str) -> Change:
    """End an agent's turn: return to the loop's branch, commit leftovers, and measure the change."""
    recover(repository, path, state.branch)
    # undo a branch switch or a rewritten history: keep the agent's tree, on top of its start
    tip, is_checked_out = tip_of(path, f"refs/heads/{state.branch}")
    head = tip if is_checked_out else _head(path)
    onto = head if head is not None and contains(path, head, start) else start
    save_commits(repository, path, state, [commit for commit in (head, tip) if commit], onto)
    set_branch(path, state.branch, onto)
    _commit_leftovers(path, state)
    return measure_change(path, start)


def set_branch(path: Path, branch: str, commit: str) -> None:
    """Move branch and HEAD to a commit whose tree the worktree already has."""
    full = f"refs/heads/{branch}"
    if tip_of(path, full) == (commit, True):
        return
    _require_own_git(path, commit)
    git(path, "update-ref", full, commit)
    git(path, "symbolic-ref", "HEAD", full)


def recover(repository: Repository, path: Path, branch: str) -> None:
    """Undo what a killed git or the agent left behind. The caller makes sure that none of the loop's processes are alive."""
    if (path != repository.top or repository.bare) and not _repair_link(repository, path):
        raise AgentError(
            "the worktree lost its link to the repository, and it cannot be repaired",
            found=str(path),
            remedy="save any work in it, remove it, and resume",
        )
    git_folder = own_folder(path)
    for lock in (git_folder / "index.lock", git_folder / "HEAD.lock", repository.common / "refs" / "heads" / f"{branch}.lock"):
        lock.unlink(missing_ok=True)
    if any((git_folder / name).exists() for name in IN_PROGRESS):
        for command in QUIT_COMMANDS:
            succeeds(path, command, "--quit")


def _head(path: Path) -> str | None:
    """Commit of HEAD, or None on a branch without commits."""
    try:
        return git(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
    except GitError:
        return None


def save_commits(repository: Repository, path: Path, state: LoopState, commits: list[str], safe: str) -> None:
    """Create refs for the commits that are not reachable from `safe`."""
    for commit in dict.fromkeys(commits):
        if not contains(path, safe, commit):
            git(path, "update-ref", free_ref(repository, state.loop, "salvage", f"{state.due}-{state.attempt}"), commit)


def _commit_leftovers(path: Path, state: LoopState) -> None:
    for inner in submodules(path):
        _commit_leftovers(inner, state)
    stage(path)
    if not has_staged_work(path):
        return
    subject = f"{LEFTOVERS} iteration {state.due} left uncommitted"
    body = f"The agent ended its turn without committing this.\n\nHelmsman-Loop: {state.loop}"
    git(path, "commit", "--quiet", "--no-verify", "--message", subject, "--message", body)


def restore(path: Path, commit: str, branch: str = "", before: str = "") -> tuple[str, ...]:
    """Reset the worktree to a commit and return the paths that differed. Files that were ignored before stay, and so does junk.

    If HEAD was moved, it is detached: a branch that was checked out instead does not move. With `branch` HEAD is on that branch
    throughout, and the branch moves from `before`. Raises OperatorError if git would reset another repository.
    """
    _require_own_git(path, commit)
    if branch:
        git(path, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    dirty, moved, ignored = _uncommitted(path), _head(path) != commit, list[str]()
    if moved:  # the commit may lack the rules that ignore them
        ignored = git(path, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z").split("\0")
    if moved and branch:  # files first: a crash in between leaves none that looks like a change to the commit
        run_making_writable(path, "read-tree", "--reset", "-u", commit)
        git(path, "update-ref", f"refs/heads/{branch}", commit, before)
    elif moved:
        run_making_writable(path, "checkout", "--quiet", "--force", "--detach", commit, "--")
    if moved or dirty:
        _clean(path, spare=[name for name in ignored if name])
    return ("HEAD", *dirty)[:DIRTY_SHOWN] if moved else dirty[:DIRTY_SHOWN]


def reset_to(path: Path, branch: str, commit: str, *, held: bool = True) -> None:
    """Reset the worktree and the branch to a commit. `held=False` does not touch a branch that has moved from there."""
    restore(path, commit)
    if held or read_ref(path, f"refs/heads/{branch}") == commit:
        set_branch(path, branch, commit)


def salvage(repository: Repository, path: Path, state: LoopState, start: str) -> Salvage | None:
    """Keep the work of a dead or cancelled attempt, committed or not, on a ref; then return to its starting commit."""
    recover(repository, path, state.branch)
    for inner in submodules(path):
        _commit_leftovers(inner, state)
    message = f"helmsman: work in flight of iteration {state.due}, attempt {state.attempt}"
    snapshot_commit, tip = snapshot(path, _head(path) or start, message), read_ref(path, f"refs/heads/{state.branch}") or start
    commit = tip if contains(path, start, snapshot_commit) else snapshot_commit
    salvaged = None
    if not contains(path, start, commit):
        ref = free_ref(repository, state.loop, "salvage", f"{state.due}-{state.attempt}")
        git(path, "update-ref", ref, commit)
        files = git(path, "diff", "--name-only", "-z", start, commit, "--").count("\0")
        salvaged = Salvage(iteration=state.due, attempt=state.attempt, ref=ref, commit=commit, files=files)
    save_commits(repository, path, state, [tip], commit)
    set_branch(path, state.branch, start)
    _clean(path)
    return salvaged


def has_stray_work(path: Path, branch: str, commit: str) -> bool:
    """Whether the worktree contains anything besides that commit on that branch: a person may work there, too."""
    return tip_of(path, f"refs/heads/{branch}") != (commit, True) or bool(dirty_paths(path))


def save_stray_work(repository: Repository, path: Path, state: LoopState, commit: str) -> None:
    """Save on a ref what the worktree contains besides that commit, and return to it."""
    if has_stray_work(path, state.branch, commit):
        salvage(repository, path, state, commit)


def _clean(path: Path, spare: Sequence[str] = ()) -> None:
    """Reset to HEAD, submodules included. Ignored files, junk and spared paths stay."""
    run_making_writable(path, "reset", "--quiet", "--hard")
    spared = [f"--exclude=/{_SPECIAL.sub(_QUOTED, name)}" for name in spare[:MOST_SPARED]]
    run_making_writable(path, "clean", "-ffdq", *spared, "--", *WORK)
    clean_submodules(path)


@dataclass
class Worktree:
    """The agent's worktree as a checkout for checks: during a session, and with `workspace.clean` off.

    Ignored files and the repository's configuration are as the agent left them.
    """

    root: Path
    clean: bool = False
    setup_due: tuple[str, ...] = ()  # commands, for a new worktree
    left_out: tuple[str, ...] = ()
    _commit: str = ""
    _own: Path | None = None

    def prepare(self, commit: str, overlay: Sequence[Entry] = ()) -> None:
        restore(self.root, commit)
        self._commit, self._own = commit, own_git_folder(self.root, commit)
        if overlay:
            run_making_writable(self.root, "read-tree", "-m", "-u", commit, tree_with_entries(self.root, commit, overlay))
            ahead = time.time() + AHEAD_SECONDS
            for path in (self.root / entry.path for entry in overlay):
                if os.path.lexists(path):
                    os.utime(path, (ahead, ahead), follow_symlinks=False)

    def reset(self) -> tuple[str, ...]:
        return restore(self.root, self._commit)

    def require_intact(self, commands: Sequence[str]) -> None:
        if self._commit and own_git_folder(self.root, self._commit) != self._own:
            raise OperatorError(
                "a check replaced the worktree's .git; git would change any repository above it",
                expected="checks, tests and scripts that do not change .git",
                found=" | ".join(commands),
                remedy="fix it; the worktree is repaired when the loop is resumed",
            )

    def setup_done(self) -> None:
        """Do nothing: set-up ran when the worktree was created."""

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return dict(variables)
