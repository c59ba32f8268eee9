"""Counts the places where a linter, a type checker or coverage is told to look away, by the tables of the invariants."""

from collections.abc import Container

from helmsman.verify.diff import Line
from helmsman.verify.invariants.reading.kinds import language
from helmsman.verify.invariants.suppressions import muted


def suppressions_in(path: str, text: str, quoted: Container[int] = ()) -> int:
    """Lines with a suppression where its tool reads it; `quoted` are lines inside of strings, counted from 1."""
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), 1)]
    return sum(number not in quoted for number in {match.line.number for match in muted(lines, text, language(path))})
