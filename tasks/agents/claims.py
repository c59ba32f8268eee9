"""What the agent says of its iteration, beside what git knows of it and what it was asked."""

from collections.abc import Sequence
from pathlib import Path

from helmsman.oversee.drift import drift, task_of
from helmsman.parsers.paths import git_would_show
from helmsman.parsers.plan_order import noted
from helmsman.records.agent import Drift
from helmsman.records.agents import prints_text
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState
from helmsman.verify.claims import Case, contradictions, read_claims
from tasks.repository.git import GitError, git
from tasks.repository.loop_context import LoopContext


def collect_claims(context: LoopContext, state: LoopState, evidence: Evidence) -> Evidence:
    """With what the agent said, what of that does not hold, and whether what it did has to do with the task."""
    execution, memory, tree = evidence.execution, evidence.memory, context.worktree
    start, text, promise = execution.change.start, execution.call.final_text, state.config.completion.promise
    claims = read_claims(text, promise, only_at_end=prints_text(state.agent))
    files, commits = ([one.subject for one in claims.claims if one.kind == kind] for kind in ("file_changed", "committed"))
    earlier = git(tree, "diff", "--name-only", "-z", "--no-renames", state.base_commit, start, "--") if files else ""
    # git answers for each id whether it has an object of it
    answers = git(tree, "cat-file", "--batch-check", stdin="".join(f"{one}\n" for one in commits).encode()) if commits else ""
    known = zip(commits, answers.splitlines(), strict=True)
    case = Case(
        claims=claims,
        change=execution.change,
        call=execution.call,
        report=evidence.checks,
        ignored=_ignored(tree, files),
        worktree=str(tree),
        earlier_files=tuple(name for name in earlier.split("\0") if name),
        no_commits=tuple(name for name, answer in known if answer.endswith(" missing")),
    )
    found, checked = contradictions(case)
    drifted = drift(task_of(state), execution, str(tree)) if execution.worth_checking else Drift()
    item = noted(state.plan, (entry.text for entry in state.memory.completed), (entry.text for entry in memory.completed))
    return evidence.model_copy(
        update={"claims": claims, "contradictions": found, "claims_checked": checked, "drift": drifted, "noted": item}
    )


def _ignored(worktree: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Those of the named files that git does not look at, so that a change in them shows nowhere."""
    named = [name for name in files if git_would_show(name, str(worktree))]  # git refuses all for one that lies outside
    if not named:
        return ()
    try:
        found = git(worktree, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(named).encode())
    except GitError:  # none of them is ignored, or one lies outside
        return ()
    return tuple(name for name in found.split("\0") if name)
