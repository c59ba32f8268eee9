"""Small mistakes in the lines that a change brings: a test suite that is worth something notices them. Python only."""

import ast
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

_OTHER: dict[type[ast.AST], Callable[[], ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip
"""What an operator is changed into."""
_SIGNS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
    ast.Is: "is", ast.IsNot: "is not", ast.And: "and", ast.Or: "or", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
_BAD = (ValueError, SyntaxError, RecursionError, MemoryError)
Z = 1.96
"""Of the interval that holds the true share 95 times in 100."""


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
        tree = ast.parse(text)
    except _BAD:
        return []
    wanted, found = set(lines), dict[int, Mutant]()
    passed_over = _passed_over(tree)
    for place, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0)
        if line in wanted and line not in found and id(node) not in passed_over and _mutation(node):
            found[line] = _made(path, text, place, line)
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


def _passed_over(tree: ast.Module) -> set[int]:
    """Docstrings, and the pieces of formatted texts."""
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return documents | {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}


def _made(path: str, text: str, place: int, line: int) -> Mutant:
    tree = ast.parse(text)
    node = list(ast.walk(tree))[place]
    what, change = next(_mutations(node))
    change()
    return Mutant(path, line, what, ast.unparse(ast.fix_missing_locations(tree)) + "\n")


def _mutation(node: ast.AST) -> bool:
    return next(_mutations(node), None) is not None


def _mutations(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """What can be changed of a node, in words, and how."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        yield _swap(node.ops[0], lambda new: setattr(node, "ops", [new, *node.ops[1:]]))
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _OTHER:
        yield _swap(node.op, lambda new: setattr(node, "op", new))
    elif isinstance(node, ast.Return) and node.value and not _is_none(node.value):
        yield "the result became None", lambda: setattr(node, "value", ast.Constant(None))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        new = not node.value if isinstance(node.value, bool) else "" if isinstance(node.value, str) else node.value + 1
        if new != node.value:
            yield f"{node.value!r:.20} became {new!r:.20}", lambda: setattr(node, "value", new)


def _swap(old: ast.AST, put: Callable[[ast.AST], None]) -> tuple[str, Callable[[], None]]:
    new = _OTHER[type(old)]()
    return f"{_SIGNS[type(old)]} became {_SIGNS[type(new)]}", lambda: put(new)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
