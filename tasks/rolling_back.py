"""Returning a branch to an earlier commit: what is taken off it stays on a ref, and the next iteration is told."""

from helmsman.records.evidence import Execution
from helmsman.records.oversight import Failed
from helmsman.records.state import LoopState
from helmsman.records.verdict import Decision
from tasks.git import git, read_ref
from tasks.state_ref import failed_ref
from tasks.workplace import Workplace
from tasks.worktree import hold_branch, recover, restore

FILES_TOLD = 20


def roll_back(place: Workplace, state: LoopState, execution: Execution, decision: Decision) -> Failed:
    """Put the branch and the worktree at `decision.back_to`. Done already, by a driver that died after it: nothing changes."""
    commit, back_to = execution.change.commit, decision.back_to
    recover(place.repository, place.worktree, state.branch)
    ref = failed_ref(place.repository, state.loop, state.due, state.attempt, commit)
    if read_ref(place.repository.common, ref) != commit:
        git(place.worktree, "update-ref", ref, commit)
    restore(place.worktree, back_to)
    hold_branch(place.worktree, state.branch, back_to)
    names = git(place.worktree, "diff", "--name-only", "-z", back_to, commit, "--").split("\0")
    files = tuple(name for name in names if name)[:FILES_TOLD]
    return Failed(iteration=state.due, ref=ref, commit=commit, back_to=back_to, why=decision.reason[:300], files=files)
