"""What is told of the agent's tool calls while it works, whatever its program is."""

from collections.abc import Callable

from helmsman.parsers.agent_actions import Called, ToolResult, detail_of
from helmsman.records.events import ToolCalled, ToolReturned
from tasks.system.secrets import without_secrets

LONGEST_ID = 100


def tool_called(called: Called, wording: Callable[[str], str]) -> ToolCalled:
    """What is told of a tool call; whatever the agent wrote goes through `wording`."""
    detail = detail_of(without_secrets(called.arguments))  # which cuts
    return ToolCalled(tool=called.tool, detail=wording(detail), id=wording(called.identity[:LONGEST_ID]))


def tool_returned(result: ToolResult, wording: Callable[[str], str]) -> ToolReturned:
    return ToolReturned(id=wording(result.identity[:LONGEST_ID]), failed=result.failed)
