"""Where a session's agent was sent back when it wanted to end its turn, read from the event stream.

What a Stop hook answers by `decision: block` the stream shows as a message of the user's. What it answers by additional context
the stream does not show; but then the model speaks again although its turn was over, and nothing else makes it do that.
"""

from collections.abc import Mapping
from typing import Any

from helmsman.verify.context_reader import SYNTHETIC
from helmsman.verify.loose_json import items, mapping, text

_FEEDBACK = "Stop hook feedback:"


class TurnReader:
    """Follows the messages of the main thread."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._spoken = ""
        """Id of the message after which nothing but its end was due; empty after anything else."""

    def feed(self, event: Mapping[str, Any]) -> bool:
        """Take in one event; whether it shows that the agent was sent back."""
        kind, message = text(event.get("type")), mapping(event.get("message"))
        if kind not in {"assistant", "user", "result"} or event.get("parent_tool_use_id") or message.get("model") == SYNTHETIC:
            return False
        before, self._spoken = self._spoken, ""
        if kind != "assistant":
            return kind == "user" and _is_feedback(message)
        called = any(mapping(block).get("type") == "tool_use" for block in items(message.get("content")))
        identity = text(message.get("id"))
        self._spoken = "" if called else identity
        return bool(before) and identity != before


def _is_feedback(message: Mapping[str, Any]) -> bool:
    content = items(message.get("content"))[:1]
    return text(mapping(content[0] if content else None).get("text")).startswith(_FEEDBACK)
