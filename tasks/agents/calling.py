"""The port to the agent: one call for an iteration, by the adapter of the loop's agent."""

from collections.abc import Callable
from typing import Protocol

from helmsman.records.evidence import AgentCall
from helmsman.records.session import KeptSession
from helmsman.records.state import LoopState
from tasks import claude
from tasks.agents import template
from tasks.workplace import Workplace


class AgentPort(Protocol):
    """What drives an agent's program through one call.

    It makes the call that is due, or reads back the one that was made: a call that ended is never made again, not after a crash
    either. It raises WorldError where the world broke the call before it did anything, Cancelled where somebody stopped it.
    """

    def __call__(
        self,
        place: Workplace,
        state: LoopState,
        prompt: str,
        start: str,
        *,
        session: KeptSession | None,
        credentials: dict[str, str],
        stop: Callable[[], bool],
    ) -> AgentCall: ...


def port_of(state: LoopState) -> AgentPort:
    """The adapter for a loop's agent."""
    return template.call_agent if state.agent else claude.call_agent


def call_agent(
    place: Workplace,
    state: LoopState,
    prompt: str,
    start: str,
    *,
    session: KeptSession | None,
    credentials: dict[str, str],
    stop: Callable[[], bool],
) -> AgentCall:
    """One call of the loop's agent."""
    return port_of(state)(place, state, prompt, start, session=session, credentials=credentials, stop=stop)
