"""Programs that print no events: the agent's last words as text, or one JSON object at the end."""

import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from helmsman.records.agents import AgentKind
from helmsman.records.evidence import AgentCall
from helmsman.verify.agent_outcome import EndedBy
from helmsman.verify.agents.account import Account
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import mapping, text

_ANSWERS = "result", "response", "text", "output", "message", "content"
"""Keys under which programs put the agent's words; the first that holds text."""
_LARGEST = 1 << 20
"""Bytes that are kept of what is printed; a longer object is not read."""
_TRIED = 50
"""Lines that may begin the answer, from the last one on: each may be as long as all that is kept."""
_BEGINS = re.compile(r"^\{", re.MULTILINE)
_DECODER = json.JSONDecoder()


_TAIL = 200
"""Characters of a prompt's end by which one is known whose beginning is not kept."""


def without_prompt(said: str, prompt: str) -> str:
    """What a program printed without a prompt that it repeated: our own words ask for nothing."""
    told = prompt.strip()
    if not told or told in said:
        return said.replace(told, "").strip() if told else said
    end = said.find(told[-_TAIL:]) + len(told[-_TAIL:])
    return said[end:].strip() if told[-_TAIL:] in said and told.endswith(said[:end].lstrip()) else said


class Text:
    """All that it prints is what the agent says."""

    def __init__(self, kind: AgentKind) -> None:
        """Nothing has been printed."""
        self.account = Account(kind, Tools())

    def hear(self, line: bytes) -> None:
        self.account.spoke = True
        self.account.say(line.decode("utf-8", "replace").removesuffix("\n") + "\n", more=True)


class Json:
    """One object, on one line or over several; the last of them is the agent's answer, what stands before it is a log's."""

    def __init__(self, kind: AgentKind) -> None:
        """Nothing has been printed."""
        self.account: Account
        self.account = self._kept = _AtTheEnd(kind, Tools())

    def hear(self, line: bytes) -> None:
        self._kept.keep(line)


class _AtTheEnd(Account):
    """Reads what was printed once its process has ended: until then nothing tells whether an object is the last."""

    def __init__(self, kind: AgentKind, tools: Tools) -> None:
        """Nothing is kept yet."""
        super().__init__(kind, tools)
        self._lines: deque[bytes] = deque()
        self._size = 0

    def keep(self, line: bytes) -> None:
        """Of more than what is kept, the end."""
        whole = line if line.endswith(b"\n") else line + b"\n"
        self._lines.append(whole)
        self._size += len(whole)
        while self._size > _LARGEST:
            self._size -= len(self._lines.popleft())

    def conclude(self, *, exit_code: int | None, ended_by: EndedBy, stderr: str, seconds: float) -> AgentCall:
        found = _last_object(b"".join(self._lines).decode("utf-8", "replace"))
        if found is not None:
            self._answer(found)
        return super().conclude(exit_code=exit_code, ended_by=ended_by, stderr=stderr, seconds=seconds)

    def _answer(self, found: Mapping[str, Any]) -> None:
        self.spoke = True
        self.say(next((found[key] for key in _ANSWERS if text(found.get(key))), ""))
        wrong = found.get("error")
        if wrong or found.get("is_error") is True:
            self.complain(text(wrong, 2000) or mapping(wrong).get("message") or found.get("result"))
            self.end(well=False)


def _last_object(printed: str) -> Mapping[str, Any] | None:
    """The object that ends last, whole: not one inside of it that begins a line as well."""
    found, end = None, -1
    for begin in [match.start() for match in _BEGINS.finditer(printed)][-_TRIED:][::-1]:
        value, stop = _object_at(printed, begin)
        found, end = (value, stop) if stop > end else (found, end)
    return found


def _object_at(printed: str, begin: int) -> tuple[Mapping[str, Any] | None, int]:
    try:
        return _DECODER.raw_decode(printed, begin)
    except (ValueError, RecursionError):
        return None, -1
