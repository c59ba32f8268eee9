"""What fills the context window of the agent's main thread, folded from its event stream."""

from collections.abc import Mapping
from typing import Any

from helmsman.records.session import ContextUse
from helmsman.verify.loose_json import count, mapping

SYNTHETIC = "<synthetic>"
"""The model that the CLI names when it speaks in the agent's place."""
_CONTEXT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ContextReader:
    """Folds the events of one call, in bounded memory."""

    def __init__(self) -> None:
        """Nothing is in the context yet."""
        self.tokens = self.peak = 0

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown ones change nothing."""
        message = mapping(event.get("message"))
        if event.get("type") == "assistant" and event.get("parent_tool_use_id") is None and message.get("model") != SYNTHETIC:
            usage = mapping(message.get("usage"))
            self.tokens = sum(count(usage.get(key)) for key in _CONTEXT)
            self.peak = max(self.peak, self.tokens)

    def use(self, window: int) -> ContextUse:
        """What is known so far, of a window of so many tokens (0: not told)."""
        return ContextUse(tokens=self.tokens, peak=self.peak, window=window)
