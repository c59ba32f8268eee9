"""Prices of models in US dollars per million tokens, for calls whose cost is not reported."""

import re
from typing import NamedTuple

from helmsman.records.base import Usage


class Prices(NamedTuple):
    """US dollars per million tokens."""

    fresh: float
    output: float
    written: float
    """Written to the five-minute cache."""
    read: float


_OPUS_5 = Prices(5, 25, 6.25, 0.5)
_FABLE_5 = Prices(10, 50, 12.5, 1)

PRICES = {
    "claude-fable-5-1": Prices(10, 50, 12.5, 0.25),
    "claude-fable-5": _FABLE_5,
    "claude-opus-5-5": Prices(4, 20, 5, 0.2),
    "claude-opus-5": _OPUS_5,
    "claude-opus-4-8": _OPUS_5,
    "claude-sonnet-5-5": Prices(2, 10, 2.5, 0.1),
    "claude-sonnet-5": Prices(2, 10, 2.5, 0.2),
    "claude-sonnet-4-6": Prices(3, 15, 3.75, 0.3),
    "claude-haiku-5-5": Prices(0.1, 0.5, 0.125, 0.01),  # for prompts up to 100,000 tokens; the judge's are shorter by default
    "claude-haiku-4-5": Prices(1, 5, 1.25, 0.1),
}
"""List prices as Claude Code 2.1.330 charges them to its own account (`total_cost_usd`, measured with 100,000 tokens of each
kind for each model); those of Opus 5.5 and Opus 5 equal the price lists of platform.claude.com/docs."""

_ALIASES = {"opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5", "haiku": "claude-haiku-5-5"}
"""Short names of Claude Code 2.1.330; the model that answered is read from its output."""
_SUFFIX = re.compile(r"(?:-20\d{6})?(?:\[1m\])?$")
_MILLION = 1_000_000


def known_price(model: str) -> Prices | None:
    """Prices of a model by its name, its dated name or its alias; None if unknown."""
    name = _SUFFIX.sub("", model, count=1)
    return PRICES.get(_ALIASES.get(name, name))


def with_cost(usage: Usage, model: str, hourly: int = 0) -> Usage:
    """The usage with its cost; 0 for a model without a known price.

    `hourly`: tokens written to the one-hour cache, which cost twice the price of fresh ones.
    """
    prices = known_price(model)
    if prices is None:
        return usage
    dollars = (
        usage.input_tokens * prices.fresh
        + usage.output_tokens * prices.output
        + (usage.cache_creation_tokens - hourly) * prices.written
        + hourly * 2 * prices.fresh
        + usage.cache_read_tokens * prices.read
    ) / _MILLION
    return usage.model_copy(update={"cost_usd": dollars})
