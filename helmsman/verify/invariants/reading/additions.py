"""What a diff adds. A line that only moved, within its file or from another, or was only indented anew, is not added."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from helmsman.verify.changed_lines import common_start
from helmsman.verify.diff import FileDiff, Line, TreeDiff

_WORTH_FOLLOWING = 12
"""Characters of a line that is recognised in another file; `return None` is everywhere."""


@dataclass(frozen=True)
class Addition:
    """The lines that a changed file has more often than it had them."""

    file: FileDiff
    lines: tuple[Line, ...]
    text: str
    """The same lines as one text, to be searched at once."""


@lru_cache(maxsize=1)
def additions(diff: TreeDiff) -> tuple[Addition, ...]:
    """For each file that is still there, what it gained; every rule asks for the same diff."""
    gains = [(file, *_gained_and_lost(file)) for file in diff]
    pool = Counter(text for _, _, lost in gains for text in lost if len(text) >= _WORTH_FOLLOWING)
    return tuple(_addition(file, _not_moved(gained, pool)) for file, gained, _ in gains if file.after is not None)


def hits(addition: Addition, pattern: re.Pattern[str]) -> frozenset[int]:
    """Numbers of the added lines on which a match begins."""
    found, index, last = set[int](), 0, 0
    for match in pattern.finditer(addition.text):
        index += addition.text.count("\n", last, match.start())
        last = match.start()
        found.add(addition.lines[index].number)
    return frozenset(found)


def line_at(text: str, position: int) -> int:
    """Number of the line that a position stands on."""
    return text.count("\n", 0, position) + 1


def found_anew(file: FileDiff, finders: Iterable[re.Pattern[str]], group: int = 0) -> Iterator[tuple[int, re.Match[str]]]:
    """Matches in a file as it is, each with its line, that it did not have as it was; those of one group are the same."""
    before, after = file.before or "", file.after or ""
    for finder in finders:
        known = {found[group] for found in finder.finditer(before)}
        anew = (found for found in finder.finditer(after) if found[group] not in known)
        yield from ((line_at(after, found.start(group)), found) for found in anew)


def split(text: str | None) -> list[str]:
    """Lines as editors count them, of a text as it is: with its carriage returns, and an empty one behind the last new line."""
    return (text or "").split("\n")


def _addition(file: FileDiff, lines: Iterable[Line]) -> Addition:
    found = tuple(lines)
    return Addition(file, found, "\n".join(line.text for line in found))


def _gained_and_lost(file: FileDiff) -> tuple[list[Line], list[str]]:
    old, new = split(file.before), split(file.after)
    start, end = common_start(old, new), common_start(old[::-1], new[::-1])
    end = min(end, min(len(old), len(new)) - start)
    there = Counter(stripped for line in old[start : len(old) - end] if (stripped := line.strip()))
    gained = list[Line]()
    for number in range(len(new) - end - 1, start - 1, -1):
        stripped = new[number].strip()
        if not stripped:
            continue
        if there[stripped] > 0:
            there[stripped] -= 1
        else:
            gained.append(Line(number + 1, new[number]))
    return gained[::-1], list(there.elements())


def _not_moved(gained: Iterable[Line], pool: Counter[str]) -> Iterator[Line]:
    for line in gained:
        stripped = line.text.strip()
        if pool[stripped] > 0:
            pool[stripped] -= 1
        else:
            yield line
