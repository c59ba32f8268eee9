"""What the agent says of its iteration, beside what git knows of it and what it was asked."""

from collections.abc import Sequence
from pathlib import Path

from helmsman.oversee.drift import drift, task_of
from helmsman.parsers.paths import git_would_show
from helmsman.parsers.plan_order import noted
from helmsman.records.agent import Change, Drift
from helmsman.records.agents import prints_text
from helmsman.records.claims import ClaimKind, Claims
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState
from helmsman.verify.claims import Case, contradictions, read_claims
from tasks.repository.git import GitError, git
from tasks.repository.loop_context import LoopContext


def collect_claims(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """With what the agent said, what of that does not hold, and whether what it did has to do with the task."""
    execution, memory = evidence.execution, evidence.memory
    text, promise = execution.call.final_text, state.config.completion.promise
    claims = read_claims(text, promise, only_at_end=prints_text(state.agent))
    files, commits = (_named(claims, kind) for kind in ("file_changed", "committed"))
    case = Case(
        claims=claims,
        change=execution.change,
        call=execution.call,
        report=evidence.checks,
        ignored=_ignored(context.worktree, files),
        worktree=str(context.worktree),
        earlier_files=_earlier_files(context.worktree, state, execution.change) if files else (),
        no_commits=_no_commits(context.worktree, commits) if commits else (),
    )
    found, checked = contradictions(case)
    drifted = drift(task_of(state), execution, str(context.worktree)) if execution.worth_checking else Drift()
    item = noted(state.plan, (entry.text for entry in state.memory.completed), (entry.text for entry in memory.completed))
    return evidence.model_copy(
        update={"claims": claims, "contradictions": found, "claims_checked": checked, "drift": drifted, "noted": item}
    )


def _named(claims: Claims, kind: ClaimKind) -> list[str]:
    return [claim.subject for claim in claims.claims if claim.kind == kind]


def _earlier_files(worktree: Path, state: LoopState, change: Change) -> tuple[str, ...]:
    if change.start == state.base_commit:
        return ()
    names = git(worktree, "diff", "--name-only", "-z", "--no-renames", state.base_commit, change.start, "--")
    return tuple(name for name in names.split("\0") if name)


def _no_commits(worktree: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the named ids that git has no object of."""
    answers = git(worktree, "cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in names).encode())
    return tuple(name for name, answer in zip(names, answers.splitlines(), strict=True) if answer.endswith(" missing"))


def _ignored(worktree: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Those of the named files that git does not look at, so that a change in them shows nowhere."""
    named = [name for name in files if git_would_show(name, (), str(worktree))]  # git refuses all for one that lies outside
    if not named:
        return ()
    try:
        found = git(worktree, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(named).encode())
    except GitError:  # none of them is ignored, or one lies outside
        return ()
    return tuple(name for name in found.split("\0") if name)
