"""The port to the agent: one call for an iteration, by the adapter of the loop's agent."""

from helmsman.errors import CallInterrupted, TransientError
from helmsman.records.agent import AgentCall
from tasks.agents import claude, template
from tasks.agents.call import Order
from tasks.agents.call_folder import interrupted_call
from tasks.system.faults import raising_transient_errors


def call_agent(order: Order) -> AgentCall:
    """One call of the loop's agent: made, or read back where it was made: one that ended is never made again, not after a crash.

    Raises CallInterrupted where it broke off at work, TransientError before that, Cancelled where somebody stopped it.
    """
    try:
        with raising_transient_errors():
            return (template.call_agent if order.state.agent else claude.call_agent)(order)
    except TransientError as error:
        if interrupted_call(order.folder) is None:
            raise
        raise CallInterrupted(error.problem, expected=error.expected, found=error.found, remedy=error.remedy) from error
