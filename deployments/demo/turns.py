"""What the scripted model can answer: turns, and the tool calls in them under the CLI's own argument names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
Tool: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model: a message, or with `status` an HTTP error; with `hang` and `cut` a broken message."""

    text: str | None = None
    thinking: str | None = None
    tools: tuple[Tool, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """Token counts by their names in the API; those not given have small defaults."""
    stop_reason: str | None = None
    """None: `tool_use` where there are tools, else `end_turn`."""
    status: int | None = None
    error_type: str = ""
    """Empty: the type that the API has for this status."""
    error_message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    delay: float = 0
    """Seconds before the answer begins."""
    hang: float = 0
    """Seconds of silence in mid-stream."""
    cut: bool = False
    """Close the connection in mid-stream. A client that tries again takes the next turn."""


def say(text: str) -> Turn:
    """End the agent's turn with a text."""
    return Turn(text=text)


def call(*tools: Tool) -> Turn:
    """Have the agent use these tools and come back with what they gave."""
    return Turn(tools=tools)


def bash(command: str, **extra: Any) -> tuple[str, Json]:
    return "Bash", {"command": command, **extra}


def read(path: Path | str) -> tuple[str, Json]:
    return "Read", {"file_path": str(path)}


def write(path: Path | str, content: str) -> tuple[str, Json]:
    return "Write", {"file_path": str(path), "content": content}


def edit(path: Path | str, old: str, new: str) -> tuple[str, Json]:
    return "Edit", {"file_path": str(path), "old_string": old, "new_string": new}
