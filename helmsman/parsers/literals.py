"""Evaluation of literals in Python, JavaScript and Go: in place, by the name they are assigned to, or from a table of cases.

One table of node types serves all three grammars: a type that two of them share means the same in both.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tree_sitter import Node

Env = dict[str, Any]  # values of names in one row of a table of cases


class NoLiteral(ValueError):  # noqa: N818 - named after the finding, as is Late
    """The value of an expression is not known before it runs."""


class Word(Enum):
    """A JavaScript value that JSON has no literal for."""

    UNDEFINED = "undefined"
    NAN = "NaN"


BLOCKS = frozenset(["program", "statement_block", "statement_list", "module", "block"])
"""Nodes whose children run one after the other."""
DECLARATORS = {
    "variable_declarator": ("name", "value"),
    "short_var_declaration": ("left", "right"),
    "assignment": ("left", "right"),
}
"""Nodes that assign a value to a name, with the fields of both."""
MOST_ROWS = 500
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_LARGEST, _LARGEST_FLOAT = 2**53, 1e300  # above the first, JavaScript's numbers are inexact; JSON has no infinity
_SURROGATES = range(0xD800, 0xE000)  # halves of characters
_SEQUENCE_PATTERNS = frozenset(["array_pattern", "pattern_list", "tuple_pattern", "expression_list"])
_DEEPEST = 20  # maximum chain of names, and nesting of literals


def text_of(node: "Node | None") -> str:
    return node.text.decode(errors="replace") if node and node.text else ""


def raise_unknown(node: "Node") -> Any:
    raise NoLiteral(text_of(node))


def descendants(node: "Node", *kinds: str) -> Iterator["Node"]:
    """Yield the nodes of these types in a node, itself included, level by level."""
    pending = [node]
    for child in pending:
        if child.type in kinds:
            yield child
        pending += child.named_children


def _parts(node: "Node") -> list["Node"]:
    return [child for child in node.named_children if child.type != "comment"]


def value_of(node: "Node", env: Env, depth: int = 0) -> Any:
    """Return a literal's value. Raises NoLiteral."""
    read = _READERS.get(node.type)
    return read(node, env, depth + 1) if read and depth <= _DEEPEST else raise_unknown(node)


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


# --- tables of cases ------------------------------------------------------------------------------------------------


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
    """Return keys and rows of a map, or of a slice, whose elements may be structs."""
    literal = find_declared_value(node) if node.type == "identifier" else node
    kind = literal.child_by_field_name("type") if literal and literal.type == "composite_literal" else None
    body = literal.child_by_field_name("body") if literal else None
    if kind is None or body is None:
        return raise_unknown(node)
    if kind.type == "map_type":
        return [
            (value_of(key, env), value_of(value, env)) for key, value in (pair.named_children for pair in body.named_children)
        ]
    fields = [text_of(child.child_by_field_name("name")) for child in descendants(kind, "field_declaration")]
    return list(enumerate(_struct_values(row, fields, env) if fields else value_of(row, env) for row in _parts(body)))


def _struct_values(element: "Node", fields: Sequence[str], env: Env) -> Env:
    """Return values by field; those that are not literals are left out."""
    body = element.named_children[0] if element.type == "literal_element" else element
    values = _parts(body)
    keyed = [(text_of(child.named_children[0]), child.named_children[1]) for child in values if child.type == "keyed_element"]
    fields_by_name = Env()
    for name, value in keyed or list(zip(fields, values, strict=False)):
        with suppress(NoLiteral):
            fields_by_name[name] = value_of(value, env)
    return fields_by_name


def _match_pattern(pattern: "Node", value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a pattern with their values. Raises NoLiteral."""
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


# --- literals -------------------------------------------------------------------------------------------------------


def _read_number(node: "Node", _env: Env, _depth: int) -> int | float:
    text = text_of(node).replace("_", "")
    with suppress(ValueError):
        value = int(text, 0)
        return value if abs(value) <= _LARGEST else raise_unknown(node)
    with suppress(ValueError):
        value = float(text)
        return value if abs(value) < _LARGEST_FLOAT and not re.match(r"0\d", text) else raise_unknown(node)  # `010` is octal
    return raise_unknown(node)


def _read_string(node: "Node", env: Env, depth: int) -> str:
    if node.children and node.children[0].type == "string_start":
        return _read_python(node, env, depth)
    read: Mapping[str, Callable[[str], str]] = {"string_fragment": str, "escape_sequence": _unescape}
    if any(part.type not in read for part in node.named_children):
        raise_unknown(node)
    return "".join(read[part.type](text_of(part)) for part in node.named_children)


def _unescape(sequence: str) -> str:
    escape = re.fullmatch(r"\\[ux]\{?([0-9a-fA-F]{1,6})\}?", sequence)
    code = int(escape[1], 16) if escape else -1
    if code in _SURROGATES or code > 0x10FFFF:  # noqa: PLR2004 - the last character
        raise NoLiteral(sequence)
    return chr(code) if escape else _ESCAPES.get(sequence[1:], sequence[1:])


def _read_identifier(node: "Node", env: Env, depth: int) -> Any:
    text = text_of(node)
    if text in env:
        return env[text]
    declared = None if text == "NaN" else find_declared_value(node)
    return Word.NAN if text == "NaN" else value_of(declared, env, depth) if declared else raise_unknown(node)


def find_declared_value(name: "Node") -> "Node | None":
    """Return what a name is assigned in the nearest block around it."""
    node = name
    while (parent := node.parent) is not None:
        matching = [
            child
            for statement in (parent.named_children if parent.type in BLOCKS else ())
            if statement.start_byte < node.start_byte
            for child in (statement, *statement.named_children)
            if child.type in DECLARATORS and text_of(child.child_by_field_name(DECLARATORS[child.type][0])) == text_of(name)
        ]
        if matching:
            value = matching[-1].child_by_field_name(DECLARATORS[matching[-1].type][1])
            return value.named_children[0] if value and value.type == "expression_list" else value
        node = parent
    return None


def _read_pair(node: "Node", env: Env, depth: int) -> tuple[str, Any]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or key.type not in {"property_identifier", "string", "number"}:
        raise NoLiteral(text_of(node))
    return _read_string(key, env, depth) if key.type == "string" else text_of(key), value_of(value, env, depth)


def _read_inner(node: "Node", env: Env, depth: int) -> Any:
    return value_of(node.named_children[0], env, depth) if node.named_children else raise_unknown(node)


def _read_negative(node: "Node", env: Env, depth: int) -> Any:
    inner = node.named_children[0] if text_of(node).startswith("-") and node.named_children else node
    return -_read_number(inner, env, depth) if inner.type in {"number", "int_literal", "float_literal"} else raise_unknown(node)


def _read_go_field(node: "Node", env: Env, _depth: int) -> Any:
    """Evaluate a field of a row in Go."""
    head, _, field = text_of(node).partition(".")
    row = env.get(head)
    return cast("Env", row)[field] if isinstance(row, dict) and field in row else raise_unknown(node)


def _read_json(node: "Node", _env: Env, _depth: int) -> Any:
    """Evaluate a string that Go and JSON write alike."""
    try:
        return json.loads(text_of(node))
    except ValueError:
        return raise_unknown(node)


def _read_python(node: "Node", env: Env, depth: int) -> Any:
    """Evaluate with Python's own parser, after replacing names by their values."""
    text = node.text or b""
    for name in sorted(descendants(node, "identifier"), key=lambda name: -name.start_byte):
        value = repr(value_of(name, env, depth)).encode()
        text = text[: name.start_byte - node.start_byte] + value + text[name.end_byte - node.start_byte :]
    try:
        return ast.literal_eval(text.decode(errors="replace"))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return raise_unknown(node)


_MATCHERS: Mapping[str, Any] = {"toBeNull": None, "toBeUndefined": Word.UNDEFINED, "toBeNaN": Word.NAN}
_READERS: Mapping[str, Callable[["Node", Env, int], Any]] = {
    **dict.fromkeys(("number", "int_literal", "float_literal"), _read_number),
    **dict.fromkeys(("string", "template_string"), _read_string),
    **dict.fromkeys(("null", "nil", "none"), lambda _node, _env, _depth: None),
    **dict.fromkeys(("parenthesized_expression", "as_expression", "satisfies_expression", "literal_element"), _read_inner),
    **dict.fromkeys(
        ("integer", "float", "concatenated_string", "list", "tuple", "set", "dictionary", "unary_operator"), _read_python
    ),
    "true": lambda _node, _env, _depth: True,
    "false": lambda _node, _env, _depth: False,
    "undefined": lambda _node, _env, _depth: Word.UNDEFINED,
    "property_identifier": lambda node, _, __: _MATCHERS[text_of(node)] if text_of(node) in _MATCHERS else raise_unknown(node),
    "string_fragment": lambda node, _env, _depth: text_of(node),
    "interpreted_string_literal": _read_json,
    "raw_string_literal": lambda node, _env, _depth: text_of(node).strip("`"),
    "identifier": _read_identifier,
    "selector_expression": _read_go_field,
    "array": lambda node, env, depth: [value_of(part, env, depth) for part in _parts(node)],
    "object": lambda node, env, depth: dict(_read_pair(part, env, depth) for part in _parts(node)),
    "unary_expression": _read_negative,
}
