"""Spans and metric points before any library has seen them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from helmsman.plain import clean

Value = str | bool | int | float
Attributes = Mapping[str, Value]

LONGEST = 200
"""Characters of a name that an agent or a repository may have made up."""


def one_line(text: str) -> str:
    """Foreign text as a short line that moves no cursor."""
    return clean(text[:LONGEST])


class Note(NamedTuple):
    """Something that was noticed within a span; OpenTelemetry calls it a span's event."""

    name: str
    at: datetime
    attributes: Attributes


@dataclass(frozen=True)
class Span:
    """Something that took time."""

    id: int
    parent: int
    """0: it is the root of its trace."""
    name: str
    start: datetime
    end: datetime
    attributes: Attributes = field(default_factory=dict[str, Value])
    notes: tuple[Note, ...] = ()
    error: str = ""
    """What went wrong, in a word; empty where nothing did."""
    kind: Literal["internal", "client"] = "internal"


class Point(NamedTuple):
    """A measurement for the instrument of that name."""

    instrument: str
    value: float
    attributes: Attributes
