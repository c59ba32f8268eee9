"""Small questions about Python syntax trees."""

import ast
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, cast

Located = ast.expr | ast.stmt


class Source:
    """Text by the positions that `ast` gives, which count bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    def of(self, node: Located) -> str:
        return self.between(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)

    def between(self, first: int, column: int, last: int, end: int) -> str:
        if first == last:
            return _cut(self.lines[first - 1], column, end)
        lines = self.lines[first - 1 : last]
        lines[-1] = _cut(lines[-1], 0, end)
        lines[0] = _cut(lines[0], column, None)
        return "\n".join(lines)


def _cut(line: str, start: int, end: int | None) -> str:
    return line[start:end] if line.isascii() else line.encode()[start:end].decode(errors="replace")


def last_name(node: ast.expr) -> str:
    """`raises` of `pytest.raises(ValueError)`, with or without the call."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr) -> str:
    """`pytest.mark.skip`, of a call what is called; empty for what is no chain of names."""
    names: list[str] = []
    node = node.func if isinstance(node, ast.Call) else node
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    return next((item.value for item in call.keywords if item.arg in names), None)


def number(node: ast.expr | None) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return _finite(node.value)
    return None


def _finite(value: float) -> float:
    """An integer may have more digits than a float can hold."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def truth(node: ast.expr) -> bool | None:
    """Whether an expression is true whatever happens, false whatever happens, or neither is known."""
    reader = _TRUTHS.get(type(node))
    return reader(node) if reader else None


def _constant(node: ast.expr) -> bool | None:
    return bool(node.value) if isinstance(node, ast.Constant) else None


def _collection(node: ast.expr) -> bool | None:
    return bool(node.elts) if isinstance(node, ast.Tuple | ast.List | ast.Set) else None


def _negation(node: ast.expr) -> bool | None:
    inner = truth(node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None
    return None if inner is None else not inner


def _several(node: ast.expr) -> bool | None:
    """`or True` decides an `or`, `and False` an `and`."""
    if not isinstance(node, ast.BoolOp):
        return None
    deciding = isinstance(node.op, ast.Or)
    found = {truth(value) for value in node.values}
    return deciding if deciding in found else (None if None in found else not deciding)


def _comparison(node: ast.expr) -> bool | None:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    if dotted(left) == "sys.version_info" or (isinstance(left, ast.Subscript) and dotted(left.value) == "sys.version_info"):
        return _version(operator, right)
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return _constants(operator, left.value == right.value)
    if last_name(left) == "len" and isinstance(operator, ast.GtE) and number(right) == 0:
        return True
    return True if isinstance(operator, ast.Eq | ast.Is) and _is_still(left) and same(left, right) else None


def same(one: Any, other: Any) -> bool:
    """Whether two trees say the same. Written out they would not do: Python writes no number of more than 4,300 digits.

    Without recursion: a sum of some hundred terms is a tree as deep as it is long.
    """
    pending: list[tuple[Any, Any]] = [(one, other)]
    while pending:
        left, right = pending.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, ast.AST):
            pending += ((getattr(left, name, None), getattr(right, name, None)) for name in left._fields)
        elif isinstance(left, list):
            pending += zip_longest(cast("list[Any]", left), cast("list[Any]", right))
        elif left != right:
            return False
    return True


def _constants(operator: ast.cmpop, equal: bool) -> bool | None:
    if isinstance(operator, ast.Eq | ast.Is):
        return equal
    return not equal if isinstance(operator, ast.NotEq | ast.IsNot) else None


def _is_still(node: ast.expr) -> bool:
    """Whether it calls nothing: two calls may give two values."""
    return not any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(node))


_OLDEST = (3, 8)
"""The last Python that nobody maintains and that some still run; older ones are never met."""
_NEXT = (4,)


def _version(operator: ast.cmpop, wanted: ast.expr) -> bool | None:
    parts = wanted.elts if isinstance(wanted, ast.Tuple) else [wanted]
    version = tuple(int(value) for part in parts[:2] if (value := number(part)) is not None and abs(value) < 1000)  # noqa: PLR2004 (no version is that high)
    if not version or len(version) != len(parts[:2]):
        return None
    if isinstance(operator, ast.Gt | ast.GtE) and version <= _OLDEST:
        return True
    return True if isinstance(operator, ast.Lt | ast.LtE) and version >= _NEXT else None


def _call(node: ast.expr) -> bool | None:
    is_anything = last_name(node) == "isinstance" and isinstance(node, ast.Call) and "object" in map(last_name, node.args[1:])
    return True if is_anything else None


_TRUTHS: dict[type[ast.expr], Callable[[ast.expr], bool | None]] = {
    ast.Constant: _constant,
    ast.Tuple: _collection,
    ast.List: _collection,
    ast.Set: _collection,
    ast.UnaryOp: _negation,
    ast.BoolOp: _several,
    ast.Compare: _comparison,
    ast.Call: _call,
    ast.Lambda: lambda _: True,
    ast.GeneratorExp: lambda _: True,
}
