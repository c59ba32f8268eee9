"""What expressions of JavaScript stand for, as far as they are literals: by themselves, by a name, or in a row of a table."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from helmsman.parsers.literals import NoLiteral, text_of, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

Env = dict[str, Any]
"""What names stand for in one row of a table of cases."""


class Word(Enum):
    """A value that has no literal of its own in JSON."""

    UNDEFINED = "undefined"
    NAN = "NaN"


DECLARATIONS = frozenset(["lexical_declaration", "variable_declaration"])
BLOCKS = frozenset(["program", "statement_block"])
MOST_ROWS = 500
_FUNCTIONS = frozenset(["arrow_function", "function_expression"])
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_LARGEST, _LARGEST_FLOAT = 2**53, 1e300
"""Beyond the first, numbers are no longer exact; an infinity is no JSON."""
_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters."""
_DEEPEST = 20
"""Of names that stand for names, and of literals in literals."""


def value_of(node: "Node", env: Env, depth: int = 0) -> Any:
    """A literal as JSON has it, or as a Word. Raises NoLiteral."""
    read = _READ.get(node.type)
    return read(node, env, depth + 1) if read and depth <= _DEEPEST else unknown(node)


def rows_around(node: "Node") -> Sequence[Env]:
    """What names are in each turn of the loops around it; none where that is not known."""
    around, at = list["Node"](), node.parent
    while at is not None:
        around.append(at)
        at = at.parent
    found = [Env()]
    for one in reversed(around):
        found = [{**env, **row} for env in found for row in _turns(one, env)][:MOST_ROWS]
    return found


# --- tables of cases ------------------------------------------------------------------------------------------------


def _turns(node: "Node", env: Env) -> Iterator[Env]:
    """Of a loop, or of a function that is called for each row; one turn without a name of its own for all else."""
    table, names, spread = _table(node)
    if table is None:
        yield {}
        return
    with suppress(NoLiteral):
        for row in _items(value_of(table, env)):
            values = _items(row) if spread and isinstance(row, list) else [row]
            pairs = zip(names, values, strict=False)
            yield {name: value for pattern, one in pairs for name, value in _bound(pattern, one)}


def _table(node: "Node") -> tuple["Node | None", Sequence["Node"], bool]:
    """The rows, what each is called, and whether each is spread over several names."""
    if node.type == "for_in_statement":
        left = node.child_by_field_name("left")
        return node.child_by_field_name("right"), [left] if left else [], False
    call = node.parent.parent if node.type in _FUNCTIONS and node.parent else None
    callee = call.child_by_field_name("function") if call and call.type == "call_expression" else None
    given = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    names = given.named_children if given and given.type == "formal_parameters" else [given] if given else []
    if callee and callee.type == "member_expression" and text_of(callee.child_by_field_name("property")) == "forEach":
        return callee.child_by_field_name("object"), names[:1], False
    inner = callee.child_by_field_name("arguments") if callee and callee.type == "call_expression" else None
    if callee and inner and inner.named_children and text_of(callee.child_by_field_name("function")).endswith(".each"):
        return inner.named_children[0], names, True
    return None, (), False


def _bound(pattern: "Node", value: Any) -> Iterator[tuple[str, Any]]:
    """The names in a pattern, and what they stand for. Raises NoLiteral."""
    if pattern.type in {"identifier", "shorthand_property_identifier_pattern"}:
        yield text_of(pattern), value
    elif pattern.type == "array_pattern" and isinstance(value, list):
        for inner, one in zip(pattern.named_children, _items(value), strict=False):
            yield from _bound(inner, one)
    elif pattern.type == "object_pattern" and isinstance(value, dict):
        for inner in pattern.named_children:
            key = text_of(inner.child_by_field_name("key") or inner)
            yield from _bound(inner.child_by_field_name("value") or inner, _entries(value).get(key, Word.UNDEFINED))
    else:
        unknown(pattern)


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _entries(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# --- literals -------------------------------------------------------------------------------------------------------


def _number(node: "Node", _env: Env, _depth: int) -> int | float:
    text = text_of(node)
    with suppress(ValueError):
        value = int(text, 0)
        return value if abs(value) <= _LARGEST else float(value)
    with suppress(ValueError, OverflowError):
        value = float(text)
        return value if abs(value) < _LARGEST_FLOAT else unknown(node)
    return unknown(node)


def _string(node: "Node", _env: Env, _depth: int) -> str:
    read: Mapping[str, Callable[[str], str]] = {"string_fragment": str, "escape_sequence": _unescaped}
    if any(part.type not in read for part in node.named_children):
        unknown(node)
    return "".join(read[part.type](text_of(part)) for part in node.named_children)


def _unescaped(sequence: str) -> str:
    found = re.fullmatch(r"\\[ux]\{?([0-9a-fA-F]{1,6})\}?", sequence)
    code = int(found[1], 16) if found else -1
    if code in _SURROGATES or code > 0x10FFFF:  # noqa: PLR2004 - the last character
        raise NoLiteral(sequence)
    return chr(code) if found else _ESCAPES.get(sequence[1:], sequence[1:])


def _identifier(node: "Node", env: Env, depth: int) -> Any:
    text = text_of(node)
    if text in env:
        return env[text]
    declared = None if text == "NaN" else _declared(node)
    return Word.NAN if text == "NaN" else value_of(declared, env, depth) if declared else unknown(node)


def _declared(name: "Node") -> "Node | None":
    """What a name is declared as, in the nearest block around it."""
    at = name
    while (parent := at.parent) is not None:
        statements = parent.named_children if parent.type in BLOCKS else ()
        before = (one for one in statements if one.type in DECLARATIONS and one.start_byte < at.start_byte)
        declarators = (inner for one in before for inner in one.named_children)
        found = [one for one in declarators if text_of(one.child_by_field_name("name")) == text_of(name)]
        if found:
            return found[-1].child_by_field_name("value")
        at = parent
    return None


def _array(node: "Node", env: Env, depth: int) -> list[Any]:
    return [value_of(one, env, depth) for one in node.named_children if one.type != "comment"]


def _object(node: "Node", env: Env, depth: int) -> dict[str, Any]:
    return dict(_pair(one, env, depth) for one in node.named_children if one.type != "comment")


def _pair(node: "Node", env: Env, depth: int) -> tuple[str, Any]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or key.type not in {"property_identifier", "string", "number"}:
        raise NoLiteral(text_of(node))
    return _string(key, env, depth) if key.type == "string" else text_of(key), value_of(value, env, depth)


def _inner(node: "Node", env: Env, depth: int) -> Any:
    return value_of(node.named_children[0], env, depth) if node.named_children else unknown(node)


def _minus(node: "Node", env: Env, depth: int) -> Any:
    inner = node.named_children[0] if text_of(node).startswith("-") and node.named_children else node
    return -_number(inner, env, depth) if inner.type == "number" else unknown(node)


def _pairs(node: "Node", env: Env, depth: int) -> Any:
    """Of `Object.entries(…)`."""
    arguments = node.child_by_field_name("arguments")
    if text_of(node.child_by_field_name("function")) != "Object.entries" or not (arguments and arguments.named_children):
        return unknown(node)
    return [[key, value] for key, value in _entries(value_of(arguments.named_children[0], env, depth)).items()]


_READ: Mapping[str, Callable[["Node", Env, int], Any]] = {
    "number": _number,
    "string": _string,
    "template_string": _string,
    "true": lambda _node, _env, _depth: True,
    "false": lambda _node, _env, _depth: False,
    "null": lambda _node, _env, _depth: None,
    "undefined": lambda _node, _env, _depth: Word.UNDEFINED,
    "identifier": _identifier,
    "array": _array,
    "object": _object,
    "unary_expression": _minus,
    "parenthesized_expression": _inner,
    "as_expression": _inner,
    "satisfies_expression": _inner,
    "call_expression": _pairs,
}
