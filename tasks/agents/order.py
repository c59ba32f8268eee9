"""What an adapter is given to make a call of, and what it raises where the world broke the call."""

from collections.abc import Callable
from dataclasses import dataclass, field

from helmsman.errors import WorldError
from helmsman.records.evidence import AgentCall
from helmsman.records.session import KeptSession
from helmsman.records.state import LoopState
from tasks.processes.process import never
from tasks.worktrees.workplace import Workplace


@dataclass(frozen=True)
class Order:
    """One call of the agent that is due."""

    place: Workplace
    state: LoopState
    prompt: str
    start: str
    """Commit that it begins with."""
    session: KeptSession | None = None
    """The session that it should go on with, where the agent can."""
    credentials: dict[str, str] = field(default_factory=dict[str, str])
    """Variables for Claude Code, from its block."""
    stop: Callable[[], bool] = never
    item: str = ""
    """The own check of the plan's item in hand, where it has one."""
    system: str = ""
    """Appended to its system text, where its program takes that; else the prompt begins with it."""


def unreachable(call: AgentCall) -> WorldError:
    """A call that came to nothing because the model could not be reached."""
    return WorldError(
        f"the agent could not reach its model ({call.outcome})",
        found=call.error,
        remedy="it is tried again by itself",
    )
