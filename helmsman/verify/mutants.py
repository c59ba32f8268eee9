"""Small mistakes in the lines that a change brings: a test suite that is worth something notices them. Python only."""

import ast
from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.literals import text_of
from helmsman.parsers.source import matches

if TYPE_CHECKING:
    from tree_sitter import Node

_OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not",
    "is not": "is", "and": "or", "or": "and", "+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "+",
}  # fmt: skip
"""What an operator is changed into."""
_BAD = (ValueError, SyntaxError, RecursionError, MemoryError)
Z = 1.96  # of the interval that holds the true share 95 times in 100


class Mutant(NamedTuple):
    """A file with one mistake."""

    path: str
    line: int
    what: str
    text: str

    @property
    def told(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def mutants_of(path: str, text: str, lines: Sequence[int]) -> list[Mutant]:
    """One for each of these lines that has something to change, in order."""
    try:
        ast.parse(text)
    except _BAD:
        return []
    wanted, found, data = set(lines), dict[int, Mutant](), text.encode(errors="replace")
    places = [(kind, node) for match in matches(path, text, "python_mutants") for kind, (node, *_) in match.items()]
    wholes = [(node if kind == "constant" or node.parent is None else node.parent, kind, node) for kind, node in places]
    for whole, kind, node in sorted(wholes, key=lambda one: (one[0].start_byte, -one[0].end_byte)):  # the outermost first
        line = whole.start_point.row + 1
        if line in wanted and line not in found and (change := _change(kind, node)):
            what, new = change
            changed = data[: node.start_byte] + new.encode() + data[node.end_byte :]
            found[line] = Mutant(path, line, what, changed.decode())
    return [found[line] for line in sorted(found)]


def chosen(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """So many at most, spread over all of them."""
    step = max(len(mutants) / most, 1) if most else 1
    return [mutants[int(number * step)] for number in range(min(most, len(mutants)))]


def wilson(found: int, of: int) -> tuple[float, float]:
    """The interval of a share, from 0 to 1, at 95 %."""
    if not of:
        return 0.0, 1.0
    share, size = found / of, 1 + Z * Z / of
    middle, half = (share + Z * Z / (2 * of)) / size, Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of)) / size
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _change(kind: str, node: "Node") -> tuple[str, str] | None:
    """What becomes of it, in words and as a text; None for what is left alone: docstrings, and the pieces of formatted texts."""
    text = " ".join(text_of(node).split())
    if kind == "operator":
        return (f"{text} became {_OTHER[text]}", _OTHER[text]) if text in _OTHER else None
    if kind == "result":
        return ("the result became None", "None") if node.type != "none" else None
    inside = node.parent
    if inside is None or inside.type in {"expression_statement", "interpolation"}:
        return None
    try:
        old = ast.literal_eval(text_of(node))
    except _BAD:
        return None
    new = not old if isinstance(old, bool) else "" if isinstance(old, str) else old + 1 if isinstance(old, int | float) else old
    return (f"{old!r:.20} became {new!r:.20}", repr(new)) if new != old else None
