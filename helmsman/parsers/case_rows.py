"""Rows of a table of test cases: the values that names have in each turn of a loop or parametrized test."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from helmsman.parsers.literals import Env, NoLiteral, Word, raise_unknown, text_of, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_ROWS = 500
_SEQUENCE_PATTERNS = frozenset(["array_pattern", "pattern_list", "tuple_pattern", "expression_list"])


def rows_around(node: "Node") -> Sequence[Env]:
    """Return the values of names in each turn of the loops and tables around a node; empty if unknown."""
    ancestors, parent = list["Node"](), node.parent
    while parent is not None:
        ancestors.append(parent)
        parent = parent.parent
    rows = [Env()]
    for ancestor in reversed(ancestors):
        if bind := _BINDERS.get(ancestor.type):
            rows = [{**env, **row} for env in rows for row in bind(ancestor, env)][:MOST_ROWS]
    return rows


def _bind_loop_target(node: "Node", env: Env) -> Iterator[Env]:
    """Yield the names bound by a loop over a table (in Go, over pairs of key and row); other loops bind none that is known."""
    clause = next((child for child in node.named_children if child.type == "range_clause"), node)
    left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
    if left is None or right is None:
        yield {}
        return
    with suppress(NoLiteral):
        for row in _elements(value_of(right, env)) if clause is node else _go_range_pairs(right, env):
            yield dict(_match_pattern(left, row))


def _bind_callback(node: "Node", env: Env) -> Iterator[Env]:
    """Yield the names bound by a JavaScript callback of `forEach`, or of `each`, which spreads a row over its parameters."""
    call = node.parent.parent if node.parent else None
    callee = call.child_by_field_name("function") if call and call.type == "call_expression" else None
    params = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    names = params.named_children if params and params.type == "formal_parameters" else [params] if params else []
    each = callee.child_by_field_name("arguments") if callee and callee.type == "call_expression" else None
    if callee and callee.type == "member_expression" and text_of(callee.child_by_field_name("property")) == "forEach":
        table, names, each = callee.child_by_field_name("object"), names[:1], None
    elif callee and each and each.named_children and text_of(callee.child_by_field_name("function")).endswith(".each"):
        table = each.named_children[0]
    else:
        table = None
    if table is None:
        yield {}
        return
    with suppress(NoLiteral):
        for row in _elements(value_of(table, env)):
            values = cast("list[Any]", row) if each and isinstance(row, list) else [row]
            pairs = zip(names, values, strict=False)
            yield {name: value for pattern, part in pairs for name, value in _match_pattern(pattern, part)}


def _bind_parametrized(node: "Node", env: Env) -> Iterator[Env]:
    """Yield the arguments of a Python function under `parametrize`; unknown under two of these or another decorator."""
    calls = [child.named_children[0] for child in node.named_children if child.type == "decorator"]
    marks = [call for call in calls if text_of(call.child_by_field_name("function")).endswith("parametrize")]
    others = [call for call in calls if call not in marks and not text_of(call).startswith("pytest.mark.")]
    if not marks and not others:
        yield {}
    if len(marks) != 1 or others:
        return
    arguments = marks[0].child_by_field_name("arguments")
    with suppress(NoLiteral, ValueError):
        argnames, rows, *_ = arguments.named_children if arguments else []
        names = value_of(argnames, env)
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        for row in _rows_of_mark(rows, env):
            with suppress(ValueError):  # rows of another length
                yield {names[0]: row} if len(names) == 1 else dict(zip(names, row, strict=True))


def _rows_of_mark(rows: "Node", env: Env) -> Iterator[Any]:
    """Yield the rows, which may be `pytest.param(…)`; skip those that are not literals."""
    if rows.type not in {"list", "tuple"}:
        yield from _elements(value_of(rows, env))
        return
    for row in rows.named_children:
        with suppress(NoLiteral):
            if row.type != "call":
                yield value_of(row, env)
            elif arguments := row.child_by_field_name("arguments"):
                values = [value_of(argument, env) for argument in arguments.named_children if argument.type != "keyword_argument"]
                yield values[0] if len(values) == 1 else values


def _go_range_pairs(node: "Node", env: Env) -> list[tuple[Any, Any]]:
    """Return keys and rows of a map, or of a slice."""
    table = value_of(node, env)
    return list(cast("Env", table).items() if isinstance(table, dict) else enumerate(_elements(table)))


def _match_pattern(pattern: "Node", value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a pattern with their values. Raises NoLiteral."""
    pattern = pattern.child_by_field_name("pattern") or pattern  # TypeScript's parameters may have types
    if pattern.type in {"identifier", "shorthand_property_identifier_pattern"}:
        yield text_of(pattern), value
    elif pattern.type in _SEQUENCE_PATTERNS and isinstance(value, list | tuple):
        for inner, part in zip(pattern.named_children, _elements(value), strict=False):
            yield from _match_pattern(inner, part)
    elif pattern.type == "object_pattern" and isinstance(value, dict):
        for inner in pattern.named_children:
            key = text_of(inner.child_by_field_name("key") or inner)
            yield from _match_pattern(inner.child_by_field_name("value") or inner, cast("Env", value).get(key, Word.UNDEFINED))
    else:
        raise_unknown(pattern)


def _elements(value: Any) -> list[Any]:
    return list(cast("Iterable[Any]", value)) if isinstance(value, list | tuple | set | dict | str) else []


_BINDERS: Mapping[str, Callable[["Node", Env], Iterator[Env]]] = {
    "for_in_statement": _bind_loop_target,
    "for_statement": _bind_loop_target,
    "arrow_function": _bind_callback,
    "function_expression": _bind_callback,
    "decorated_definition": _bind_parametrized,
}
