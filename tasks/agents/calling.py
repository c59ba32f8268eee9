"""The port to the agent: one call for an iteration, by the adapter of the loop's agent."""

from collections.abc import Callable

from helmsman.errors import CutOff, WorldError
from helmsman.records.evidence import AgentCall
from helmsman.records.state import LoopState
from tasks.agents import claude, template
from tasks.agents.call_folder import CallFolder, interrupted_call
from tasks.agents.order import Order
from tasks.system_errors import blaming_the_world

AgentPort = Callable[[Order], AgentCall]
"""What drives an agent's program through one call.

It makes the call that is due, or reads back the one that was made: a call that ended is never made again, not after a crash
either. It raises WorldError where the world broke the call before it did anything, Cancelled where somebody stopped it.
"""


def port_of(state: LoopState) -> AgentPort:
    """The adapter for a loop's agent."""
    return template.call_agent if state.agent else claude.call_agent


def call_agent(order: Order) -> AgentCall:
    """One call of the loop's agent. Raises CutOff where the world broke it while it was at work."""
    try:
        with blaming_the_world():
            return port_of(order.state)(order)
    except WorldError as error:
        place, state = order.place, order.state
        if interrupted_call(CallFolder(place.folder.call(state.due, state.attempt), state.uid)) is None:
            raise
        raise CutOff(error.problem, expected=error.expected, found=error.found, remedy=error.remedy) from error
