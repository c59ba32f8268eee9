"""The goals of loops that are driven together: shown in a line each, and held to be those that they were begun with."""

from helmsman.errors import OperatorError
from helmsman.orient.alignment import own_goal
from helmsman.plain import clean
from helmsman.records.chain import Link
from helmsman.records.state import LoopState
from tasks.system.secrets import redact

GOAL_SHOWN = 200


def in_a_line(link: Link) -> str:
    return clean(link.goal.strip().splitlines()[0])[:GOAL_SHOWN]


def require_same_goal(kind: str, name: str, state: LoopState, link: Link) -> None:
    """Raises OperatorError where a loop was begun with another goal: whoever goes on would go on from work for something else."""
    begun = own_goal(state.config.goal)
    if begun.strip() != redact(link.goal).strip():
        raise OperatorError(
            f"{kind} {name} was begun with other goals",
            expected=f"for {state.loop}: {clean(begun)[:GOAL_SHOWN]}",
            found=clean(link.goal)[:GOAL_SHOWN],
            remedy=f"give the goals that it was begun with, or begin another {kind}: --name NAME",
        )
