"""Token usage of a Claude Code call and context of its main thread, folded from its event stream."""

import hashlib
from collections import deque
from collections.abc import Mapping
from typing import Any

from helmsman.parsers.loose import count, items, mapping, text
from helmsman.prices import with_cost
from helmsman.records.agent import Compaction, ContextUse
from helmsman.records.base import Usage
from helmsman.tokens import tokens

SYNTHETIC = "<synthetic>"  # model name in messages that the CLI writes itself
LONGEST_ID = 100
_REPORTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_CHARACTERS = 3  # per token, in code and JSON; overestimates tokens, so that a limit holds
_MESSAGES = 256  # maximum number of remembered messages; events of one message come close together, even with parallel subagents
_SHORTEST = 200  # minimum characters of a repetition: "ok" is new information every time
_KEPT = 500
_COMPACTIONS = 20


def message_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(event.get("message"))


def blocks_of(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mapping(block) for block in items(message_of(event).get("content"))]


def texts_of(block: Mapping[str, Any]) -> list[str]:
    """Return the texts of a result in any format; images have none."""
    content = block.get("content")
    parts = [content] if isinstance(content, str) else [mapping(part).get("text") for part in items(content)]
    return [part for part in parts if isinstance(part, str)]


def usage_of(counts: Mapping[str, Any], keys: tuple[str, str, str, str] = _REPORTED) -> Usage:
    """Build usage from counts of tokens: uncached, written to the cache, read from the cache, output."""
    fresh, written, read, out = (count(counts.get(key)) for key in keys)
    return Usage(input_tokens=fresh, cache_creation_tokens=written, cache_read_tokens=read, output_tokens=out)


class SpentReader:
    """Estimates usage since the CLI's last report, which comes only with a result.

    A message reports its input tokens. Its output tokens are reported at its start, before any output, so they are estimated from
    the content.
    """

    def __init__(self) -> None:
        self.usage = Usage()
        """Costs are from the price list; 0 for unlisted models."""
        self._messages: dict[object, None] = {}
        self._thinking = 0

    def think(self, event: Mapping[str, Any]) -> None:
        """Add thinking tokens of the main thread, which messages do not contain."""
        self._thinking += count(event.get("estimated_tokens_delta"))

    def add(self, message: Mapping[str, Any], *, main: bool) -> bool:
        """Add one event of a message at its model's price; return whether it is the message's first."""
        identity, usage, characters = text(message.get("id")), mapping(message.get("usage")), 0
        for block in map(mapping, items(message.get("content"))):
            # Thinking is shortened or left out, so it is counted separately.
            characters += len(text(block.get("text"), 10**6)) + (len(str(block["input"])) if "input" in block else 0)
        output = characters // _CHARACTERS
        if main:
            output, self._thinking = output + self._thinking, 0
        is_first = _is_new(self._messages, identity, _MESSAGES)
        counted, hourly = Usage(output_tokens=output), 0
        if is_first:
            counted = usage_of(usage)
            counted = counted.model_copy(update={"output_tokens": max(counted.output_tokens, output)})
            hourly = count(mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        self.usage = self.usage.plus(with_cost(counted, text(message.get("model")), min(hourly, counted.cache_creation_tokens)))
        return is_first

    def clear(self) -> None:
        """Reset after the CLI has reported the usage."""
        self.usage, self._thinking = Usage(), 0


class ContextReader:
    """Measures the context of the main thread in bounded memory: tool results, and repetitions among them."""

    def __init__(self) -> None:
        self._tokens = self._peak = self._result_tokens = self._noise = 0
        self._texts: dict[object, None] = {}
        self._compactions: deque[Compaction] = deque(maxlen=_COMPACTIONS)

    def feed(self, event: Mapping[str, Any]) -> None:
        """Process one event; ignore unknown ones and those of subagents."""
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
                        self._add_result("".join(texts_of(block)), failed=block.get("is_error") is True)
            case "system" if event.get("subtype") == "compact_boundary":
                metadata = mapping(event.get("compact_metadata"))
                before, after = count(metadata.get("pre_tokens")), count(metadata.get("post_tokens"))
                self._compactions.append(Compaction(trigger=text(metadata.get("trigger"), 20), before=before, after=after))
                self._tokens = after or self._tokens
                self._result_tokens = self._noise = 0
                self._texts.clear()
            case _:
                pass

    def use(self, window: int) -> ContextUse:
        """Return the context usage so far, for a window of so many tokens (0 if unknown)."""
        return ContextUse(
            tokens=self._tokens,
            peak=self._peak,
            window=window,
            heard=self._result_tokens,
            noise=self._noise,
            compactions=tuple(self._compactions),
        )

    def _add_result(self, output: str, *, failed: bool) -> None:
        """Count a tool result. Failures and repetitions, such as a file that is read again unchanged, are noise."""
        digest = hashlib.blake2b(output.encode("utf-8", "replace"), digest_size=8).digest()
        is_repetition = len(output) >= _SHORTEST and not _is_new(self._texts, digest, _KEPT)
        size = tokens(output)
        self._result_tokens += size
        self._noise += size if is_repetition or failed else 0


def _is_new(remembered: dict[object, None], key: object, most: int) -> bool:
    """Remember a key among the newest `most`; return whether it was unknown."""
    is_new = key not in remembered
    remembered.pop(key, None)
    remembered[key] = None
    if len(remembered) > most:
        del remembered[next(iter(remembered))]
    return is_new
