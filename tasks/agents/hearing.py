"""Hearing what the agent says of its iteration, beside what git knows of it and what it was asked."""

from pathlib import Path

from helmsman.oversee.drift import deeds_of, drift, task_of
from helmsman.plans.naming import noted
from helmsman.records.agents import prints_text
from helmsman.records.checks import CheckReport
from helmsman.records.claims import ClaimKind, Claims, Testimony
from helmsman.records.evidence import Change, Execution
from helmsman.records.memory import WorkingMemory
from helmsman.records.session import Drift
from helmsman.records.state import LoopState
from helmsman.verify.claims.contradictions import Case, contradictions
from helmsman.verify.claims.paths import git_would_show
from helmsman.verify.claims.reading import read_claims
from tasks.repository.git import GitError, git
from tasks.worktrees.changes import first_line
from tasks.worktrees.workplace import Workplace

MOST_COMMITS = 200


def hear(
    place: Workplace, state: LoopState, execution: Execution, report: CheckReport | None, memory: WorkingMemory
) -> Testimony:
    """What it said, what of that does not hold, and whether what it did has to do with the task."""
    text, promise = execution.call.final_text, state.config.completion.promise
    claims = read_claims(text, promise, before=state.memory, after=memory, only_at_end=prints_text(state.agent))
    change, kinds = execution.change, {claim.kind for claim in claims.claims}
    case = Case(
        claims=claims,
        change=change,
        call=execution.call,
        report=report,
        memory=memory,
        ignored=_ignored(place.worktree, claims),
        worktree=str(place.worktree),
        earlier_files=_earlier_files(place.worktree, state, change) if ClaimKind.FILE_CHANGED in kinds else (),
        earlier_commits=_earlier_commits(place.worktree, state, change) if ClaimKind.COMMITTED in kinds else (),
    )
    compared = contradictions(case)
    drifted = drift(task_of(state), deeds_of(execution, str(place.worktree))) if execution.worth_checking else Drift()
    item = noted(state.plan, (entry.text for entry in state.memory.completed), (entry.text for entry in memory.completed))
    return Testimony(claims=claims, contradictions=compared.found, checked=compared.checked, drift=drifted, noted=item)


def _earlier_files(worktree: Path, state: LoopState, change: Change) -> tuple[str, ...]:
    if change.start == state.base_commit:
        return ()
    names = git(worktree, "diff", "--name-only", "-z", "--no-renames", state.base_commit, change.start, "--")
    return tuple(name for name in names.split("\0") if name)


def _earlier_commits(worktree: Path, state: LoopState, change: Change) -> tuple[str, ...]:
    if change.start == state.base_commit:
        return ()
    return tuple(commit for commit, _, _ in first_line(worktree, change.start, MOST_COMMITS, but=state.base_commit))


def _ignored(worktree: Path, claims: Claims) -> tuple[str, ...]:
    """Those of the named files that git does not look at, so that a change in them shows nowhere."""
    subjects = [claim.subject for claim in claims.claims if claim.kind is ClaimKind.FILE_CHANGED]
    named = [name for name in subjects if git_would_show(name, (), str(worktree))]  # git refuses all for one that lies outside
    if not named:
        return ()
    try:
        found = git(worktree, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(named).encode())
    except GitError:  # none of them is ignored, or one lies outside
        return ()
    return tuple(name for name in found.split("\0") if name)
