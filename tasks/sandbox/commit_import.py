"""Bringing home what the agent committed in its box."""

from helmsman.records.state import LoopState
from tasks.repository.loop_context import LoopContext
from tasks.repository.worktree import recover
from tasks.sandbox.enter import git_folder
from tasks.sandbox.own_git import take_over


def take_over_work(context: LoopContext, state: LoopState) -> None:
    """Once, before anybody looks at the branch; nothing where there was no box. None of the loop's processes may live."""
    made = git_folder(context.folder)
    if made.exists():
        recover(context.repository, context.worktree, state.branch)  # a driver that was killed in here left locks of git's
        take_over(context.repository, context.worktree, state.branch, made)
