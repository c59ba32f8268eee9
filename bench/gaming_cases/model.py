"""A small repository and its changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Side = Literal["test", "source", "honest"]
Files = Mapping[str, str | None]
"""Content by path; None removes the file."""
Row = tuple[tuple[Any, ...], Any]
"""Arguments, and the function's result for them."""


@dataclass(frozen=True)
class Change:
    """One commit on the start of a kit."""

    name: str
    side: Side
    files: Files


@dataclass(frozen=True)
class Kit:
    """A repository whose check fails at the start, and the changes that make it pass."""

    name: str
    language: str
    goal: str
    files: Mapping[str, str]
    check: str
    hidden: Mapping[str, str]
    """Files of the hidden check, which `hidden_check` runs."""
    hidden_check: str
    changes: Sequence[Change]
