"""Where things stand in a TOML text: headings of tables and the keys below them, with their places. Strings are stepped over.

The standard library reads TOML and does not say where a value stands; a tick has to change one word and nothing else.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\[\]\r\n]*?)[ \t]*\]\]?")
_KEY = re.compile(r"[ \t]*((?:[A-Za-z0-9_-]+|\"[^\"\r\n]*\"|'[^'\r\n]*')(?:[ \t]*\.[ \t]*(?:[A-Za-z0-9_-]+))*)[ \t]*=[ \t]*")
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\r\n]|\\.)*"'
    r"|'[^'\r\n]*'"
    r"|#[^\r\n]*"
    r"|[\[\]{}]"
    r"|\r?\n"
    r"|[^\"'#\[\]{}\r\n]+",
    re.DOTALL,
)


class Entry(NamedTuple):
    """A key with its value, or a heading where `value` is empty."""

    table: str
    """The heading that it stands below; of a heading itself, with its brackets."""
    key: str
    start: int
    value_start: int
    value_end: int
    line: int


def entries(text: str) -> Iterator[Entry]:
    """Everything that stands at the beginning of a line outside of values. The text is valid TOML."""
    place, table, line = 0, "", 1
    while place < len(text):
        if heading := _HEADING.match(text, place):
            table = heading[1] + heading[2].strip("\"'")
            yield Entry(table, "", place, heading.end(), heading.end(), line)
            end = _line_end(text, heading.end())
        elif key := _KEY.match(text, place):
            value_end, end = _value(text, key.end())
            yield Entry(table, key[1].strip("\"'"), place, key.end(), value_end, line)
        else:
            end = _line_end(text, place)
        line += text.count("\n", place, end)
        place = end


def _line_end(text: str, place: int) -> int:
    """Right after the next line feed."""
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


def _value(text: str, place: int) -> tuple[int, int]:
    """Where a value ends without blanks and comment, and where its last line does."""
    depth, last = 0, place
    while place < len(text):
        piece = _PIECE.match(text, place)
        if piece is None:
            return last, _line_end(text, place)
        place, found = piece.end(), piece[0]
        if found in {"[", "{"}:
            depth += 1
        elif found in {"]", "}"}:
            depth -= 1
        if found.endswith("\n") and found.strip("\r\n") == "" and depth == 0:
            return last, place
        if found.strip() and not found.startswith("#"):
            last = piece.start() + len(found.rstrip())
    return last, place
