"""Where a loop's checks run: its clean checkout, or the agent's worktree where `workspace.clean` is off."""

from collections.abc import Sequence

from helmsman.config import CheckConfig
from helmsman.records.state import LoopState
from helmsman.verify.completion import required_tests
from tasks.checks.run import CheckContext
from tasks.checks.targets import with_checks
from tasks.checks.trusted_run import Range
from tasks.repository.clean_checkout import CleanCheckout, checkout_folder
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import Worktree


def check_context(context: LoopContext, state: LoopState) -> CheckContext:
    """Where the loop's checks run that decide."""
    tests, box = required_tests(state.config), state.config.box
    checkout = clean_checkout(context, state) if state.config.workspace.clean else Worktree(context.worktree)
    return CheckContext(checkout, context.tag(state), context.folder.cancel.exists, tests, state.checks, box)


def work_of(context: LoopContext, state: LoopState, commit: str, checks: Sequence[CheckConfig] | None = None) -> Range:
    """The loop's work as of a commit. `checks`: others than its own."""
    config = state.config if checks is None else with_checks(state.config, checks)
    return Range(context.repository, state.base_commit, commit, config, state.collected_at_start)


def clean_checkout(context: LoopContext, state: LoopState) -> CleanCheckout:
    """The loop's clean checkout, for one run of checks at a time. It may still have to be made."""
    return CleanCheckout(
        repository=context.repository,
        worktree=context.worktree,
        folder=checkout_folder(context.repository, state.loop),
        uid=state.uid,
        branch=state.branch,
        base=state.base_commit,
        setup=state.config.workspace.setup,
    )
