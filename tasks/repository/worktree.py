"""The folder that the agent works in: made, kept clean, salvaged."""

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
from helmsman.records.agent import Change, Commit, Salvage
from helmsman.records.state import LoopState
from tasks.repository.branch_files import tree_with_entries
from tasks.repository.git import GitError, Repository, contains, current_branch, git, read_ref, succeeds, tip_of
from tasks.repository.objects import own_folder
from tasks.repository.staging import (
    WORK,
    add_submodules,
    clean_submodules,
    insist,
    loose_submodules,
    snapshot,
    stage,
    stage_holds_work,
    submodules,
)
from tasks.repository.state_ref import free_ref
from tasks.system.paths import helmsman_folder

COMMITS_SHOWN = 50
FILES_SHOWN = 200
SUBJECT_SHOWN = 200
LEFTOVERS = "helmsman: keep what"  # how the subject begins of a commit that we make of an agent's uncommitted work
DIRTY_SHOWN = 20
IN_PROGRESS = "rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD"
"""Files of git's that say that it was left in the middle of something."""
SPARED = 2000  # ignored paths at most, folders as one, that are kept by name when their rule is gone
_SPECIAL, _QUOTED = re.compile(r"([\\*?\[\]!# ])"), r"\\\1"
AHEAD_SECONDS = 3600
"""Caches lie here from the run before. They compare whole seconds for equality, builds for order: both see another file so."""
LEFT_OPEN = "rebase", "am", "cherry-pick", "revert"
"""Commands that can be left in the middle, and that forget it with --quit, touching nothing."""


def measure_change(path: Path, start: str) -> Change:
    """Compare HEAD with the commit that an iteration began with."""
    (commit, tree, _), *_ = line = first_line(path, "HEAD", COMMITS_SHOWN, but=f"{start}^@")
    commits = tuple(Commit(id=name, subject=subject) for name, _, subject in line if name != start)
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
    """Commits of the first line of descent after `start`, newest first."""
    return tuple(Commit(id=name, subject=subject) for name, _, subject in first_line(path, commit, limit, but=start))


def first_line(path: Path, tip: str, limit: int, *, but: str) -> list[tuple[str, str, str]]:
    """Commit, tree and subject of the first line of descent, newest first, without what can be reached from `but`."""
    log = git(path, "log", "-z", "--first-parent", "--format=%H %T %s", f"--max-count={limit}", tip, "--not", but, "--")
    commits = (entry.split(" ", 2) for entry in log.split("\0") if entry)
    return [(name, tree, subject[:SUBJECT_SHOWN]) for name, tree, subject in commits]


def ensure_worktree(repository: Repository, path: Path, branch: str, start: str, base: str = "") -> None:
    """Make the worktree on the loop's branch where it is missing. Raises OperatorError when the branch is in use elsewhere.

    `base`: commit that the loop began with. Only the submodules that it declares are fetched, as an agent may name any address.
    """
    if path == repository.top and not repository.bare:
        if (found := current_branch(path)) != branch:
            raise OperatorError(
                "the checkout is not on the loop's branch",
                expected=branch,
                found=found or "a detached HEAD",
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
    if not exists and not succeeds(repository.common, "cat-file", "-e", f"{start}^{{commit}}"):  # a state that was fetched alone
        raise OperatorError(
            "the loop's work is not in this repository",
            expected=f"branch {branch} with commit {start}",
            remedy=f"fetch it from where the loop was: git fetch origin {branch}:{branch}",
        )
    how = [str(path), branch] if exists else ["-b", branch, str(path), start]
    try:
        git(repository.common, "worktree", "add", "--quiet", *how)
    except GitError as error:
        raise OperatorError(
            f"the worktree for branch {branch} could not be made",
            found=error.stderr,
            remedy=f"free the branch and the folder {path}, then resume",
        ) from error


def _repair_link(repository: Repository, path: Path) -> bool:
    """An agent may have made a repository of its own in the worktree. It is put aside, and the worktree is ours again.

    Returns whether it is: else git would look for a repository above, and find somebody's home.
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


def own_git(path: Path, commit: str) -> Path | None:
    """Where git keeps the index and HEAD of the checkout that lies exactly here.

    None where there is none, or one without that commit: git would look above, and take another repository for this one.
    """
    exactly_here = path.is_dir() and succeeds(path, "--git-dir=.git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    return own_folder(path).resolve() if exactly_here else None


def _require_own_git(path: Path, commit: str) -> None:
    if own_git(path, commit) is None:
        raise OperatorError(
            "the worktree is detached from its repository; git would change any repository above it",
            expected=f"{path / '.git'}, as it was made",
            found="a .git that is missing, broken or another repository's",
            remedy="fix that command; the worktree is repaired when the loop is resumed",
        )


def remove_worktree(repository: Repository, path: Path) -> None:
    """Remove a worktree whose work is on its branch, a locked one too. The caller makes sure that nothing is uncommitted.

    Raises GitError where submodules are in it: their commits lie in this worktree's own folder and would go with it.
    """
    force = () if submodules(path) else ("--force", "--force")
    git(repository.common, "worktree", "remove", *force, str(path))


def dirty_paths(path: Path) -> tuple[str, ...]:
    """Paths with uncommitted work, junk left out."""
    return _uncommitted(path)[:DIRTY_SHOWN]


def _uncommitted(path: Path) -> tuple[str, ...]:
    """Git is kept out of repositories that an agent made: it would run what their settings say."""
    how = "--ignore-submodules=dirty", "--porcelain", "--untracked-files=all", "--no-renames"
    entries = git(path, "status", "-z", *how, "--", *WORK).split("\0")
    inside = [inner.relative_to(path).as_posix() for inner in submodules(path) if _uncommitted(inner)]
    return tuple(dict.fromkeys((*(entry[3:] for entry in entries if entry), *inside)))  # each begins with `XY `


def require_clean(path: Path) -> None:
    """Raise OperatorError when a checkout that the loop is to work in holds uncommitted work."""
    dirty = dirty_paths(path)
    if dirty:
        raise OperatorError(
            "the checkout has uncommitted changes, and --in-place would mix them with the agent's",
            found=", ".join(dirty),
            remedy="commit or stash them, or leave --in-place out: a worktree does not touch your checkout",
        )
    if loose := loose_submodules(path):
        raise OperatorError(
            "a submodule holds its own repository, whose settings the agent could change",
            expected="it where git puts it today, below .git/modules",
            found=", ".join(loose),
            remedy=f"git -C {shlex.quote(str(path))} submodule absorbgitdirs",
        )


def settle_work(repository: Repository, path: Path, state: LoopState, start: str) -> Change:
    """End an agent's turn: back on the loop's branch, leftovers committed, and what it changed measured."""
    recover(repository, path, state.branch)
    # undo a switch of branches or a rewritten history: the agent's tree is kept, on top of where it started
    tip, at_it = tip_of(path, f"refs/heads/{state.branch}")
    head = tip if at_it else _head(path)
    onto = head if head is not None and contains(path, head, start) else start
    keep(repository, path, state, [commit for commit in (head, tip) if commit], onto)
    hold_branch(path, state.branch, onto)
    _commit_leftovers(path, state)
    return measure_change(path, start)


def hold_branch(path: Path, branch: str, commit: str) -> None:
    """Put branch and HEAD at a commit whose tree the worktree has already."""
    full = f"refs/heads/{branch}"
    if tip_of(path, full) == (commit, True):
        return
    _require_own_git(path, commit)
    git(path, "update-ref", full, commit)
    git(path, "symbolic-ref", "HEAD", full)


def recover(repository: Repository, path: Path, branch: str) -> None:
    """Undo what a killed git or a bold agent left. The caller has made sure that none of the loop's processes live."""
    if (path != repository.top or repository.bare) and not _repair_link(repository, path):
        raise AgentError(
            "the worktree lost its link to the repository, and it cannot be repaired",
            found=str(path),
            remedy="save any work in it, remove it, and resume",
        )
    own = own_folder(path)
    for lock in (own / "index.lock", own / "HEAD.lock", repository.common / "refs" / "heads" / f"{branch}.lock"):
        lock.unlink(missing_ok=True)
    if any((own / name).exists() for name in IN_PROGRESS):
        for command in LEFT_OPEN:
            succeeds(path, command, "--quit")


def _head(path: Path) -> str | None:
    """The commit that HEAD is at, or None on a branch without one."""
    try:
        return git(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
    except GitError:
        return None


def keep(repository: Repository, path: Path, state: LoopState, commits: list[str], safe: str) -> None:
    """Put those commits on refs that would not be found from a safe one."""
    for commit in dict.fromkeys(commits):
        if not contains(path, safe, commit):
            git(path, "update-ref", free_ref(repository, state.loop, "salvage", f"{state.due}-{state.attempt}"), commit)


def _commit_leftovers(path: Path, state: LoopState) -> None:
    for inner in submodules(path):
        _commit_leftovers(inner, state)
    stage(path)
    if not stage_holds_work(path):
        return
    subject = f"{LEFTOVERS} iteration {state.due} left uncommitted"
    body = f"The agent ended its turn without committing this.\n\nHelmsman-Loop: {state.loop}"
    git(path, "commit", "--quiet", "--no-verify", "--message", subject, "--message", body)


def restore(path: Path, commit: str) -> tuple[str, ...]:
    """Put the worktree back to a commit; returns the paths that were not as committed. Ignored files and junk stay.

    Where HEAD was moved it is left detached: whatever branch somebody went to stays where it is.
    Raises OperatorError where git would put back another repository.
    """
    _require_own_git(path, commit)
    dirty, moved = _uncommitted(path), _head(path) != commit
    if moved:
        insist(path, "checkout", "--quiet", "--force", "--detach", commit, "--")
    if moved or dirty:
        _clean(path)
    return ("HEAD", *dirty)[:DIRTY_SHOWN] if moved else dirty[:DIRTY_SHOWN]


def stand_on(path: Path, branch: str, commit: str, *, held: bool = True) -> None:
    """Put the worktree and the branch at a commit. `held`: False leaves a branch alone that somebody has moved from there."""
    restore(path, commit)
    if held or read_ref(path, f"refs/heads/{branch}") == commit:
        hold_branch(path, branch, commit)


def go_back_to(path: Path, branch: str, commit: str, *, before: str = "") -> None:
    """Put a branch and its worktree at an earlier commit, without leaving the branch. What was ignored until now stays.

    `before`: raises GitError where the branch is not at this commit any more; somebody has moved it, and it stays there.
    """
    ignored = git(path, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z").split("\0")
    git(path, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    if before:  # files first: who dies in between leaves none that looks like somebody's change on the better commit
        insist(path, "read-tree", "--reset", "-u", commit)
        git(path, "update-ref", f"refs/heads/{branch}", commit, before)
    insist(path, "reset", "--quiet", "--hard", commit)
    _clean(path, spare=[name for name in ignored if name])


def salvage(repository: Repository, path: Path, state: LoopState, start: str) -> Salvage | None:
    """Keep what a dead or cancelled attempt left, committed or not, on a ref; then return to the commit that it began with."""
    recover(repository, path, state.branch)
    for inner in submodules(path):
        _commit_leftovers(inner, state)
    message = f"helmsman: work in flight of iteration {state.due}, attempt {state.attempt}"
    whole, tip = snapshot(path, _head(path) or start, message), read_ref(path, f"refs/heads/{state.branch}") or start
    commit = tip if contains(path, start, whole) else whole
    kept = None
    if not contains(path, start, commit):
        ref = free_ref(repository, state.loop, "salvage", f"{state.due}-{state.attempt}")
        git(path, "update-ref", ref, commit)
        files = git(path, "diff", "--name-only", "-z", start, commit, "--").count("\0")
        kept = Salvage(iteration=state.due, attempt=state.attempt, ref=ref, commit=commit, files=files)
    keep(repository, path, state, [tip], commit)
    hold_branch(path, state.branch, start)
    _clean(path)
    return kept


def _clean(path: Path, spare: Sequence[str] = ()) -> None:
    """Back to HEAD, submodules too. Ignored files and junk stay, and so does what is spared."""
    insist(path, "reset", "--quiet", "--hard")
    spared = [f"--exclude=/{_SPECIAL.sub(_QUOTED, name)}" for name in spare[:SPARED]]
    insist(path, "clean", "-ffdq", *spared, "--", *WORK)
    clean_submodules(path)


@dataclass
class Worktree:
    """The agent's worktree as a place to run checks in: during a session, and where `workspace.clean` is off.

    What is ignored lies there as somebody left it, and so do the settings of its repository.
    """

    root: Path
    clean: bool = False
    due: tuple[str, ...] = ()  # commands of set-up, for a worktree that was just made
    _commit: str = ""
    _own: Path | None = None

    def prepare(self, commit: str, overlay: Sequence[bytes] = ()) -> None:
        restore(self.root, commit)
        self._commit, self._own = commit, own_git(self.root, commit)
        if overlay:
            insist(self.root, "read-tree", "-m", "-u", commit, tree_with_entries(self.root, commit, overlay))
            ahead = time.time() + AHEAD_SECONDS
            for path in (self.root / os.fsdecode(entry.partition(b"\t")[2]) for entry in overlay):
                if os.path.lexists(path):
                    os.utime(path, (ahead, ahead), follow_symlinks=False)

    def reset(self) -> tuple[str, ...]:
        return restore(self.root, self._commit)

    def require_intact(self, commands: Sequence[str]) -> None:
        if self._commit and own_git(self.root, self._commit) != self._own:
            raise OperatorError(
                "a check cut its worktree off from the repository; git would change whatever repository lies above",
                expected="checks that leave .git alone, and so do the tests and scripts that they run",
                found=" | ".join(commands),
                remedy="fix it; the worktree is repaired when the loop is resumed",
            )

    def setup_due(self) -> tuple[str, ...]:
        return self.due

    def setup_done(self) -> None:
        """Set-up ran when the worktree was made."""

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return dict(variables)

    def left_out(self) -> tuple[str, ...]:
        return ()
