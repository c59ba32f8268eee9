"""What reads the output of a program line by line, and which reader understands which format."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from helmsman.records.agents import AgentKind, Format
from helmsman.verify.agent_events import parse_event
from helmsman.verify.agents import codex, copilot, cursor, gemini, messages, opencode
from helmsman.verify.agents.account import Account, Tools
from helmsman.verify.agents.plain import Json, Text

Event = Mapping[str, Any]


class Reader(Protocol):
    """Folds the output of one call into its account."""

    account: Account

    def hear(self, line: bytes) -> None:
        """Take in one line of standard output; unknown ones change nothing."""
        ...


class Events:
    """Of programs that print one JSON object on each line, which is hostile input: the agent writes parts of it."""

    def __init__(self, kind: AgentKind, tools: Tools, read: Callable[[Account, Event], bool]) -> None:
        """`read` writes an event into the account and says whether it knew it."""
        self.account = Account(kind, tools)
        self._read = read

    def hear(self, line: bytes) -> None:
        event = parse_event(line)
        if event is not None and self._read(self.account, event):
            self.account.spoke = True


_EVENTS: Mapping[Format, tuple[Tools, Callable[[Account, Event], bool]]] = {
    "codex": (codex.TOOLS, codex.read),
    "copilot": (copilot.TOOLS, copilot.read),
    "cursor": (cursor.TOOLS, cursor.read),
    "gemini": (gemini.TOOLS, gemini.read),
    "messages": (messages.TOOLS, messages.read),
    "opencode": (opencode.TOOLS, opencode.read),
}


def reader_of(kind: AgentKind) -> Reader:
    """A new reader for one call of this agent."""
    if kind.output in _EVENTS:
        return Events(kind, *_EVENTS[kind.output])
    return Json(kind) if kind.output == "json" else Text(kind)
