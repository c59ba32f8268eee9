"""Counts the places where a linter, a type checker or coverage is told to look away, by the tables of the invariants."""

from collections.abc import Container

from helmsman.verify.diff import Line
from helmsman.verify.invariants.reading.kinds import language
from helmsman.verify.invariants.reading.patterns import comment, comment_start, scan
from helmsman.verify.invariants.suppressions import ATTRIBUTES, TABLE


def suppressions_in(path: str, text: str, quoted: Container[int] = ()) -> int:
    """Lines with a suppression where its tool reads it; `quoted` are lines inside of strings, counted from 1."""
    kind = language(path)
    lines = [Line(number, line) for number, line in enumerate(text.split("\n"), 1)]
    comments = scan(lines, text, kind, TABLE)
    attributes = scan(lines, text, kind, ATTRIBUTES)
    found = {match.line.number for match in comments if match.pattern.regex.search(comment(match.line.text, kind))}
    found.update(
        match.line.number
        for match in attributes
        if match.pattern.regex.search(match.line.text[: comment_start(match.line.text, kind)])
    )
    return sum(number not in quoted for number in found)
