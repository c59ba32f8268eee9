"""What a call of Claude Code used up so far, and what fills the context of its main thread, folded from its event stream."""

import hashlib
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from helmsman.parsers.agent_actions import READERS, WRITERS
from helmsman.parsers.loose import amount, count, items, mapping, text
from helmsman.prices import priced
from helmsman.records.agent import Compaction, ContextUse
from helmsman.records.base import Usage
from helmsman.tokens import tokens

SYNTHETIC = "<synthetic>"
"""The model that the CLI names when it speaks in the agent's place."""
LONGEST_ID = 100
_REPORTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_CHARACTERS = 3  # of one token, in code and JSON; rather too many tokens than too few, so that a limit holds
_MESSAGES = 256  # events of one message come close together, also where subagents run in parallel
_SHORTEST = 200  # characters from which a text that comes again is a repetition: "ok" says something every time
_KEPT = 500
_PENDING = 100  # a message calls a handful of tools at once
_COMPACTIONS = 20
_DIGEST = 8  # bytes; among 500 texts nobody meets the same one by chance
_WORD = 20
_RANGE = ("offset", "limit", "pages")
_LOOKS = ("Grep", "Glob", "LS", "NotebookRead", "TodoRead", "TodoWrite", "WebFetch", "WebSearch")
_SUBJECTS = {**dict.fromkeys(_LOOKS, ""), **WRITERS, **READERS}
"""Tools of which is known which file they change, if any. Commands, subagents and all others may change any."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def message_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(event.get("message"))


def blocks_of(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mapping(block) for block in items(message_of(event).get("content"))]


def texts_of(block: Mapping[str, Any]) -> list[str]:
    """The texts of a result, whatever the form; images have none."""
    content = block.get("content")
    parts = [content] if isinstance(content, str) else [mapping(part).get("text") for part in items(content)]
    return [part for part in parts if isinstance(part, str)]


def never_ran(event: Mapping[str, Any]) -> set[str]:
    """Ids of the tool calls that an event says were refused before they ran."""
    told = map(mapping, items(event.get("tool_result_meta")))
    return {text(entry.get("id"), LONGEST_ID) for entry in told if "non_execution_kind" in entry}


def usage_of(counts: Mapping[str, Any], keys: tuple[str, str, str, str] = _REPORTED) -> Usage:
    """Tokens of an account: not from the cache, into it, from it, and what came back."""
    fresh, written, read, out = (count(counts.get(key)) for key in keys)
    return Usage(input_tokens=fresh, cache_creation_tokens=written, cache_read_tokens=read, output_tokens=out)


class _Spoken(NamedTuple):
    """What is known of the output of one message, which comes in several events."""

    characters: int = 0
    counted: int = 0
    """Tokens of it that are in the sum."""


class SpentReader:
    """What was used up since the CLI told of it, which it does only with its result.

    A message says how many tokens went in. What came out it says as it begins, when nothing has come out yet, so that is
    estimated from what it holds.
    """

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self.usage = Usage()
        """The dollars are those of the price list; none of a model that is not in it."""
        self._messages: dict[str, _Spoken] = {}
        self._thought = 0

    def think(self, event: Mapping[str, Any]) -> None:
        """The main thread has thought so many tokens, which no message holds."""
        self._thought += count(event.get("estimated_tokens_delta"))

    def add(self, message: Mapping[str, Any], *, main: bool) -> bool:
        """Take in one event of a message, at the price of the model that spoke it; whether it is the first."""
        identity, told = text(message.get("id")), mapping(message.get("usage"))
        known = self._messages.get(identity)
        before = known or _Spoken()
        used = usage_of(told) if known is None else Usage(output_tokens=before.counted)
        said = before.characters + sum(map(_characters, items(message.get("content"))))
        if main:
            said, self._thought = said + self._thought * _CHARACTERS, 0
        output = max(used.output_tokens, said // _CHARACTERS)
        more = used.model_copy(update={"output_tokens": output - before.counted})
        hourly = 0 if known else count(mapping(told.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        self.usage = self.usage.plus(priced(more, text(message.get("model")), min(hourly, more.cache_creation_tokens)))
        _keep(self._messages, identity, _Spoken(said, output), _MESSAGES)
        return known is None

    def clear(self) -> None:
        """The CLI has told what all of it came to."""
        self.usage, self._thought = Usage(), 0


def _characters(block: object) -> int:
    """Of a text, or of what a tool is called with. Thoughts are shortened or left out, so they are counted apart."""
    told = mapping(block)
    return len(text(told.get("text"), 10**6)) + (len(str(told["input"])) if "input" in told else 0)


class _Call(NamedTuple):
    """A call of a tool that tells which file it reads or changes."""

    tool: str
    path: bytes
    part: bytes
    """The range of lines or pages that it asked for."""


class ContextReader:
    """What fills the context of the main thread, in bounded memory: what tools answered, and what of that was there before."""

    def __init__(self) -> None:
        """Nothing is in the context yet."""
        self._tokens = self._peak = 0
        self._pending: dict[bytes, _Call] = {}
        self._compactions: deque[Compaction] = deque(maxlen=_COMPACTIONS)
        self._clear()

    def _clear(self) -> None:
        self._heard = self._noise = 0
        self._texts: dict[bytes, None] = {}
        self._reads: dict[tuple[bytes, bytes], None] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown ones and those of subagents change nothing."""
        if event.get("parent_tool_use_id") is not None:
            return
        match event.get("type"):
            case "assistant" if message_of(event).get("model") != SYNTHETIC:
                self._message(event)
            case "user":
                self._results(event)
            case "system" if event.get("subtype") == "compact_boundary":
                self._compacted(mapping(event.get("compact_metadata")))
            case _:
                pass

    def use(self, window: int) -> ContextUse:
        """What is known so far, of a window of so many tokens (0: not told)."""
        return ContextUse(
            tokens=self._tokens,
            peak=self._peak,
            window=window,
            heard=self._heard,
            noise=self._noise,
            compactions=tuple(self._compactions),
        )

    def _message(self, event: Mapping[str, Any]) -> None:
        usage = mapping(message_of(event).get("usage"))
        self._tokens = sum(count(usage.get(key)) for key in _REPORTED[:3])
        self._peak = max(self._peak, self._tokens)
        for block in blocks_of(event):
            if block.get("type") == "tool_use" and text(block.get("name")) in _SUBJECTS:
                _keep(self._pending, _digest(text(block.get("id"), LONGEST_ID)), _call(block), _PENDING)

    def _results(self, event: Mapping[str, Any]) -> None:
        refused = never_ran(event)
        for block in blocks_of(event):
            if block.get("type") != "tool_result":
                continue
            identity, failed = text(block.get("tool_use_id"), LONGEST_ID), block.get("is_error") is True
            call, words = self._pending.pop(_digest(identity), None), "".join(texts_of(block))
            size, again = tokens(words), self._was_said(words)
            again = again or (call is not None and call.tool in READERS and (call.path, call.part) in self._reads)
            self._heard += size
            self._noise += size if failed or again else 0
            if identity not in refused:
                self._note(call, failed=failed)

    def _was_said(self, words: str) -> bool:
        if len(words) < _SHORTEST:
            return False
        known = _digest(words)
        before = known in self._texts
        _keep(self._texts, known, None, _KEPT)
        return before

    def _note(self, call: _Call | None, *, failed: bool) -> None:
        """Which files lie in the context as they are now."""
        if call is None:
            self._reads.clear()  # also where it failed: a command may do so half-way
        elif call.tool in READERS and not failed:
            _keep(self._reads, (call.path, call.part), None, _KEPT)
        elif call.tool in WRITERS and not failed:
            self._reads = {known: None for known in self._reads if known[0] != call.path}

    def _compacted(self, told: Mapping[str, Any]) -> None:
        before, after = count(told.get("pre_tokens")), count(told.get("post_tokens"))
        self._compactions.append(Compaction(trigger=text(told.get("trigger"), _WORD), before=before, after=after))
        self._tokens = after or self._tokens
        self._clear()


def _call(block: Mapping[str, Any]) -> _Call:
    tool, given = text(block.get("name")), mapping(block.get("input"))
    path = given.get(_SUBJECTS[tool])
    part = "|".join(text(given.get(key), _WORD) or str(amount(given.get(key))) for key in _RANGE)
    return _Call(tool, _digest(path if isinstance(path, str) else ""), _digest(part))


def _keep(known: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """The newest so many; what was longest not heard of is forgotten."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]


def _digest(words: str) -> bytes:
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=_DIGEST).digest()
