"""The loop's work on top of the target branch: rebased, or merged, or merged with conflict markers.

Everything happens in the loop's own worktree, which has what the checks need besides the tree (installed packages, caches). The
loop's branch does not move until the result is used.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helmsman.errors import TransientError
from helmsman.parsers.alignment_file import own_goal
from helmsman.plain import clean
from helmsman.records.agent import Commit
from helmsman.records.checks import CheckReport
from helmsman.records.state import LoopState
from helmsman.records.tracking import ConflictedFile
from helmsman.texts import plural
from tasks.repository.git import GitError, Repository, commit_and_tree, contains, git, git_bytes, read_ref, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import resolve_plan
from tasks.repository.state_ref import PREFIX
from tasks.repository.worktree import SUBJECT_SHOWN, recover, reset_to, restore, set_branch
from tasks.system.secrets import redact

MOST_REBASED = 200  # commits; more of them are merged, which is fast for any number
MOST_FILES = 50
MOST_COMMITS = 10
IN_THE_WORKTREE = ", verified in the agent's folder"
GIT_OPTIONS = (
    "-c", "merge.conflictStyle=diff3", "-c", "merge.autoStash=false", "-c", "rerere.enabled=false",
    "-c", "submodule.recurse=false", "-c", "rebase.updateRefs=false", "-c", "rebase.autoStash=false",
    "-c", "rebase.autoSquash=false",
)  # fmt: skip
"""Options that keep a user's git settings from changing the result or moving other refs."""
REBASE_OPTIONS = (
    "--quiet", "--reapply-cherry-picks", "--no-autostash", "--no-autosquash", "--no-gpg-sign", "--no-stat", "--no-fork-point",
)  # fmt: skip
CONFLICT_KINDS: Mapping[str, str] = {
    "DD": "deleted on both sides, renamed on one",
    "AU": "renamed or added here",
    "UA": "renamed or added there",
    "AA": "added on both sides",
    "UD": "changed here, deleted there",
    "DU": "deleted here, changed there",
    "UU": "changed on both sides",
}
"""Meaning of the codes of `git status` for a path in conflict; "here" is the loop's branch."""


@dataclass(frozen=True)
class Combined:
    """A commit that contains both sides."""

    commit: str
    conflicts: tuple[ConflictedFile, ...] = ()  # files with conflict markers
    notes: tuple[str, ...] = ()  # remarks for people


def rebase_or_merge(context: LoopContext, state: LoopState, base: str) -> Combined:
    """Combine the loop's work with the base. The branch and the worktree are unchanged afterwards."""
    if contains(context.repository.common, state.head, base):
        return Combined(state.head)
    try:
        rebased = _rebase(context.worktree, state.head, base)
        return Combined(rebased) if rebased else _merge(context, state, base)
    finally:
        reset_worktree(context, state)


def reset_worktree(context: LoopContext, state: LoopState) -> None:
    """Abort unfinished git operations and check out the loop's branch at its head."""
    recover(context.repository, context.worktree, state.branch)
    succeeds(context.worktree, "merge", "--quit")
    reset_to(context.worktree, state.branch, state.head, held=False)


def _rebase(worktree: Path, head: str, base: str) -> str:
    """The rebased commit; empty where the rebase fails. A branch with merges, whose conflicts would recur, is not rebased."""
    lines = git(worktree, "rev-list", "--parents", f"--max-count={MOST_REBASED + 1}", head, "--not", base).splitlines()
    if len(lines) > MOST_REBASED or any(len(line.split()) > 2 for line in lines):  # noqa: PLR2004 - itself, one parent
        return ""
    if not succeeds(worktree, *GIT_OPTIONS, "rebase", *REBASE_OPTIONS, base, head):
        succeeds(worktree, "rebase", "--abort")
        return ""
    return commit_and_tree(worktree)[0]


def _merge(context: LoopContext, state: LoopState, base: str) -> Combined:
    """Merge the base into the loop's work. Raises TransientError where git fails without a conflict."""
    worktree, into = context.worktree, state.config.merge.into
    reset_worktree(context, state)
    problem = ""
    try:
        git(worktree, *GIT_OPTIONS, "merge", "--no-commit", "--no-ff", "--quiet", "--no-verify-signatures", base)
    except GitError as error:
        problem = error.stderr
    options = "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"
    entries = git_bytes(worktree, "status", "--porcelain", "-z", *options).split(b"\0")
    marked = ((entry, CONFLICT_KINDS.get(entry[:2].decode("ascii", "replace"))) for entry in entries)
    conflicts = tuple(ConflictedFile(path=os.fsdecode(entry[3:]), how=how) for entry, how in marked if how)
    if problem and not conflicts:
        raise TransientError(f"{into} cannot be merged into the loop's work", found=problem)
    conflicts, notes = _resolve_plan(context, state, base, conflicts)
    if conflicts:
        names = b"\0".join(os.fsencode(conflict.path) for conflict in conflicts)  # with markers, or one side for a binary file
        how = "--all", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"
        git(worktree, "--literal-pathspecs", "add", *how, stdin=names)
    tree = git(worktree, "write-tree").strip()
    subject = f"Bring in {into}, with {plural(len(conflicts), 'conflict')} to be merged" if conflicts else f"Bring in {into}"
    messages = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}"
    commit = git(worktree, "commit-tree", tree, "-p", state.head, "-p", base, *messages).strip()
    return Combined(commit, conflicts, notes)


def _resolve_plan(
    context: LoopContext, state: LoopState, base: str, conflicts: tuple[ConflictedFile, ...]
) -> tuple[tuple[ConflictedFile, ...], tuple[str, ...]]:
    """Resolve a conflict in the plan, where markers would block all further work; return the other conflicts and notes."""
    path = state.config.plan.file
    resolved = resolve_plan(context.repository, state, base) if any(conflict.path == path for conflict in conflicts) else None
    if resolved is None:
        return conflicts, ()
    content, note = resolved
    if content is None:
        git(context.worktree, "update-index", "--force-remove", "--", path)
    else:
        blob = git(context.worktree, "hash-object", "-w", "--stdin", stdin=content.content).strip()
        git(context.worktree, "update-index", "--add", "--cacheinfo", f"{content.mode},{blob},{path}")
    return tuple(conflict for conflict in conflicts if conflict.path != path), (note,) if note else ()


def unshared_commits(repository: Repository, commit: str, excluded: str, paths: Sequence[str]) -> tuple[Commit, ...]:
    """Commits of one side that the other lacks, newest first: those that touch these paths, or all without paths."""
    log = "log", "-z", "--no-merges", "--format=%H %s", f"--max-count={MOST_COMMITS}"
    output = git(repository.common, "--literal-pathspecs", *log, commit, "--not", excluded, "--", *paths)
    entries = (entry.partition(" ") for entry in output.split("\0") if entry)
    return tuple(Commit(id=name, subject=clean(subject)[:SUBJECT_SHOWN]) for name, _, subject in entries)


def move_loop_branch(context: LoopContext, state: LoopState, commit: str, before: str) -> bool:
    """Move the loop's branch and worktree from `before` to a commit. Return False where the branch is at neither.

    Commits that leave the branch are saved on a ref.
    """
    repository, ref = context.repository, f"refs/heads/{state.branch}"
    tip = read_ref(repository.common, ref)
    if tip != before or commit == before:
        return tip == commit
    if not contains(repository.common, commit, before):
        git(repository.common, "update-ref", f"{PREFIX}{state.loop}/rebased/{before[:12]}", before)
    if context.worktree.exists():  # files first: a crash in between leaves none that looks like a person's change
        restore(context.worktree, commit)
    git(repository.common, "update-ref", ref, commit, before)
    if context.worktree.exists():
        set_branch(context.worktree, state.branch, commit)
    return True


def merge_commit(
    context: LoopContext, state: LoopState, base: str, head: str, report: CheckReport, notes: tuple[str, ...]
) -> str:
    """The commit that `git merge --no-ff` would create for a head on top of the base, with the head's tree, which was checked."""
    _, tree = commit_and_tree(context.worktree, head)
    goal, proven = clean(own_goal(state.config.goal).strip().splitlines()[0]), state.merging.proven
    lines = (
        f"Loop {state.loop}, {plural(state.iteration, 'iteration')}.",
        *((f"Proven by {proven.rule}: {clean(proven.reason)[:500]}",) if proven else ()),
        f"Every check passes on exactly this tree{IN_THE_WORKTREE if report.clean is False else ''}:",
        *(f"  {clean(result.command)[:200]}" for result in report.results),
        *notes,
    )
    body = "\n".join((*map(redact, lines), "", f"Helmsman-Loop: {state.loop}"))
    messages = "-m", f"Merge {state.branch}: {goal}"[:SUBJECT_SHOWN], "-m", body
    return git(context.repository.common, "commit-tree", tree, "-p", base, "-p", head, *messages).strip()
