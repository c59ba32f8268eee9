"""What an iteration changed: whether the operator's files are as they were, and what may be a way around the work."""

from collections.abc import Iterator
from pathlib import Path

from helmsman.config import CheckConfig
from helmsman.errors import OperatorError
from helmsman.parsers.globs import matches_any
from helmsman.records.agent import Execution
from helmsman.records.checks import Finding
from helmsman.records.plan import Plan
from helmsman.records.state import LoopState
from helmsman.verify.commands import scripts
from helmsman.verify.diff import TreeDiff
from helmsman.verify.hints import hints, weigh
from helmsman.verify.markers import conflicts_in
from helmsman.verify.touched import tables
from tasks.checks.context import work_of
from tasks.checks.trusted_run import NOT_THERE, change_of, changed_since_start, reverted_paths
from tasks.repository.git import git, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import plan_at

PUT_BACK_SHOWN = 20


def audit(context: LoopContext, state: LoopState, execution: Execution) -> tuple[Finding, ...]:
    """Findings in the whole loop's diff."""
    checks = _checks(context, state, execution.change.start)
    change = change_of(work_of(context, state, execution.change.commit, checks), context.worktree)
    return weigh((*_unmerged(state, change.diff), *hints(change)), state.config.invariants)


def _unmerged(state: LoopState, diff: TreeDiff) -> Iterator[Finding]:
    """Conflicts of a merge that stand in the files in which git left them."""
    trouble = state.merging.trouble
    met = {one.path for one in trouble.files} if trouble else set[str]()
    for file in diff:
        if file.path in met:
            yield from conflicts_in(file)


def revert_protected(context: LoopContext, state: LoopState, commit: str) -> tuple[str, ...]:
    """Undo, in a commit that says so, what the loop has done to protected files. Returns their paths."""
    paths = _harmed(context, state, commit)
    for path in paths:
        _put_back(context.worktree, state.base_commit, path)
    if paths and not succeeds(context.worktree, "diff", "--cached", "--quiet"):
        git(context.worktree, "commit", "--quiet", "--no-verify", "--message", "helmsman: put back protected files")
    return reverted_paths(paths)[:PUT_BACK_SHOWN]


def _harmed(context: LoopContext, state: LoopState, commit: str) -> list[str]:
    """What the operator protects, what configures the loop, and the scripts of its checks that were there."""
    kept = state.config.invariants
    checks = _checks(context, state, state.head)
    run = {path for check in checks for path in scripts(check.command)}
    changed = changed_since_start(work_of(context, state, commit))
    return sorted(
        path
        for path, (before, _) in changed.items()
        if not matches_any(path, kept.allow)
        and (matches_any(path, (*kept.protect, *tables()["own"])) or (path in run and not before.startswith(NOT_THERE)))
    )


def _checks(context: LoopContext, state: LoopState, start: str) -> tuple[CheckConfig, ...]:
    """What judges the work: the loop's checks, and those of the plan's items as they were before the agent could touch them."""
    plans = (_plan_of(context, commit, state.config.plan.file) for commit in dict.fromkeys((state.base_commit, start)))
    of_items = dict.fromkeys(item.check for plan in plans if plan for item in plan.items if item.check)
    return (*state.config.checks, *(CheckConfig(command=command) for command in of_items))


def _plan_of(context: LoopContext, commit: str, path: str) -> Plan | None:
    """None where there is none that can be read: then no item of it is in hand either."""
    try:
        return plan_at(context.repository, commit, path) if path else None
    except OperatorError:
        return None


def _put_back(worktree: Path, commit: str, path: str) -> None:
    literal = f":(literal){path}"
    if succeeds(worktree, "cat-file", "-e", f"{commit}:{path}"):
        git(worktree, "checkout", "--quiet", commit, "--", literal)
    else:
        git(worktree, "rm", "--quiet", "--force", "--ignore-unmatch", "--", literal)
