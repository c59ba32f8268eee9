"""Expressions and functions of Python whose truth is known without running them."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

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
    return any(map(_leaves, body))


def _leaves(node: ast.stmt) -> bool:
    while isinstance(node, ast.If) and len(node.orelse) == 1:  # an `elif` is as deep in the tree as there are above it
        known = truth(node.test)
        if known is not None or not _ends(node.body):
            return known is not None and _ends(node.body if known else node.orelse)
        node = node.orelse[0]
    reader = _LEAVING.get(type(node))
    return reader is not None and reader(node)


def _if_leaves(node: ast.If) -> bool:
    known = truth(node.test)
    return (known is False or _ends(node.body)) and (known is True or _ends(node.orelse))


def _try_leaves(node: ast.Try | ast.TryStar) -> bool:
    tried = _ends(node.body) or _ends(node.orelse)
    return _ends(node.finalbody) or (tried and all(_ends(one.body) for one in node.handlers))


def _loop_leaves(node: ast.While | ast.For) -> bool:
    """What nothing breaks off goes on for ever or into its `else`."""
    endless = isinstance(node, ast.While) and truth(node.test) is True
    return (endless or _ends(node.orelse)) and not _breaks(node)


def _breaks(loop: ast.While | ast.For) -> bool:
    """Whether a `break` in it is its own."""
    pending: list[ast.AST] = list(loop.body)
    while pending:
        one = pending.pop()
        if isinstance(one, ast.Break):
            return True
        if isinstance(one, ast.While | ast.For | ast.AsyncFor):
            pending += one.orelse
        elif not isinstance(one, Function | ast.ClassDef | ast.expr):
            pending += ast.iter_child_nodes(one)
    return False


def _match_leaves(node: ast.Match) -> bool:
    """One of its cases takes whatever comes, and all of them leave."""
    complete = any(_takes_all(one.pattern) and (one.guard is None or truth(one.guard) is True) for one in node.cases)
    return complete and all(_ends(one.body) for one in node.cases)


def _takes_all(pattern: ast.pattern) -> bool:
    """`_`, a name, `object()`; brackets, `as` and alternatives around them."""
    pending = [pattern]
    while pending:
        one = pending.pop()
        if isinstance(one, ast.MatchOr):
            pending += one.patterns
        elif isinstance(one, ast.MatchAs) and one.pattern is not None:
            pending.append(one.pattern)
        elif isinstance(one, ast.MatchAs) or (isinstance(one, ast.MatchClass) and last_name(one.cls) == "object"):
            return True
    return False


_LEAVING: dict[type[ast.stmt], Callable[[Any], bool]] = {
    ast.Return: lambda _: True,
    ast.Raise: lambda _: True,
    ast.With: lambda node: _ends(node.body),
    ast.If: _if_leaves,
    ast.Try: _try_leaves,
    ast.TryStar: _try_leaves,
    ast.While: _loop_leaves,
    ast.For: _loop_leaves,
    ast.Match: _match_leaves,
}


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
