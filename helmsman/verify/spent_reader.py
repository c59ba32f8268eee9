"""What a call has used up so far, folded from its messages: the CLI tells the whole only with its result.

A message says how many tokens went in. What came out it says as it begins, when nothing has come out yet, so that is estimated
from what it holds.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from helmsman.prices import priced
from helmsman.records.usage import Usage
from helmsman.verify.loose_json import count, items, mapping, text

_CHARACTERS = 3  # of one token, in code and JSON; rather too many tokens than too few, so that a limit holds
_MESSAGES = 256  # events of one message come close together, also where subagents run in parallel
_REPORTED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class _Message(NamedTuple):
    """What is known of the output of one message, which comes in several events."""

    characters: int = 0
    counted: int = 0
    """Tokens of it that are in the sum."""


class SpentReader:
    """Folds messages, each at the price of the model that spoke it."""

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self.usage = Usage()
        """The dollars are those of the price list; none of a model that is not in it."""
        self._messages: dict[str, _Message] = {}
        self._thought = 0

    def think(self, event: Mapping[str, Any]) -> None:
        """The main thread has thought so many tokens, which no message holds."""
        self._thought += count(event.get("estimated_tokens_delta"))

    def add(self, message: Mapping[str, Any], *, main: bool) -> bool:
        """Take in one event of a message; whether it is the first."""
        identity, told = text(message.get("id")), mapping(message.get("usage"))
        known = self._messages.pop(identity, None)
        used = usage_of(told) if known is None else Usage(output_tokens=known.counted)
        said = (known.characters if known else 0) + sum(map(_characters, items(message.get("content"))))
        if main:
            said, self._thought = said + self._thought * _CHARACTERS, 0
        output = max(used.output_tokens, said // _CHARACTERS)
        more = used.model_copy(update={"output_tokens": output - (known.counted if known else 0)})
        hourly = 0 if known else count(mapping(told.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        self.usage = self.usage.plus(priced(more, text(message.get("model")), min(hourly, more.cache_creation_tokens)))
        self._messages[identity] = _Message(said, output)
        if len(self._messages) > _MESSAGES:
            del self._messages[next(iter(self._messages))]
        return known is None

    def clear(self) -> None:
        """The CLI has told what all of it came to."""
        self.usage, self._thought = Usage(), 0


def _characters(block: object) -> int:
    """Of a text, or of what a tool is called with. Thoughts are shortened or left out, so they are counted apart."""
    told = mapping(block)
    return len(text(told.get("text"), 10**6)) + (len(str(told["input"])) if "input" in told else 0)


def usage_of(counts: Mapping[str, Any], keys: tuple[str, str, str, str] = _REPORTED) -> Usage:
    """Tokens of an account: not from the cache, into it, from it, and what came back."""
    fresh, written, read, out = (count(counts.get(key)) for key in keys)
    return Usage(input_tokens=fresh, cache_creation_tokens=written, cache_read_tokens=read, output_tokens=out)
