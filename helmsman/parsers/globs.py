"""Glob patterns over paths and branches: `*` stands for anything but a slash, `**` for any number of levels."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

Pieces = Sequence[re.Pattern[str] | None]  # one pattern for each level; None for any number of levels


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """A pattern without a slash means a name in any folder; one that ends with a slash means everything below.

    `/` or `./` at its beginning is the root of the repository. Brackets are letters like any other.
    """
    return any(matches(path, _rooted(pattern)) for pattern in patterns)


def matches(path: str, pieces: Pieces) -> bool:
    """Level by level, all ways at once: the time does not explode with the number of `**`, whoever wrote them."""
    levels, ways = path.split("/"), {0}
    for piece in pieces:
        if piece is None:
            ways = set(range(min(ways, default=len(levels) + 1), len(levels) + 1))
        else:
            ways = {way + 1 for way in ways if way < len(levels) and piece.match(levels[way])}
    return len(levels) in ways


@lru_cache(maxsize=1000)
def pieces_of(pattern: str) -> Pieces:
    return tuple(None if name == "**" else re.compile(translate(name)) for name in pattern.split("/"))


@lru_cache(maxsize=1000)
def _rooted(pattern: str) -> Pieces:
    below = f"{pattern}**" if pattern.endswith("/") else pattern
    anywhere = below if "/" in pattern.rstrip("/") else f"**/{below}"
    return pieces_of(anywhere.removeprefix("./").removeprefix("/").replace("[", "[[]"))
