"""Expressions and functions of Python whose truth is known without running them."""

import ast
from collections.abc import Iterator

from helmsman.verify.cases.python_source import same
from helmsman.verify.invariants.reading.python_code import Function, last_name, parameters

_DEEPEST = 8
_SAME: dict[type[ast.cmpop], bool] = {
    ast.Eq: True,
    ast.Is: True,
    ast.LtE: True,
    ast.GtE: True,
    ast.NotEq: False,
    ast.IsNot: False,
    ast.Lt: False,
    ast.Gt: False,
}
"""What comes of comparing something with itself; only NaN is otherwise."""


def always(node: ast.FunctionDef) -> bool | None:
    """What a function returns however it ends, or None where that depends."""
    results = {truth(one.value) for one in _returns(node)}
    return results.pop() if len(results) == 1 and _ends(node.body) else None


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a block leaves the function for certain, instead of running on to a `None` at its end."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.Try):
        return _ends(last.finalbody) or (_ends(last.orelse or last.body) and all(_ends(one.body) for one in last.handlers))
    return isinstance(last, ast.Return | ast.Raise) or (isinstance(last, ast.With) and _ends(last.body))


def ignores_other(node: ast.FunctionDef) -> bool:
    """Whether an equality compares an object with itself, or never looks at the other one and may still hold."""
    if any(_compares_with_itself(one) for one in ast.walk(node)):
        return True
    given = parameters(node)
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    return len(given) == 1 and given[0].lstrip("*") not in used and any(_may_hold(one.value) for one in _returns(node))


def truth(node: ast.expr | None, depth: int = 0) -> bool | None:
    """Whether an expression always holds, never does, or None: it depends."""
    if node is None or depth > _DEEPEST:
        return None
    if isinstance(node, ast.Constant):
        return bool(node.value) if isinstance(node.value, bool | int) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(node.operand, depth + 1)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        return _of_several(node, depth)
    if isinstance(node, ast.Compare):
        return _SAME.get(type(node.ops[0])) if len(node.ops) == 1 and _same_sides(node) else None
    return True if isinstance(node, ast.Call) and _is_of_object(node) else None


def _of_several(node: ast.BoolOp, depth: int) -> bool | None:
    parts = [truth(value, depth + 1) for value in node.values]
    decisive = isinstance(node.op, ast.Or)
    return decisive if decisive in parts else None if None in parts else not decisive


def _is_of_object(node: ast.Call) -> bool:
    """`isinstance(x, object)`."""
    return last_name(node.func) == "isinstance" and len(node.args) == len("xy") and last_name(node.args[1]) == "object"


def _compares_with_itself(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq) and _same_sides(node)


def _same_sides(node: ast.Compare) -> bool:
    return same(node.left, node.comparators[0])


def _may_hold(node: ast.expr | None) -> bool:
    refused = node is None or truth(node) is False or last_name(node) == "NotImplemented"
    return not refused and not (isinstance(node, ast.Constant) and not node.value)


def _returns(node: Function) -> Iterator[ast.Return]:
    """Those of the function itself, not of what is defined in it."""
    pending: list[ast.AST] = list(node.body)
    while pending:
        one = pending.pop()
        if isinstance(one, ast.Return):
            yield one
        elif not isinstance(one, Function | ast.ClassDef | ast.Lambda):
            pending += ast.iter_child_nodes(one)
