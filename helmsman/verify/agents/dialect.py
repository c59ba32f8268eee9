"""How one program tells what it does: its tools, and what each of its events writes into the account."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from helmsman.records.usage import Usage
from helmsman.verify.agents.account import Account
from helmsman.verify.deed_reader import Tools
from helmsman.verify.loose_json import count

Event = Mapping[str, Any]
Write = Callable[[Account, Event], None]


@dataclass(frozen=True)
class Dialect:
    """Of a program that prints one JSON object on each line, with its kind under `type`."""

    tools: Tools
    events: Mapping[str, Write]
    """By kind; others are not known, and change nothing."""
    session: str = ""
    """Under which key each event names the session; empty: not each does."""


def usage_with_cached(counts: Event, key: str) -> Usage:
    """Of a program that counts tokens which came from the cache among those that went in; `key`: where it tells them."""
    cached = count(counts.get(key))
    fresh = max(count(counts.get("input_tokens")) - cached, 0)
    return Usage(input_tokens=fresh, cache_read_tokens=cached, output_tokens=count(counts.get("output_tokens")))
