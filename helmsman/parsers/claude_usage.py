"""What a call of Claude Code used up so far, and what fills the context of its main thread, folded from its event stream."""

import hashlib
from collections import deque
from collections.abc import Mapping
from typing import Any, TypeVar

from helmsman.parsers.loose import count, items, mapping, text
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
_COMPACTIONS = 20
_DIGEST = 8  # bytes; among 500 texts nobody meets the same one by chance
_WORD = 20
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


class SpentReader:
    """What was used up since the CLI told of it, which it does only with its result.

    A message says how many tokens went in. What came out it says as it begins, when nothing has come out yet, so that is
    estimated from what it holds.
    """

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self.usage = Usage()
        """The dollars are those of the price list; none of a model that is not in it."""
        self._messages: dict[str, None] = {}
        self._thought = 0

    def think(self, event: Mapping[str, Any]) -> None:
        """The main thread has thought so many tokens, which no message holds."""
        self._thought += count(event.get("estimated_tokens_delta"))

    def add(self, message: Mapping[str, Any], *, main: bool) -> bool:
        """Take in one event of a message, at the price of the model that spoke it; whether it is the first."""
        identity, told = text(message.get("id")), mapping(message.get("usage"))
        first = identity not in self._messages
        said = sum(map(_characters, items(message.get("content")))) // _CHARACTERS
        if main:
            said, self._thought = said + self._thought, 0
        counted, hourly = Usage(output_tokens=said), 0
        if first:
            counted = usage_of(told)
            counted = counted.model_copy(update={"output_tokens": max(counted.output_tokens, said)})
            hourly = count(mapping(told.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        self.usage = self.usage.plus(priced(counted, text(message.get("model")), min(hourly, counted.cache_creation_tokens)))
        _keep(self._messages, identity, None, _MESSAGES)
        return first

    def clear(self) -> None:
        """The CLI has told what all of it came to."""
        self.usage, self._thought = Usage(), 0


def _characters(block: object) -> int:
    """Of a text, or of what a tool is called with. Thoughts are shortened or left out, so they are counted apart."""
    told = mapping(block)
    return len(text(told.get("text"), 10**6)) + (len(str(told["input"])) if "input" in told else 0)


class ContextReader:
    """What fills the context of the main thread, in bounded memory: what tools answered, and what of that was there before."""

    def __init__(self) -> None:
        """Nothing is in the context yet."""
        self._tokens = self._peak = 0
        self._compactions: deque[Compaction] = deque(maxlen=_COMPACTIONS)
        self._clear()

    def _clear(self) -> None:
        self._heard = self._noise = 0
        self._texts: dict[bytes, None] = {}

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

    def _results(self, event: Mapping[str, Any]) -> None:
        """Noise is what failed, and what was there before: a file that is read again unchanged is the same text."""
        for block in blocks_of(event):
            if block.get("type") == "tool_result":
                words = "".join(texts_of(block))
                size, again = tokens(words), self._was_said(words)
                self._heard += size
                self._noise += size if again or block.get("is_error") is True else 0

    def _was_said(self, words: str) -> bool:
        if len(words) < _SHORTEST:
            return False
        known = _digest(words)
        before = known in self._texts
        _keep(self._texts, known, None, _KEPT)
        return before

    def _compacted(self, told: Mapping[str, Any]) -> None:
        before, after = count(told.get("pre_tokens")), count(told.get("post_tokens"))
        self._compactions.append(Compaction(trigger=text(told.get("trigger"), _WORD), before=before, after=after))
        self._tokens = after or self._tokens
        self._clear()


def _keep(known: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """The newest so many; what was longest not heard of is forgotten."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]


def _digest(words: str) -> bytes:
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=_DIGEST).digest()
