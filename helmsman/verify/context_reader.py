"""What fills the context window of the agent's main thread, folded from its event stream."""

import hashlib
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from helmsman.agent_tools import READERS, WRITERS
from helmsman.records.session import Compaction, ContextUse
from helmsman.tokens import tokens
from helmsman.verify.loose_json import amount, count, items, mapping, text

SYNTHETIC = "<synthetic>"
"""The model that the CLI names when it speaks in the agent's place."""
_CONTEXT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_SHORTEST = 200  # characters from which a text that comes again is a repetition: "ok" says something every time
_KEPT = 500
_PENDING = 100  # a message calls a handful of tools at once
_COMPACTIONS = 20
_IDENTITY = 100
_DIGEST = 8  # bytes; among 500 texts nobody meets the same one by chance
_WORD = 20
_RANGE = ("offset", "limit", "pages")
_LOOKS = ("Grep", "Glob", "LS", "NotebookRead", "TodoRead", "TodoWrite", "WebFetch", "WebSearch")
_TOLD = {**dict.fromkeys(_LOOKS, ""), **WRITERS, **READERS}
"""Tools of which is known which file they change, if any. Commands, subagents and all others may change any."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Call(NamedTuple):
    """A call of a tool that tells which file it reads or changes."""

    tool: str
    path: bytes
    part: bytes
    """The range of lines or pages that it asked for."""


class ContextReader:
    """Folds the events of one call, in bounded memory."""

    def __init__(self) -> None:
        """Nothing is in the context yet."""
        self.tokens = self.peak = 0
        self._pending: dict[bytes, _Call] = {}
        self._answers = _Answers()
        self._compactions: deque[Compaction] = deque(maxlen=_COMPACTIONS)

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown ones and those of subagents change nothing."""
        kind = event.get("type")
        if event.get("parent_tool_use_id") is not None:
            return
        if kind == "assistant":
            self._message(mapping(event.get("message")))
        elif kind == "user":
            self._results(event)
        elif kind == "system" and event.get("subtype") == "compact_boundary":
            self._compacted(mapping(event.get("compact_metadata")))

    def use(self, window: int) -> ContextUse:
        """What is known so far, of a window of so many tokens (0: not told)."""
        return ContextUse(
            tokens=self.tokens,
            peak=self.peak,
            window=window,
            heard=self._answers.heard,
            noise=self._answers.noise,
            compactions=tuple(self._compactions),
        )

    def _message(self, message: Mapping[str, Any]) -> None:
        if message.get("model") == SYNTHETIC:
            return
        usage = mapping(message.get("usage"))
        self.tokens = sum(count(usage.get(key)) for key in _CONTEXT)
        self.peak = max(self.peak, self.tokens)
        for block in map(mapping, items(message.get("content"))):
            if block.get("type") == "tool_use" and text(block.get("name")) in _TOLD:
                _keep(self._pending, _digest(text(block.get("id"), _IDENTITY)), _call(block), _PENDING)

    def _results(self, event: Mapping[str, Any]) -> None:
        refused = never_ran(event)
        for block in map(mapping, items(mapping(event.get("message")).get("content"))):
            if block.get("type") == "tool_result":
                identity = text(block.get("tool_use_id"), _IDENTITY)
                call = self._pending.pop(_digest(identity), None)
                self._answers.add(_words(block), call, failed=block.get("is_error") is True, ran=identity not in refused)

    def _compacted(self, told: Mapping[str, Any]) -> None:
        before, after = count(told.get("pre_tokens")), count(told.get("post_tokens"))
        self._compactions.append(Compaction(trigger=text(told.get("trigger"), _WORD), before=before, after=after))
        self.tokens = after or self.tokens
        self._answers = _Answers()


class _Answers:
    """What tools answered since the context was empty, in tokens."""

    def __init__(self) -> None:
        """Nothing has been heard yet."""
        self.heard = self.noise = 0
        self._texts: dict[bytes, None] = {}
        self._reads: dict[tuple[bytes, bytes], None] = {}

    def add(self, words: str, call: _Call | None, *, failed: bool, ran: bool) -> None:
        again = self._said_before(words) or self._read_before(call)
        size = tokens(words)
        self.heard += size
        self.noise += size if failed or again else 0
        if ran:
            self._note(call, failed=failed)

    def _said_before(self, words: str) -> bool:
        if len(words) < _SHORTEST:
            return False
        known = _digest(words)
        before = known in self._texts
        _keep(self._texts, known, None, _KEPT)
        return before

    def _read_before(self, call: _Call | None) -> bool:
        return call is not None and call.tool in READERS and (call.path, call.part) in self._reads

    def _note(self, call: _Call | None, *, failed: bool) -> None:
        """Which files lie in the context as they are now."""
        if call is None:
            self._reads.clear()  # also where it failed: a command may do so half-way
        elif call.tool in READERS and not failed:
            _keep(self._reads, (call.path, call.part), None, _KEPT)
        elif call.tool in WRITERS and not failed:
            self._reads = {known: None for known in self._reads if known[0] != call.path}


def never_ran(event: Mapping[str, Any]) -> set[str]:
    """Ids of the tool calls that an event says were refused before they ran."""
    told = map(mapping, items(event.get("tool_result_meta")))
    return {text(entry.get("id"), _IDENTITY) for entry in told if "non_execution_kind" in entry}


def refused_by_hook(event: Mapping[str, Any]) -> set[str]:
    """Ids of the tool calls that an event says a hook refused."""
    told = map(mapping, items(event.get("tool_result_meta")))
    return {text(one.get("id"), _IDENTITY) for one in told if mapping(one.get("permission_decision")).get("source") == "hook"}


def _call(block: Mapping[str, Any]) -> _Call:
    tool, given = text(block.get("name")), mapping(block.get("input"))
    path = given.get(_TOLD[tool])
    part = "|".join(text(given.get(key), _WORD) or str(amount(given.get(key))) for key in _RANGE)
    return _Call(tool, _digest(path if isinstance(path, str) else ""), _digest(part))


def _words(block: Mapping[str, Any]) -> str:
    """The text of a result, whatever the form; images have none."""
    content = block.get("content")
    if isinstance(content, str):
        return content
    parts = (mapping(part).get("text") for part in items(content))
    return "".join(part for part in parts if isinstance(part, str))


def _keep(known: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """The newest so many; what was longest not heard of is forgotten."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]


def _digest(words: str) -> bytes:
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=_DIGEST).digest()
