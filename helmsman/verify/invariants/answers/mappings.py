"""Where source maps single inputs to single outputs: branches, tables, and functions that are one constant."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from helmsman.verify.invariants.answers.literals import literal
from helmsman.verify.invariants.reading.python_code import (
    Function,
    Part,
    body_without_docstring,
    dotted,
    functions,
    last_name,
    parameters,
)

Pair = tuple[tuple[str, ...], str]
"""Inputs, as far as they are compared, and output."""


class Kind(StrEnum):
    BRANCH = "branch"
    TABLE = "table"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Mapped:
    """What a function, or a table outside of functions, maps."""

    kind: Kind
    function: str
    """Empty for a table at the top of a module."""
    pairs: tuple[Pair, ...]
    line: int = field(compare=False)
    general: bool = field(default=False, compare=False)
    """Whether the function also computes."""
    inherited: bool = field(default=False, compare=False)
    """Whether it may override, or be there to be overridden."""
    measures: bool = field(default=False, compare=False)
    """Whether the function otherwise answers with a length."""


def python_mappings(part: Part, lines: frozenset[int] | None = None) -> Iterator[Mapped]:
    """Branches of one function together, each table and each constant by itself.

    With `lines`, of the file, only functions and tables that one of them is in; constants are always given.
    """
    for function, owner, _ in functions(part.tree):
        constant = _constant(function, part, owner)
        if constant is not None:
            yield constant
        elif _touches(function, part, lines):
            yield from _branches_and_tables(function, function.name, part)
    for statement in part.tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None and _touches(statement, part, lines):
            yield from _of_value(statement, statement.value, part)


def _of_value(statement: ast.Assign | ast.AnnAssign, value: ast.expr, part: Part) -> Iterator[Mapped]:
    """Tables at the top of a module, and `solve = lambda x: …`."""
    if isinstance(value, ast.Lambda):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        result = literal(value.body)
        if result is not None and value.args.args:
            yield Mapped(Kind.CONSTANT, last_name(target), (((), result),), part.line(statement))
        yield from _branches_and_tables(value, last_name(target), part)
    elif isinstance(value, ast.Dict):
        yield from _table(value, "", part, general=False)


def _touches(node: ast.stmt, part: Part, lines: frozenset[int] | None) -> bool:
    return lines is None or not lines.isdisjoint(part.lines(node))


def _constant(function: Function, part: Part, owner: ast.ClassDef | None) -> Mapped | None:
    body = body_without_docstring(function)
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not parameters(function):
        return None
    result = literal(body[0].value)
    inherited = owner is not None and bool(owner.bases)
    return Mapped(Kind.CONSTANT, function.name, (((), result),), part.line(function), inherited=inherited) if result else None


def _branches_and_tables(node: Function | ast.Lambda, name: str, part: Part) -> Iterator[Mapped]:
    nodes = list(ast.walk(node))
    general = any(_computes(inner) for inner in nodes)
    branches = [(pair, inner) for inner in nodes for pair in _branch(inner)]
    if branches:
        pairs = tuple(dict.fromkeys(pair for pair, _ in branches))
        line = part.first + min(getattr(inner, "lineno", node.lineno) for _, inner in branches)
        yield Mapped(Kind.BRANCH, name, pairs, line, general, measures=any(_measures(inner) for inner in nodes))
    for inner in nodes:
        if isinstance(inner, ast.Dict):
            yield from _table(inner, name, part, general=general)
        elif isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.List) and isinstance(inner.slice, ast.Name):
            values = [literal(item) for item in inner.value.elts[:200]]
            pairs = tuple(((str(index),), value) for index, value in enumerate(values) if value is not None and value != "None")
            if pairs:
                yield Mapped(Kind.TABLE, name, pairs, part.line(inner), general)


def _measures(node: ast.AST) -> bool:
    """`return len(word)`."""
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and dotted(node.value.func) == "len"


def _table(node: ast.Dict, function: str, part: Part, *, general: bool) -> Iterator[Mapped]:
    pairs = [(_key(key), literal(value)) for key, value in zip(node.keys, node.values, strict=True)]
    full = tuple((key, value) for key, value in pairs if key is not None and value is not None)
    if full and len(full) == len(pairs):
        yield Mapped(Kind.TABLE, function, full, part.line(node), general)


def _key(node: ast.expr | None) -> tuple[str, ...] | None:
    """A tuple stands for several inputs."""
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    spelled = [literal(item) for item in items]
    return None if None in spelled else tuple(one for one in spelled if one is not None)


def _computes(node: ast.AST) -> bool:
    """Whether anything but equality with literals is looked at or returned."""
    if isinstance(
        node, ast.For | ast.While | ast.comprehension | ast.Yield | ast.YieldFrom | ast.BinOp | ast.AugAssign | ast.JoinedStr
    ):
        return True
    if isinstance(node, ast.Compare):
        return not all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In) for op in node.ops)
    return isinstance(node, ast.Call) and last_name(node.func) not in {
        "get",
        "print",
        "str",
        "tuple",
        "ValueError",
        "KeyError",
        "NotImplementedError",
    }


def _branch(node: ast.AST) -> Iterator[Pair]:
    if isinstance(node, ast.If):
        output = _outcome(node.body)
        yield from ((inputs, output) for inputs in _conditions(node.test) if output is not None)
    elif isinstance(node, ast.IfExp) and (output := literal(node.body)) is not None:
        yield from ((inputs, output) for inputs in _conditions(node.test))
    elif isinstance(node, ast.Match):
        for case in node.cases:
            output = _outcome(case.body)
            yield from ((inputs, output) for inputs in _patterns(case.pattern) if output is not None)


def _outcome(body: list[ast.stmt]) -> str | None:
    """The literal that a branch returns or assigns, where it does nothing else."""
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Assign):
        return None
    return literal(body[0].value)


def _conditions(test: ast.expr) -> list[tuple[str, ...]]:
    """Inputs for which a condition holds: `a == 2 and b == 3`, `(a, b) == (2, 3)`, `x in (2, 3)`, `x == 2 or x == 3`."""
    if isinstance(test, ast.BoolOp):
        parts = [_conditions(value) if not isinstance(value, ast.BoolOp) else [] for value in test.values]
        if isinstance(test.op, ast.Or):
            return [inputs for part in parts for inputs in part]
        return [tuple(one for part in parts for one in part[0])] if all(len(part) == 1 for part in parts) else []
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return []
    left, right = test.left, test.comparators[0]
    if isinstance(test.ops[0], ast.Eq | ast.Is):
        name, value = (right, left) if literal(left) is not None else (left, right)
        key = _key(value)
        return [key] if key is not None and _is_input(name) else []
    if isinstance(test.ops[0], ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set) and _is_input(left):
        return [key for item in right.elts[:200] if (key := _key(item)) is not None]
    return []


def _is_input(node: ast.expr) -> bool:
    """A name, names in brackets, or a name that is converted."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(isinstance(item, ast.Name) for item in node.elts)
    if isinstance(node, ast.Call):
        return last_name(node.func) in {"str", "int", "tuple", "list", "float", "lower", "strip", "upper"}
    return isinstance(node, ast.Name)


def _patterns(pattern: ast.pattern) -> Iterator[tuple[str, ...]]:
    alternatives = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    for one in alternatives:
        parts = one.patterns if isinstance(one, ast.MatchSequence) else [one]
        values = [_pattern_value(part) for part in parts]
        if values and None not in values:
            yield tuple(value for value in values if value is not None)


def _pattern_value(pattern: ast.pattern) -> str | None:
    if isinstance(pattern, ast.MatchSingleton):
        return repr(pattern.value)
    return literal(pattern.value) if isinstance(pattern, ast.MatchValue) else None
