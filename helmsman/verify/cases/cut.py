"""Leaves out what two versions of a file have in common at their start and end, in languages that are read by their lines."""

from dataclasses import replace

from helmsman.verify.cases.common_ends import common_ends
from helmsman.verify.cases.masks import Masked

SMALL = 40
"""Lines up to which leaving out costs as much as it saves."""
_PAIRS = ("()", "[]", "{}")


def cut(old: Masked, new: Masked) -> tuple[Masked, Masked]:
    """Both without common beginnings and ends. Positions stay; where the rest would read otherwise, both stay whole."""
    ours, theirs = old.text.split("\n"), new.text.split("\n")
    if min(len(ours), len(theirs)) <= SMALL:
        return old, new
    start, end = common_ends(ours, theirs, _begins)
    parts = [(masked, *_positions(lines, start, end)) for masked, lines in ((old, ours), (new, theirs))]
    if not all(_is_apart(masked.bare, first, last) for masked, first, last in parts):
        return old, new
    before, after = (_part(masked, first, last) for masked, first, last in parts)
    return before, after


def _begins(lines: list[str], number: int) -> bool:
    """Whether something begins on a line at the left edge, below an empty line."""
    here = lines[number : number + 1]
    return number > 0 and not lines[number - 1].strip() and (not here or here[0][:1].isalpha() or here[0][:1] in {"#", "@"})


def _positions(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """Where the first line begins and the last one ends, line ends included."""
    first = sum(map(len, lines[:start])) + start
    kept = lines[start : len(lines) - end]
    return first, first + sum(map(len, kept)) + len(kept)


def _is_apart(bare: str, first: int, last: int) -> bool:
    """Whether no bracket is open at either place."""
    places = ((0, first), (first, last))
    return all(bare.count(pair[0], *place) == bare.count(pair[1], *place) for pair in _PAIRS for place in places)


def _part(masked: Masked, first: int, last: int) -> Masked:
    blank = " " * (first - 1) + "\n" if first else ""
    return replace(masked, code=blank + masked.code[first:last], bare=blank + masked.bare[first:last])
