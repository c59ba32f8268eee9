"""What reads the output of a program line by line, and which reader understands which format."""

from collections.abc import Mapping
from typing import Protocol

from helmsman.records.agents import AgentKind, Format
from helmsman.verify.agent_events import parse_event
from helmsman.verify.agents import codex, copilot, cursor, gemini, messages, opencode
from helmsman.verify.agents.account import Account
from helmsman.verify.agents.dialect import Dialect
from helmsman.verify.agents.plain import Json, Text
from helmsman.verify.loose_json import text


class Reader(Protocol):
    """Folds the output of one call into its account."""

    account: Account

    def hear(self, line: bytes) -> None:
        """Take in one line of standard output; unknown ones change nothing."""
        ...


class Events:
    """Of programs that print events, which are hostile input: the agent writes parts of them."""

    def __init__(self, kind: AgentKind, dialect: Dialect) -> None:
        """Nothing has been printed."""
        self.account = Account(kind, dialect.tools)
        self._dialect = dialect

    def hear(self, line: bytes) -> None:
        event = parse_event(line)
        write = self._dialect.events.get(text(event.get("type"))) if event is not None else None
        if event is None or write is None:
            return
        self.account.spoke = True
        if self._dialect.session:
            self.account.begin(session=event.get(self._dialect.session))
        write(self.account, event)


_DIALECTS: Mapping[Format, Dialect] = {
    "codex": codex.DIALECT,
    "copilot": copilot.DIALECT,
    "cursor": cursor.DIALECT,
    "gemini": gemini.DIALECT,
    "messages": messages.DIALECT,
    "opencode": opencode.DIALECT,
}


def reader_of(kind: AgentKind) -> Reader:
    """A new reader for one call of this agent."""
    if kind.output in _DIALECTS:
        return Events(kind, _DIALECTS[kind.output])
    return Json(kind) if kind.output == "json" else Text(kind)
