"""Programs that print no events: the agent's last words as text, or one JSON object at the end."""

from helmsman.records.agents import AgentKind
from helmsman.verify.agent_events import parse_event
from helmsman.verify.agents.account import Account, Tools
from helmsman.verify.loose_json import mapping, text

_ANSWERS = "result", "response", "text", "output", "message", "content"
"""Keys under which programs put the agent's words; the first that holds text."""
_LARGEST = 1 << 20
"""Bytes of an object that are kept; a longer one is not read."""


class Text:
    """All that it prints is what the agent says."""

    def __init__(self, kind: AgentKind) -> None:
        """Nothing has been printed."""
        self.account = Account(kind, Tools())

    def hear(self, line: bytes) -> None:
        self.account.spoke = True
        self.account.say(line.decode("utf-8", "replace").removesuffix("\n") + "\n", more=True)


class Json:
    """One object, on one line or over several."""

    def __init__(self, kind: AgentKind) -> None:
        """Nothing has been printed."""
        self.account = Account(kind, Tools())
        self._printed = b""

    def hear(self, line: bytes) -> None:
        begins = line.startswith(b"{")
        self._printed = (line if begins else self._printed + line)[: _LARGEST + 1]
        found = parse_event(self._printed) if line.rstrip().endswith(b"}") and len(self._printed) <= _LARGEST else None
        if found is None:
            return
        self.account.spoke = True
        self.account.say(next((found[key] for key in _ANSWERS if text(found.get(key))), ""))
        wrong = found.get("error")
        if wrong or found.get("is_error") is True:
            self.account.complain(text(wrong, 2000) or mapping(wrong).get("message") or found.get("result"))
            self.account.end(well=False)
