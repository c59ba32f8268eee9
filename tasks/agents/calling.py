"""The port to the agent: one call for an iteration, by the adapter of the loop's agent."""

from helmsman.errors import CutOff, WorldError
from helmsman.records.agent import AgentCall
from tasks.agents import claude, template
from tasks.agents.call import Order
from tasks.agents.call_folder import interrupted_call
from tasks.system_errors import blaming_the_world


def call_agent(order: Order) -> AgentCall:
    """One call of the loop's agent: made, or read back where it was made: one that ended is never made again, not after a crash.

    Raises CutOff where the world broke it while it was at work, WorldError before that, Cancelled where somebody stopped it.
    """
    try:
        with blaming_the_world():
            return (template.call_agent if order.state.agent else claude.call_agent)(order)
    except WorldError as error:
        if interrupted_call(order.folder) is None:
            raise
        raise CutOff(error.problem, expected=error.expected, found=error.found, remedy=error.remedy) from error
