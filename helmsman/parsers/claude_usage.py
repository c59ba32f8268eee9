"""What a call of Claude Code used up so far, and what fills the context of its main thread, folded from its event stream."""

import hashlib
from collections import deque
from collections.abc import Mapping
from typing import Any

from helmsman.parsers.loose import count, items, mapping, text
from helmsman.prices import priced
from helmsman.records.agent import Compaction, ContextUse
from helmsman.records.base import Usage
from helmsman.tokens import tokens

SYNTHETIC = "<synthetic>"  # the model that the CLI names when it speaks in the agent's place
LONGEST_ID = 100
_REPORTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_CHARACTERS = 3  # of one token, in code and JSON; rather too many tokens than too few, so that a limit holds
_MESSAGES = 256  # events of one message come close together, also where subagents run in parallel
_SHORTEST = 200  # characters from which a text that comes again is a repetition: "ok" says something every time
_KEPT = 500
_COMPACTIONS = 20


def message_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(event.get("message"))


def blocks_of(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mapping(block) for block in items(message_of(event).get("content"))]


def texts_of(block: Mapping[str, Any]) -> list[str]:
    """The texts of a result, whatever the form; images have none."""
    content = block.get("content")
    parts = [content] if isinstance(content, str) else [mapping(part).get("text") for part in items(content)]
    return [part for part in parts if isinstance(part, str)]


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
        self._messages: dict[object, None] = {}
        self._thought = 0

    def think(self, event: Mapping[str, Any]) -> None:
        """The main thread has thought so many tokens, which no message holds."""
        self._thought += count(event.get("estimated_tokens_delta"))

    def add(self, message: Mapping[str, Any], *, main: bool) -> bool:
        """Take in one event of a message, at the price of the model that spoke it; whether it is the first."""
        identity, said, characters = text(message.get("id")), mapping(message.get("usage")), 0
        for block in map(mapping, items(message.get("content"))):
            # Thoughts are shortened or left out, so they are counted apart.
            characters += len(text(block.get("text"), 10**6)) + (len(str(block["input"])) if "input" in block else 0)
        spoken = characters // _CHARACTERS
        if main:
            spoken, self._thought = spoken + self._thought, 0
        first = _is_new(self._messages, identity, _MESSAGES)
        counted, hourly = Usage(output_tokens=spoken), 0
        if first:
            counted = usage_of(said)
            counted = counted.model_copy(update={"output_tokens": max(counted.output_tokens, spoken)})
            hourly = count(mapping(said.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        self.usage = self.usage.plus(priced(counted, text(message.get("model")), min(hourly, counted.cache_creation_tokens)))
        return first

    def clear(self) -> None:
        """The CLI has told what all of it came to."""
        self.usage, self._thought = Usage(), 0


class ContextReader:
    """What fills the context of the main thread, in bounded memory: what tools answered, and what of that was there before."""

    def __init__(self) -> None:
        """Nothing is in the context yet."""
        self._tokens = self._peak = self._answered = self._noise = 0
        self._texts: dict[object, None] = {}
        self._compactions: deque[Compaction] = deque(maxlen=_COMPACTIONS)

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown ones and those of subagents change nothing."""
        if event.get("parent_tool_use_id") is not None:
            return
        message = message_of(event)
        match event.get("type"):
            case "assistant" if message.get("model") != SYNTHETIC:
                self._tokens = sum(count(mapping(message.get("usage")).get(key)) for key in _REPORTED[:3])
                self._peak = max(self._peak, self._tokens)
            case "user":
                for block in blocks_of(event):
                    if block.get("type") == "tool_result":
                        self._result("".join(texts_of(block)), failed=block.get("is_error") is True)
            case "system" if event.get("subtype") == "compact_boundary":
                said = mapping(event.get("compact_metadata"))
                before, after = count(said.get("pre_tokens")), count(said.get("post_tokens"))
                self._compactions.append(Compaction(trigger=text(said.get("trigger"), 20), before=before, after=after))
                self._tokens = after or self._tokens
                self._answered = self._noise = 0
                self._texts.clear()
            case _:
                pass

    def use(self, window: int) -> ContextUse:
        """What is known so far, of a window of so many tokens (0: not told)."""
        return ContextUse(
            tokens=self._tokens,
            peak=self._peak,
            window=window,
            heard=self._answered,
            noise=self._noise,
            compactions=tuple(self._compactions),
        )

    def _result(self, words: str, *, failed: bool) -> None:
        """Noise is what failed, and what was there before: a file that is read again unchanged is the same text."""
        digest = hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=8).digest()
        again = len(words) >= _SHORTEST and not _is_new(self._texts, digest, _KEPT)
        size = tokens(words)
        self._answered += size
        self._noise += size if again or failed else 0


def _is_new(known: dict[object, None], key: object, most: int) -> bool:
    """Remember a key among the newest so many; whether it was not there."""
    new = key not in known
    known.pop(key, None)
    known[key] = None
    if len(known) > most:
        del known[next(iter(known))]
    return new
