"""The rules of a loop's next session, as far as the loop itself tells: the prompt says them, tool calls are judged by them.

What only the world tells (where the worktree is, which links lead where) is added by the shell.
"""

from helmsman.orient.alignment import own_goal
from helmsman.orient.guardrails.goals import is_fix
from helmsman.orient.guardrails.rules import Rules
from helmsman.orient.research import researching
from helmsman.records.state import LoopState


def rules_of(state: LoopState) -> Rules:
    """For the iteration that is due."""
    config = state.config
    return Rules(
        worktree="",
        protected=config.invariants.protect,
        allowed=config.invariants.allow,
        level=state.oversight.ladder.rung if config.ladder.act else 0,
        branch=state.branch,
        nesting=config.limits.nesting,
        fix=is_fix(own_goal(config.goal)),
        looks_only=researching(state),
    )
