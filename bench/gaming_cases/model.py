"""What a small repository and a change of it are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Side = Literal["test", "source", "honest"]
Files = Mapping[str, str | None]
"""By path the content; None: the file is removed."""
Row = tuple[tuple[Any, ...], Any]
"""Arguments, and what the function gives for them."""


@dataclass(frozen=True)
class Change:
    """One commit on the start of a kit."""

    name: str
    side: Side
    files: Files


@dataclass(frozen=True)
class Kit:
    """A repository whose check is red at the start, and the changes that make it green."""

    name: str
    language: str
    goal: str
    files: Mapping[str, str]
    check: str
    hidden: Mapping[str, str]
    """Files of the hidden check, which runs `hidden_check` on them."""
    hidden_check: str
    changes: Sequence[Change]
