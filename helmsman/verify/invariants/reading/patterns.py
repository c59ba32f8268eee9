"""Rules that are tables: a pattern in a line of some languages, what it is called and what it weighs."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from helmsman.records.findings import Weight
from helmsman.verify.diff import Line
from helmsman.verify.invariants.reading.additions import Addition
from helmsman.verify.invariants.reading.kinds import language

_LONGEST = 2000
"""Characters of a line that are looked at; rows keep gaps short, so that no line takes long."""
_HASH = frozenset({"python", "ruby", "shell"})
_STRING = r"\"(?:\\.|[^\"\\]){0,200}+\"|'(?:\\.|[^'\\]){0,200}+'|`(?:\\.|[^`\\]){0,200}+`"
_AFTER_HASH = re.compile(rf"{_STRING}|(?P<comment>#(?!\[|!\[).*)")
_AFTER_SLASHES = re.compile(rf"{_STRING}|(?P<comment>//.*|/\*.*|^\s*\*(?:\s|/|$).*)")
_AFTER_EITHER = re.compile(rf"{_STRING}|(?P<comment>//.*|/\*.*|#(?!\[).*|^\s*\*(?:\s|/|$).*)")


@dataclass(frozen=True)
class Pattern:
    """One row of a rule's table."""

    word: str
    """A text that every match contains: only files that have it are read line by line."""
    regex: re.Pattern[str]
    weight: Weight
    what: str
    """What it is, as a finding names it."""
    languages: frozenset[str] = frozenset()
    """None given: all."""


@dataclass(frozen=True)
class Match:
    line: Line
    pattern: Pattern
    text: str
    """What was matched."""


def row(weight: Weight, word: str, regex: str, what: str, *languages: str) -> Pattern:
    return Pattern(word, re.compile(regex), weight, what, frozenset(languages))


Where = Callable[[str, str], str]
"""The part of a line of a language that is looked at: `code`, `comment`, or all of it."""


def whole(text: str, kind: str) -> str:  # noqa: ARG001 - called like the others
    return text


def matches(addition: Addition, table: Iterable[Pattern], where: Where = whole) -> Iterator[Match]:
    """For each added line the first row that matches."""
    return scan(addition.lines, addition.text, language(addition.file.path), table, where)


def scan(lines: Iterable[Line], text: str, kind: str, table: Iterable[Pattern], where: Where = whole) -> Iterator[Match]:
    """For each line the first row that matches; `text` is all of the lines, to pass over what cannot be in them."""
    rows = [row for row in table if row.word in text and (not row.languages or kind in row.languages)]
    for line in lines if rows else ():
        likely = [row for row in rows if row.word in line.text]
        searched = where(line.text, kind)[:_LONGEST] if likely else ""
        found = ((row, match) for row in likely if (match := row.regex.search(searched)))
        yield from (Match(line, row, match[0]) for row, match in islice(found, 1))


def comment_start(text: str, kind: str) -> int:
    """Where in a line its comment begins; its length where there is none."""
    finder = _AFTER_HASH if kind in _HASH else _AFTER_EITHER if kind == "php" else _AFTER_SLASHES
    for found in finder.finditer(text[:_LONGEST]):
        if found["comment"] is not None:
            return found.start()
    return len(text)


def code(text: str, kind: str) -> str:
    """A line without its comment."""
    return text[: comment_start(text, kind)]


def comment(text: str, kind: str) -> str:
    """A line's comment, with the sign that begins it; empty where there is none."""
    return text[comment_start(text, kind) :]
