"""Evaluation of literals in Python, JavaScript and Go: in place, or by the name they are assigned to.

One table of node types serves all three grammars: a type that two of them share means the same in both.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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


BLOCKS = frozenset(["program", "statement_block", "statement_list", "module", "block", "source_file"])
"""Nodes whose children run one after the other."""
DECLARATORS = {
    **dict.fromkeys(("variable_declarator", "var_spec", "const_spec"), ("name", "value")),
    **dict.fromkeys(("short_var_declaration", "assignment"), ("left", "right")),
}
"""Nodes that assign values to names, with the fields of both."""
_GO_ZEROS = {"string": "", "bool": False, **dict.fromkeys(("int", "int64", "uint", "float64", "byte", "rune"), 0)}
_GO_TYPES_WITH_NIL = frozenset(["slice_type", "map_type", "pointer_type", "interface_type", "function_type"])
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_LARGEST, _LARGEST_FLOAT = 2**53, 1e300  # above the first, JavaScript's numbers are inexact; JSON has no infinity
_SURROGATES = range(0xD800, 0xE000)  # halves of characters
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


def parts_of(node: "Node") -> list["Node"]:
    return [child for child in node.named_children if child.type != "comment"]


def assigned_pairs(declarator: "Node") -> Iterator[tuple["Node", "Node"]]:
    """Yield names with what a declarator assigns to them: `a, b := 1, f()`. One value for several names goes to the first."""
    name, value = (declarator.child_by_field_name(field) for field in DECLARATORS[declarator.type])
    if name and value:
        yield from zip(_listed(name), _listed(value), strict=False)


def _listed(node: "Node") -> Sequence["Node"]:
    return node.named_children if node.type == "expression_list" else [node]


def value_of(node: "Node", env: Env, depth: int = 0) -> Any:
    """Return a literal's value. Raises NoLiteral."""
    read = _READERS.get(node.type)
    return read(node, env, depth + 1) if read and depth <= _DEEPEST else raise_unknown(node)


def _read_number(node: "Node", _env: Env, _depth: int) -> int | float:
    text = text_of(node).replace("_", "")
    try:
        value: int | float = int(text, 0)
        is_exact = abs(value) <= _LARGEST
    except ValueError:
        value = _read_float(text)
        is_exact = abs(value) < _LARGEST_FLOAT and not re.match(r"0\d", text)  # `010` is octal
    return value if is_exact else raise_unknown(node)


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf


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
            value
            for statement in (parent.named_children if parent.type in BLOCKS or parent.type == "if_statement" else ())
            if statement.start_byte < node.start_byte
            for child in (statement, *statement.named_children)
            if child.type in DECLARATORS
            for assigned, value in assigned_pairs(child)
            if text_of(assigned) == text_of(name)
        ]
        if matching:
            return matching[-1]
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


def _read_go_field(node: "Node", env: Env, depth: int) -> Any:
    """Evaluate a field of a struct in Go."""
    operand, field = node.child_by_field_name("operand"), text_of(node.child_by_field_name("field"))
    struct = value_of(operand, env, depth) if operand else None
    return cast("Env", struct)[field] if isinstance(struct, dict) and field in struct else raise_unknown(node)


def _read_element(node: "Node", env: Env, depth: int) -> Any:
    """Evaluate `row[0]` or `row["name"]`."""
    row, key = (value_of(part, env, depth) for part in parts_of(node)[:2])
    is_from_end = isinstance(key, int) and key < 0  # only in Python
    with suppress(LookupError, TypeError):
        return raise_unknown(node) if isinstance(row, str) or is_from_end else row[key]
    return raise_unknown(node)


def _read_entries(node: "Node", env: Env, depth: int) -> Any:
    """Evaluate `table.items()` in Python, or `Object.entries(table)` in JavaScript."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    name, given = text_of(function), parts_of(arguments) if arguments else []
    if name == "Object.entries":
        table = given[0] if given else None
    else:
        table = function.child_by_field_name("object") if function and name.endswith(".items") and not given else None
    value = value_of(table, env, depth) if table else None
    return [[*pair] for pair in cast("Env", value).items()] if isinstance(value, dict) else raise_unknown(node)


def _read_member(node: "Node", env: Env, depth: int) -> Any:
    """Evaluate `row.name` in JavaScript."""
    row, name = node.child_by_field_name("object"), text_of(node.child_by_field_name("property"))
    value = value_of(row, env, depth) if row else None
    return cast("Env", value).get(name, Word.UNDEFINED) if isinstance(value, dict) else raise_unknown(node)


def _read_go_composite(node: "Node", env: Env, depth: int) -> Any:
    kind, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    return _go_typed(body, kind, env, depth) if kind and body else raise_unknown(node)


def _go_typed(node: "Node", kind: "Node", env: Env, depth: int) -> Any:
    """Evaluate a Go literal, whose type may be left out as that of an element. A struct is a dictionary of its known fields."""
    if node.type == "literal_element":
        node = node.named_children[0]
    if node.type != "literal_value" or depth > _DEEPEST:
        return value_of(node, env, depth)
    kind = _go_definition(kind)
    elements, pairs = parts_of(node), [child.named_children for child in node.named_children if child.type == "keyed_element"]
    if kind.type == "map_type":
        key, value = kind.child_by_field_name("key") or kind, kind.child_by_field_name("value") or kind
        return {_go_typed(one, key, env, depth + 1): _go_typed(other, value, env, depth + 1) for one, other in pairs}
    if element := kind.child_by_field_name("element"):
        return [_go_typed(one, element, env, depth + 1) for one in elements] if not pairs else raise_unknown(node)
    fields = {
        text_of(name): type_
        for declared in descendants(kind, "field_declaration")
        if (type_ := declared.child_by_field_name("type"))
        for name in declared.children_by_field_name("name")
    }
    if not fields and len(pairs) != len(elements):
        return raise_unknown(node)
    if not fields and any(name.named_children[0].type != "identifier" for name, _ in pairs):  # a map whose type the source has
        return {value_of(name, env, depth): value_of(value, env, depth) for name, value in pairs}
    struct = {name: zero for name, one in fields.items() for zero in _go_zero(one)}
    for name, value in [(text_of(one), two) for one, two in pairs] or list(zip(fields, elements, strict=False)):
        struct.pop(name, None)
        with suppress(NoLiteral):
            struct[name] = _go_typed(value, fields.get(name, kind), env, depth + 1)
    return struct


def _go_definition(kind: "Node") -> "Node":
    """Return the definition of a type that is named, or pointed to, if this file has it."""
    if kind.type == "pointer_type":
        return _go_definition(kind.named_children[0])
    root = kind
    while root.parent is not None:
        root = root.parent
    named = descendants(root, "type_spec") if kind.type == "type_identifier" else ()
    specs = (spec for spec in named if text_of(spec.child_by_field_name("name")) == text_of(kind))
    return next((definition for spec in specs if (definition := spec.child_by_field_name("type"))), kind)


def _go_zero(kind: "Node") -> Sequence[Any]:
    """Return the value of a field that is left out, if it is known."""
    if kind.type in _GO_TYPES_WITH_NIL or text_of(kind) == "error":
        return (None,)
    return (_GO_ZEROS[text_of(kind)],) if text_of(kind) in _GO_ZEROS else ()


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
    "composite_literal": _read_go_composite,
    **dict.fromkeys(("index_expression", "subscript_expression", "subscript"), _read_element),
    "member_expression": _read_member,
    **dict.fromkeys(("call", "call_expression"), _read_entries),
    "array": lambda node, env, depth: [value_of(part, env, depth) for part in parts_of(node)],
    "object": lambda node, env, depth: dict(_read_pair(part, env, depth) for part in parts_of(node)),
    "unary_expression": _read_negative,
}
