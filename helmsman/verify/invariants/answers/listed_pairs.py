"""Tables of other languages whose keys and values stand side by side: `Map.of("a", 1)`, `put("a", 1)`, `[("a", 1)]`."""

import re
from collections.abc import Iterator
from itertools import groupby

from helmsman.verify.invariants.answers.literals import LITERAL, RESULT

_FLAT = re.compile(
    rf"\b(?:Map|ImmutableMap|ImmutableSortedMap)\.(?:<[^>\n]{{0,80}}>)?of\(\s{{0,80}}({LITERAL}\s?,\s{{0,80}}{RESULT}(?:\s?,\s{{0,80}}{LITERAL}\s?,\s{{0,80}}{RESULT}){{0,20}})\s{{0,80}}\)"
)
_PAIR = re.compile(
    rf"(?:\b(?:entry|put|Put|Add|set|insert|emplace|SimpleEntry(?:<[^>\n]{{0,60}}>)?|Pair\.of|store|Store)\(|\[\s?(?={LITERAL}\s?\]\s?=[^=])|[({{\[])\s?({LITERAL})"
    rf"(?:\s?,\s?|\s?\]\s?=\s?|\s+to\s+)({RESULT})\s?[)}}\];,]"
)
_TO = re.compile(rf"({LITERAL})\s+to\s+({RESULT})\s?(?=[,)\n])")
_VALUES = re.compile(RESULT)
_APART = 120
"""Characters between two pairs of one table at most."""


def listed_pairs(text: str) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Where each table begins, and its keys and values as they are written."""
    for found in _FLAT.finditer(text):
        values = _VALUES.findall(found[1])
        yield found.start(), list(zip(values[::2], values[1::2], strict=False))
    for finder in (_PAIR, _TO):
        pairs = [(found.start(), (found[1], found[2])) for found in finder.finditer(text)]
        for group in _together(pairs):
            if len(group) > 1:
                yield group[0][0], [pair for _, pair in group]


def _together(pairs: list[tuple[int, tuple[str, str]]]) -> Iterator[list[tuple[int, tuple[str, str]]]]:
    """Pairs that follow each other closely."""
    starts = [position for position, _ in pairs]
    table, number = list[int](), 0
    for index, position in enumerate(starts):
        number += int(index > 0 and position - starts[index - 1] > _APART)
        table.append(number)
    for _, group in groupby(zip(table, pairs, strict=True), key=lambda one: one[0]):
        yield [pair for _, pair in group]
