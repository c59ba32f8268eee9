"""What an iteration changed: whether the operator's files are as they were, and what may be a way around the work."""

from contextlib import suppress

from helmsman.config import CheckConfig
from helmsman.errors import OperatorError
from helmsman.parsers.paths import matches_any
from helmsman.records.agent import Execution
from helmsman.records.checks import Finding
from helmsman.records.state import LoopState
from helmsman.verify.commands import scripts
from helmsman.verify.findings import conflicts_in
from helmsman.verify.hints import hints, weigh
from helmsman.verify.touched import tables
from tasks.checks.context import work_of
from tasks.checks.trusted_run import NOT_THERE, change_of, changed_since_start, reverted_paths
from tasks.repository.git import git, succeeds
from tasks.repository.loop_context import LoopContext
from tasks.repository.plan import plan_at

PUT_BACK_SHOWN = 20


def audit(context: LoopContext, state: LoopState, execution: Execution) -> tuple[Finding, ...]:
    """Findings in the whole loop's diff, and conflicts of a merge that stand in the files in which git left them."""
    checks, trouble = _checks(context, state, execution.change.start), state.merging.trouble
    change = change_of(work_of(context, state, execution.change.commit, checks), context.worktree)
    met = {one.path for one in trouble.files} if trouble else set[str]()
    unmerged = [found for file in change.diff if file.path in met for found in conflicts_in(file)]
    return weigh((*unmerged, *hints(change)), state.config.invariants)


def revert_protected(context: LoopContext, state: LoopState, commit: str) -> tuple[str, ...]:
    """Undo, in a commit that says so, what the loop has done to protected files. Returns their paths.

    These are what the operator protects, what configures the loop, and the scripts of its checks that were there.
    """
    kept, worktree = state.config.invariants, context.worktree
    run = {path for check in _checks(context, state, state.head) for path in scripts(check.command)}
    paths = sorted(
        path
        for path, (before, _) in changed_since_start(work_of(context, state, commit)).items()
        if not matches_any(path, kept.allow)
        and (matches_any(path, (*kept.protect, *tables()["own"])) or (path in run and not before.startswith(NOT_THERE)))
    )
    for path in paths:
        literal = f":(literal){path}"
        if succeeds(worktree, "cat-file", "-e", f"{state.base_commit}:{path}"):
            git(worktree, "checkout", "--quiet", state.base_commit, "--", literal)
        else:
            git(worktree, "rm", "--quiet", "--force", "--ignore-unmatch", "--", literal)
    if paths and not succeeds(worktree, "diff", "--cached", "--quiet"):
        git(worktree, "commit", "--quiet", "--no-verify", "--message", "helmsman: put back protected files")
    return reverted_paths(paths)[:PUT_BACK_SHOWN]


def _checks(context: LoopContext, state: LoopState, start: str) -> tuple[CheckConfig, ...]:
    """What judges the work: the loop's checks, and those of the plan's items as they were before the agent could touch them."""
    of_items: dict[str, None] = {}
    for commit in dict.fromkeys((state.base_commit, start)) if state.config.plan.file else ():
        with suppress(OperatorError):  # of a plan that cannot be read no item is in hand
            plan = plan_at(context.repository, commit, state.config.plan.file)
            of_items |= dict.fromkeys(item.check for item in plan.items if item.check)
    return (*state.config.checks, *(CheckConfig(command=command) for command in of_items))
