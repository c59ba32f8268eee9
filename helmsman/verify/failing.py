"""Names of failing tests, bounded: they end up in prompts and records."""

from collections.abc import Iterable
from itertools import islice

NAMES_KEPT = 50
NAME_LENGTH = 300


def failing_names(names: Iterable[str]) -> tuple[str, ...]:
    """Keep the first of each name, in order, on one line and cut to a bearable length."""
    tidy = (" ".join(name.split())[:NAME_LENGTH] for name in names)
    return tuple(islice(dict.fromkeys(name for name in tidy if name), NAMES_KEPT))
