"""Returning a branch to an earlier commit: what is taken off it stays on a ref, and the next iteration is told."""

from helmsman.records.evidence import Execution
from helmsman.records.oversight import Failed
from helmsman.records.state import LoopState
from helmsman.records.verdict import PAIN, Decision
from tasks.repository.git import git, read_ref
from tasks.repository.state_ref import PREFIX, failed_ref
from tasks.worktrees.workplace import Workplace
from tasks.worktrees.worktree import go_back_to, keep, recover

FILES_TOLD = 20
REGRESSING = "regressing"


def roll_back(place: Workplace, state: LoopState, execution: Execution, decision: Decision) -> Failed:
    """Put the branch and the worktree at `decision.back_to`. Done already, by a driver that died after it: nothing changes."""
    commit, back_to = execution.change.commit, decision.back_to
    recover(place.repository, place.worktree, state.branch)
    ref = failed_ref(place.repository, state.loop, state.due, state.attempt, commit)
    if read_ref(place.repository.common, ref) != commit:
        git(place.worktree, "update-ref", ref, commit)
    go_back(place, state, back_to)
    files = changed_between(place, back_to, commit)
    rule = decision.rule if decision.rule.startswith(PAIN) else REGRESSING
    why = decision.reason if len(decision.reason) <= 300 else f"{decision.reason[:299]}…"  # noqa: PLR2004 - as recorded
    return Failed(iteration=state.due, ref=ref, commit=commit, back_to=back_to, rule=rule, why=why, files=files)


def take_back(place: Workplace, state: LoopState, start: str) -> tuple[str, ...]:
    """Put the branch back to `start` and return what had been changed. Done already, by a driver that died: told all the same."""
    commit = git(place.worktree, "rev-parse", "HEAD").strip()
    known = f"{PREFIX}{state.loop}/failed/{state.due}-{state.attempt}"
    if commit != start:
        git(place.worktree, "update-ref", known, commit)
        go_back(place, state, start)
    kept = read_ref(place.repository.common, known)
    return changed_between(place, start, kept) if kept else ()


def changed_between(place: Workplace, start: str, commit: str) -> tuple[str, ...]:
    names = git(place.worktree, "diff", "--name-only", "-z", start, commit, "--").split("\0")
    return tuple(name for name in names if name)[:FILES_TOLD]


def go_back(place: Workplace, state: LoopState, back_to: str) -> None:
    """The branch and the worktree at that commit, whatever they hold; a commit that nobody else holds goes to a ref first."""
    tip = read_ref(place.worktree, f"refs/heads/{state.branch}")
    keep(place.repository, place.worktree, state, [tip] if tip else [], back_to)
    go_back_to(place.worktree, state.branch, back_to)
