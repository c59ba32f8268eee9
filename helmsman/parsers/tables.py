"""Tables of test cases: which values a name has in the rows of `parametrize`, `each` or a loop, or where it is assigned."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.case_rows import Pattern, bindings
from helmsman.parsers.literals import descendants, find_declared_value, parts_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SEQUENCES = frozenset(["list", "tuple", "set", "array", "expression_list", "literal_value"])
_PATTERNS = frozenset(["pattern_list", "tuple_pattern", "array_pattern", "expression_list", "list_pattern"])
_LITERALS = _SEQUENCES | {
    "dictionary",
    "object",
    "string",
    "integer",
    "float",
    "number",
    "interpreted_string_literal",
    "int_literal",
}
_FUNCTIONS = frozenset(["function_definition", "function_declaration", "arrow_function", "function_expression"])
_HARMLESS = re.compile(r"(?:subTest|[EF]\w*f|Log\w*|print\w*)$")
"""Calls whose arguments decide nothing."""


class Column(NamedTuple):
    """The values of a name, one for each row of its table."""

    values: tuple["Node", ...]
    known_rows: int | None
    """Number of rows, each a case of its own, if others are not known; None if these are all, or a single case has all."""


def column_of(side: "Node", unit: "Node") -> Column | None:
    """Return the values of a name, an element or a field of a row; None if they are not known, or serve as inputs too."""
    name, key = _name_and_key(side)
    if not name or not _is_only_expected(side, unit):
        return None
    node = side
    while (parent := node.parent) is not None:
        for binding in bindings(parent):
            rows = _rows_of(binding.rows)
            if rows is None or not _binds(binding.pattern, name):
                continue
            values = [_value_in(row, binding.pattern, name, key) for row in rows]
            known = tuple(value for value in values if value is not None)
            complete = len(known) == len(values)
            return Column(known, None if complete or not binding.are_cases else len(known)) if known else None
        node = parent
    declared = find_declared_value(side) if side.type == "identifier" and _is_local(side) else None
    return Column((declared,), None) if declared and declared.type in _LITERALS else None


def _name_and_key(side: "Node") -> tuple[str, str]:
    if side.type == "identifier":
        return text_of(side), ""
    base, *_ = side.named_children
    key = side.named_children[-1]
    return (text_of(base), text_of(key).strip("'\"")) if base.type == "identifier" else ("", "")


def _function_around(node: "Node") -> "Node":
    while node.parent is not None and node.type not in _FUNCTIONS:
        node = node.parent
    return node


def _is_only_expected(side: "Node", unit: "Node") -> bool:
    """Whether a value is used nowhere in its function but in assertions, and only once in this one."""
    name, text = _name_and_key(side)[0], text_of(side)
    outer, statement = _function_around(side), unit
    while statement.parent is not None and not statement.type.endswith("statement") and statement.parent.type != "block":
        statement = statement.parent
    body = outer.child_by_field_name("body") or outer
    uses = [use for use in descendants(body, side.type) if text_of(use) == text and use != side and not _is_bound(use)]
    whole = [
        use for use in descendants(body, "identifier") if side.type != "identifier" and text_of(use) == name and _is_whole(use)
    ]
    return not any(_decides(use, unit, statement) for use in (*uses, *whole))


def _is_bound(use: "Node") -> bool:
    parent, child = use.parent, use
    while parent is not None and (parent.type in _PATTERNS or parent.type == "object_pattern"):
        parent, child = parent.parent, parent
    return parent is not None and child in (parent.child_by_field_name("left"), parent.child_by_field_name("name"))


def _is_whole(use: "Node") -> bool:
    parent = use.parent
    return parent is not None and parent.named_children[0] == use and not _is_bound(use) and parent.type not in {
        "attribute", "member_expression", "selector_expression", "subscript", "subscript_expression", "range_clause"}  # fmt: skip


def _decides(use: "Node", unit: "Node", statement: "Node") -> bool:
    """Whether another use of a value may decide what is found: not in a message or a label."""
    if statement.start_byte <= use.start_byte < statement.end_byte and not unit.start_byte <= use.start_byte < unit.end_byte:
        return False
    node = use
    while (parent := node.parent) is not None:
        function = parent.child_by_field_name("function")
        if function is not None and _HARMLESS.search(text_of(function)):
            return False
        if parent.type == "assert_statement":
            return node == parent.named_children[0] and unit.start_byte <= use.start_byte < unit.end_byte
        node = parent
    return True


def _binds(pattern: Pattern, name: str) -> bool:
    if isinstance(pattern, str):
        return pattern == name
    if isinstance(pattern, Sequence):
        return any(_binds(one, name) for one in pattern)
    return any(text_of(one) == name for one in descendants(pattern, "identifier", "shorthand_property_identifier_pattern"))


def _rows_of(node: "Node") -> "list[Node] | None":
    """Return the rows of a table, in place or by name."""
    node = _plain(node)
    if node.type == "identifier":
        declared = find_declared_value(node)
        return _rows_of(declared) if declared else None
    if node.type == "call" and text_of(node.child_by_field_name("function")).endswith(".items"):
        table = node.child_by_field_name("function")
        inner = table.child_by_field_name("object") if table else None
        inner = find_declared_value(inner) if inner and inner.type == "identifier" else inner
        return [child for child in inner.named_children if child.type == "pair"] if inner and inner.type == "dictionary" else None
    if node.type == "composite_literal":
        body = node.child_by_field_name("body")
        return parts_of(body) if body else None
    return parts_of(node) if node.type in _SEQUENCES else None


def _plain(node: "Node") -> "Node":
    wrappers = {"parenthesized_expression", "as_expression", "satisfies_expression", "literal_element"}
    while (node.type in wrappers and node.named_children) or (node.type == "expression_list" and node.named_child_count == 1):
        node = node.named_children[0]
    return node


def _value_in(row: "Node", pattern: Pattern, name: str, key: str) -> "Node | None":
    """Return the part of a row that a name, or a key of it, stands for."""
    row = _plain(row)
    if row.type == "call":  # pytest.param(…)
        arguments = row.child_by_field_name("arguments")
        if arguments is None or not text_of(row.child_by_field_name("function")).endswith("param"):
            return None
        row = arguments
    if isinstance(pattern, str):
        part = _at(row, 0) if row.type == "argument_list" else row
    elif isinstance(pattern, Sequence):
        at = next(place for place, one in enumerate(pattern) if _binds(one, name))
        part, inner = row if len(pattern) == 1 and row.type != "array" else _at(row, at), pattern[at]
        if part is not None and not isinstance(inner, str):
            return _value_in(part, inner, name, key)
    else:
        part = _part_in_pattern(row, pattern, name)
    return _keyed(part, key) if part is not None else None


def _part_in_pattern(row: "Node", pattern: "Node", name: str) -> "Node | None":
    pattern = pattern.child_by_field_name("pattern") or pattern  # TypeScript's parameters may have types
    if pattern.type == "object_pattern":
        return _member(row, name)
    if pattern.type not in _PATTERNS:
        return row
    names = [text_of(child) for child in pattern.named_children]
    if pattern.parent is not None and pattern.parent.type == "range_clause":
        return _of_pair(row) if names[-1] == name else None
    return _at(row, names.index(name)) if name in names else None


def _of_pair(row: "Node") -> "Node":
    return row.named_children[1] if row.type == "keyed_element" else row


def _keyed(part: "Node", key: str) -> "Node | None":
    return part if not key else _at(part, int(key)) if key.isdigit() else _member(part, key)


def _at(row: "Node", index: int) -> "Node | None":
    parts = [child for child in row.named_children if child.type not in {"comment", "keyword_argument"}]
    is_row = row.type in _SEQUENCES or row.type in {"pair", "argument_list"}
    return parts[index] if is_row and index < len(parts) and "splat" not in parts[index].type else None


def _member(row: "Node", key: str) -> "Node | None":
    """Return the value of a key in a dictionary, object or struct."""
    for pair in (child for child in row.named_children if child.type in {"pair", "keyed_element"}):
        if text_of(pair.named_children[0]).strip("'\"") == key:
            return pair.named_children[1]
    table = row.parent
    while table is not None and table.type != "composite_literal":
        table = table.parent
    kind = table.child_by_field_name("type") if table else None
    declared = descendants(kind, "field_declaration") if kind else ()
    fields = [text_of(name) for one in declared for name in one.children_by_field_name("name")]  # several in `in, want int`
    keyed = any(child.type == "keyed_element" for child in row.named_children)
    return _at(row, fields.index(key)) if key in fields and not keyed else None


def _is_local(name: "Node") -> bool:
    """Whether a name is assigned once in its function."""
    body = _function_around(name).child_by_field_name("body")
    assigned = (
        [use for use in descendants(body, "identifier") if text_of(use) == text_of(name) and _is_bound(use)] if body else []
    )
    return len(assigned) == 1
