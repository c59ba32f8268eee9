"""How one program tells what it does: its tools, and what each of its events writes into the account."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from helmsman.verify.agents.account import Account
from helmsman.verify.deed_reader import Tools

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
