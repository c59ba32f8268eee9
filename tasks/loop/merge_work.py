"""The loop's work on top of what the other branch holds by now: rebased, else joined, else with the conflict written down.

All of it happens in the loop's own worktree, which holds what the checks need beside the tree (installed packages, caches). The
loop's branch stays where it is until what comes of it is wanted.
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
from helmsman.records.tracking import Conflicted
from helmsman.texts import plural
from tasks.repository.git import GitError, Repository, commit_and_tree, contains, git, git_bytes, read_ref, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import plan_taken
from tasks.repository.state_ref import PREFIX
from tasks.repository.worktree import SUBJECT_SHOWN, hold_branch, recover, restore, stand_on
from tasks.system.secrets import redact

REBASED_AT_MOST = 200  # commits; more of them are joined by one merge, which takes a moment however many there are
FILES_TOLD = 50
COMMITS_TOLD = 10
IN_THE_WORKTREE = ", verified in the agent's folder"
PLAINLY = (
    "-c", "merge.conflictStyle=diff3", "-c", "merge.autoStash=false", "-c", "rerere.enabled=false",
    "-c", "submodule.recurse=false", "-c", "rebase.updateRefs=false", "-c", "rebase.autoStash=false",
    "-c", "rebase.autoSquash=false",
)  # fmt: skip
"""No setting of a user changes what comes of it, or moves anything else along."""
REBASE = (
    "--quiet", "--reapply-cherry-picks", "--no-autostash", "--no-autosquash", "--no-gpg-sign", "--no-stat", "--no-fork-point",
)  # fmt: skip
HOW: Mapping[str, str] = {
    "DD": "deleted on both sides, renamed on one",
    "AU": "renamed or added here",
    "UA": "renamed or added there",
    "AA": "added on both sides",
    "UD": "changed here, deleted there",
    "DU": "deleted here, changed there",
    "UU": "changed on both sides",
}
"""What `git status` says of a path in conflict; here is the loop's branch."""


@dataclass(frozen=True)
class Joined:
    """A commit that holds both sides."""

    commit: str
    conflicts: tuple[Conflicted, ...] = ()  # where its files hold conflict markers
    notes: tuple[str, ...] = ()  # what a person should know of it


def join(context: LoopContext, state: LoopState, base: str) -> Joined:
    """The loop's work with what the base holds. The branch and the worktree are as before, afterwards."""
    if contains(context.repository.common, state.head, base):
        return Joined(state.head)
    try:
        rebased = _rebased(context.worktree, state.head, base)
        return Joined(rebased) if rebased else _merged(context, state, base)
    finally:
        put_back(context, state)


def put_back(context: LoopContext, state: LoopState) -> None:
    recover(context.repository, context.worktree, state.branch)
    succeeds(context.worktree, "merge", "--quit")
    stand_on(context.worktree, state.branch, state.head, held=False)


def _rebased(worktree: Path, head: str, base: str) -> str:
    """Empty where it does not come through by itself: a branch that has merged before brings those conflicts again."""
    between = git(worktree, "rev-list", "--parents", f"--max-count={REBASED_AT_MOST + 1}", head, "--not", base).splitlines()
    if len(between) > REBASED_AT_MOST or any(len(line.split()) > 2 for line in between):  # noqa: PLR2004 - itself, one parent
        return ""
    if not succeeds(worktree, *PLAINLY, "rebase", *REBASE, base, head):
        succeeds(worktree, "rebase", "--abort")
        return ""
    return commit_and_tree(worktree)[0]


def _merged(context: LoopContext, state: LoopState, base: str) -> Joined:
    worktree, into = context.worktree, state.config.merge.into
    put_back(context, state)
    problem = ""
    try:
        git(worktree, *PLAINLY, "merge", "--no-commit", "--no-ff", "--quiet", "--no-verify-signatures", base)
    except GitError as error:
        problem = error.stderr
    only = "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"
    listed = git_bytes(worktree, "status", "--porcelain", "-z", *only).split(b"\0")
    marked = ((entry, HOW.get(entry[:2].decode("ascii", "replace"))) for entry in listed)
    conflicts = tuple(Conflicted(path=os.fsdecode(entry[3:]), how=how) for entry, how in marked if how)
    if problem and not conflicts:
        raise TransientError(f"{into} cannot be merged into the loop's work", found=problem)
    conflicts, notes = _without_plan(context, state, base, conflicts)
    if conflicts:
        names = b"\0".join(os.fsencode(one.path) for one in conflicts)  # with markers or, without a text to mark, as one side
        how = "--all", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"
        git(worktree, "--literal-pathspecs", "add", *how, stdin=names)
    tree = git(worktree, "write-tree").strip()
    subject = f"Bring in {into}, with {plural(len(conflicts), 'conflict')} to be merged" if conflicts else f"Bring in {into}"
    said = "-m", subject, "-m", f"Helmsman-Loop: {state.loop}"
    commit = git(worktree, "commit-tree", tree, "-p", state.head, "-p", base, *said).strip()
    return Joined(commit, conflicts, notes)


def _without_plan(
    context: LoopContext, state: LoopState, base: str, conflicts: tuple[Conflicted, ...]
) -> tuple[tuple[Conflicted, ...], tuple[str, ...]]:
    """The conflicts other than that in the plan, which is settled here: nobody could go on from markers in it."""
    path = state.config.plan.file
    taken = plan_taken(context.repository, state, base) if any(one.path == path for one in conflicts) else None
    if taken is None:
        return conflicts, ()
    held, note = taken
    if held is None:
        git(context.worktree, "update-index", "--force-remove", "--", path)
    else:
        blob = git(context.worktree, "hash-object", "-w", "--stdin", stdin=held.content).strip()
        git(context.worktree, "update-index", "--add", "--cacheinfo", f"{held.mode},{blob},{path}")
    return tuple(one for one in conflicts if one.path != path), (note,) if note else ()


def intents(repository: Repository, commit: str, but: str, paths: Sequence[str]) -> tuple[Commit, ...]:
    """Commits that one side has and the other has not, newest first: those that touch these paths, or any where none is named."""
    what = "log", "-z", "--no-merges", "--format=%H %s", f"--max-count={COMMITS_TOLD}"
    printed = git(repository.common, "--literal-pathspecs", *what, commit, "--not", but, "--", *paths)
    found = (entry.partition(" ") for entry in printed.split("\0") if entry)
    return tuple(Commit(id=name, subject=clean(subject)[:SUBJECT_SHOWN]) for name, _, subject in found)


def place_on(context: LoopContext, state: LoopState, commit: str, before: str) -> bool:
    """Put the loop's branch and its worktree on a commit. False: the branch is at neither of the two.

    Files come first and the branch last, so that whoever dies in between leaves no file that looks like somebody's change. What
    the branch held stays on a ref.
    """
    repository, full = context.repository, f"refs/heads/{state.branch}"
    tip = read_ref(repository.common, full)
    if tip not in {before, commit}:
        return False
    if tip == commit:
        return True
    there = context.worktree.exists()
    if there:
        restore(context.worktree, commit)
    if not contains(repository.common, commit, before):
        git(repository.common, "update-ref", f"{PREFIX}{state.loop}/rebased/{before[:12]}", before)
    git(repository.common, "update-ref", "-m", f"helmsman: bring in {state.config.merge.into}", full, commit, before)
    if there:
        hold_branch(context.worktree, state.branch, commit)
    return True


def merge_commit(
    context: LoopContext, state: LoopState, base: str, head: str, report: CheckReport, notes: tuple[str, ...]
) -> str:
    """The commit that `git merge --no-ff` would make of a head that holds the base: its tree is the head's, which was checked."""
    _, tree = commit_and_tree(context.worktree, head)
    goal, proven = clean(own_goal(state.config.goal).strip().splitlines()[0]), state.merging.proven
    told = (
        f"Loop {state.loop}, {plural(state.iteration, 'iteration')}.",
        *((f"Proven by {proven.rule}: {clean(proven.reason)[:500]}",) if proven else ()),
        f"Every check passes on exactly this tree{IN_THE_WORKTREE if report.clean is False else ''}:",
        *(f"  {clean(result.command)[:200]}" for result in report.results),
        *notes,
    )
    body = "\n".join((*map(redact, told), "", f"Helmsman-Loop: {state.loop}"))
    said = "-m", f"Merge {state.branch}: {goal}"[:SUBJECT_SHOWN], "-m", body
    return git(context.repository.common, "commit-tree", tree, "-p", base, "-p", head, *said).strip()
