"""Tables of test cases: what takes their rows, and the values that names have in each turn of a loop or parametrized test."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from helmsman.parsers.literals import Env, NoLiteral, Word, parts_of, raise_unknown, text_of, value_of

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_ROWS = 500
_SEQUENCE_PATTERNS = frozenset(["array_pattern", "pattern_list", "tuple_pattern", "expression_list"])


Pattern: TypeAlias = "Node | str | Sequence[Node | str]"
"""What takes a row: a pattern of the language, a name, or several of these, each a part of the row."""


class Binding(NamedTuple):
    """What takes the rows of a table, one after the other."""

    pattern: "Pattern"
    rows: "Node"
    are_cases: bool = False  # for a test runner


def bindings(node: "Node") -> list[Binding]:
    """Return what a loop, the decorators of a function or a callback bind."""
    if node.type in {"for_statement", "for_in_statement"}:
        clause = next((child for child in node.named_children if child.type == "range_clause"), node)
        left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
        return [Binding(left, right)] if left is not None and right is not None else []
    if node.type == "decorated_definition":
        return list(_parametrized(node))
    return list(_callback(node)) if node.type in {"arrow_function", "function_expression"} else []


def _parametrized(node: "Node") -> Iterator[Binding]:
    for call in _decorators(node):
        arguments = call.child_by_field_name("arguments")
        given = parts_of(arguments) if arguments else []
        if _is_mark(call) and len(given) > 1 and (names := re.findall(r"\w+", text_of(given[0]))):
            yield Binding(names if len(names) > 1 else names[0], given[1], are_cases=True)


def _decorators(node: "Node") -> list["Node"]:
    return [child.named_children[0] for child in node.named_children if child.type == "decorator"]


def _is_mark(call: "Node") -> bool:
    return text_of(call.child_by_field_name("function")).endswith("parametrize")


def _callback(node: "Node") -> Iterator[Binding]:
    """Yield what a JavaScript callback of `forEach` binds, or of `each`, which spreads a row over its parameters."""
    call = node.parent.parent if node.parent else None
    callee = call.child_by_field_name("function") if call and call.type == "call_expression" else None
    params = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    names = params.named_children if params and params.type == "formal_parameters" else [params] if params else []
    if callee is None or not names:
        return
    table, each = callee.child_by_field_name("object"), callee.child_by_field_name("arguments")
    if table and text_of(callee.child_by_field_name("property")) == "forEach":
        yield Binding(names[0], table)
    elif each and each.named_children and text_of(callee.child_by_field_name("function")).endswith(".each"):
        yield Binding(names, each.named_children[0], are_cases=True)


def rows_around(node: "Node") -> Sequence[Env]:
    """Return the values of names in each turn of the loops and tables around a node; empty if unknown."""
    ancestors, parent = list["Node"](), node.parent
    while parent is not None:
        ancestors.append(parent)
        parent = parent.parent
    rows = [Env()]
    for ancestor in reversed(ancestors):
        rows = [{**env, **turn} for env in rows for turn in _turns(ancestor, env)][:MOST_ROWS]
    return rows


def _turns(node: "Node", env: Env) -> Iterator[Env]:
    """Yield the names that a node binds, for each of its turns: one without names if it binds none, none if they are unknown."""
    found, decorators = bindings(node), _decorators(node) if node.type == "decorated_definition" else []
    if len(found) > 1 or any(not _is_mark(call) and not text_of(call).startswith("pytest.mark.") for call in decorators):
        return
    if not found:
        yield {}
    for pattern, table, _ in found:
        with suppress(NoLiteral):
            for row in _rows(table, env):
                with suppress(NoLiteral):
                    yield dict(_match_pattern(pattern, row))


def _rows(table: "Node", env: Env) -> Iterator[Any]:
    """Yield the rows of a table. Those of `parametrize` may be `pytest.param(…)`, and are skipped if they are not literals."""
    of_mark = table.parent and table.parent.parent and table.parent.parent.parent
    if table.parent and table.parent.type == "range_clause":  # in Go, keys and rows
        value = value_of(table, env)
        yield from cast("Env", value).items() if isinstance(value, dict) else enumerate(_elements(value))
    elif not (of_mark and of_mark.type == "decorator" and table.type in {"list", "tuple"}):
        yield from _elements(value_of(table, env))
    else:
        for row in parts_of(table):
            arguments = row.child_by_field_name("arguments") if row.type == "call" else None
            with suppress(NoLiteral):
                if arguments is None:
                    yield value_of(row, env)
                    continue
                values = [value_of(argument, env) for argument in parts_of(arguments) if argument.type != "keyword_argument"]
                yield values[0] if len(values) == 1 else values


def _match_pattern(pattern: Pattern, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a pattern with their values. Raises NoLiteral."""
    if isinstance(pattern, str):
        yield pattern, value
    elif isinstance(pattern, Sequence):
        parts = _elements(value) if isinstance(value, list | tuple) else [value]
        if isinstance(pattern[0], str) and len(parts) != len(pattern):
            raise NoLiteral
        for inner, part in zip(pattern, parts, strict=False):
            yield from _match_pattern(inner, part)
    else:
        yield from _match_node(pattern, value)


def _match_node(pattern: "Node", value: Any) -> Iterator[tuple[str, Any]]:
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
