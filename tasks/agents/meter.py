"""What a running call uses up: told as it grows, and the session's end where its money is used up."""

from helmsman.records.events import UsageCounted
from helmsman.records.evidence import AgentCall, AgentOutcome
from helmsman.records.state import LoopState
from helmsman.records.usage import Usage
from helmsman.texts import money
from tasks.agents.call_folder import STOPPED
from tasks.observers.journal import publish

LEAST = 0.01
"""US dollars that any call may cost, so that one which is due can be made."""


def allowed_cost(state: LoopState, of_call: float | None = None) -> float | None:
    """US dollars that the call which is due may cost: its own limit, or what is left of the loop's; None without either."""
    limit = state.config.limits.cost_usd
    left = None if limit is None else limit - state.spending.cost_usd
    costs = [cost for cost in (of_call, left) if cost is not None]
    return max(min(costs), LEAST) if costs else None


class Meter:
    """Counts one call. The CLI would hold a limit by itself, but then tells the agent after each tool call what is left."""

    def __init__(self, allowed: float | None) -> None:
        """Nothing is used yet. `allowed`: US dollars."""
        self.used_up = ""
        """Why the session must end; empty where it may go on."""
        self._allowed, self._usage = allowed, Usage()

    def read(self, usage: Usage, *, goes_on: bool) -> None:
        """It has used so much. `goes_on`: it is about to ask its model again; a session that ends its turn needs no end."""
        if usage != self._usage:
            self._usage = usage
            publish(UsageCounted(usage=usage))
        if goes_on and self._allowed is not None and usage.cost_usd >= self._allowed and not self.used_up:
            self.used_up = f"used {money(usage.cost_usd)} of the {money(self._allowed)} that this call may cost"

    def conclude(self, call: AgentCall) -> AgentCall:
        """The call under its own name where its money was what ended it."""
        if not self.used_up or call.outcome not in STOPPED:
            return call
        return call.model_copy(update={"outcome": AgentOutcome.CALL_BUDGET, "error": self.used_up})
