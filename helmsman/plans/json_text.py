"""Where things stand in a JSON text: the objects of an array with their keys and values. The text is valid JSON."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Pair(NamedTuple):
    """A key with its value, by their places."""

    key: str
    start: int
    key_end: int
    value_start: int
    value_end: int


def skip(text: str, place: int) -> int:
    """The next place that is no blank."""
    found = _BLANK.match(text, place)
    return found.end() if found else place


def pairs(text: str, place: int) -> Iterator[Pair]:
    """Keys and values of the object that begins here."""
    place = skip(text, place + 1)
    while text[place] != "}":
        key, end = _DECODER.raw_decode(text, place)
        value = skip(text, skip(text, end) + 1)  # after the colon
        value_end = _DECODER.raw_decode(text, value)[1]
        yield Pair(key, place, end, value, value_end)
        place = _after_comma(text, value_end)


def members(text: str, place: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each member of the array that begins here."""
    place = skip(text, place + 1)
    while text[place] != "]":
        end = _DECODER.raw_decode(text, place)[1]
        yield place, end
        place = _after_comma(text, end)


def _after_comma(text: str, place: int) -> int:
    place = skip(text, place)
    return skip(text, place + 1) if text[place] == "," else place


def lines_at(text: str, places: Iterable[int]) -> Iterator[int]:
    """The lines of places in their order, from 1. Each part of the text is looked through once."""
    line, before = 1, 0
    for place in places:
        line, before = line + text.count("\n", before, place), place
        yield line
