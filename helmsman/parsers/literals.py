"""What expressions of Python, JavaScript and Go stand for, as far as they are literals: by themselves, by a name, or in a table.

One table of kinds of nodes serves all three grammars: what two of them share means the same in both.
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

Env = dict[str, Any]  # what names stand for in one row of a table of cases


class NoLiteral(ValueError):  # noqa: N818 - what was found, as in Late
    """What stands there is not known before it runs."""


class Word(Enum):
    """A value of JavaScript that has no literal of its own in JSON."""

    UNDEFINED = "undefined"
    NAN = "NaN"


BLOCKS = frozenset(["program", "statement_block", "statement_list", "module", "block"])
"""Nodes whose children are run one after the other."""
DECLARATORS = {
    "variable_declarator": ("name", "value"),
    "short_var_declaration": ("left", "right"),
    "assignment": ("left", "right"),
}
"""What gives a name its value, with the fields of both."""
MOST_ROWS = 500
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_LARGEST, _LARGEST_FLOAT = 2**53, 1e300  # beyond the first, JavaScript's numbers are no longer exact; an infinity is not JSON
_SURROGATES = range(0xD800, 0xE000)  # halves of characters
_DEEPEST = 20  # of names that stand for names, and of literals in literals


def text_of(node: "Node | None") -> str:
    return node.text.decode(errors="replace") if node and node.text else ""


def unknown(node: "Node") -> Any:
    raise NoLiteral(text_of(node))


def below(node: "Node", *kinds: str) -> Iterator["Node"]:
    """Nodes of these kinds in it, itself too, level by level."""
    pending = [node]
    for one in pending:
        if one.type in kinds:
            yield one
        pending += one.named_children


def value_of(node: "Node", env: Env, depth: int = 0) -> Any:
    """A literal's value. Raises NoLiteral."""
    read = _READ.get(node.type)
    return read(node, env, depth + 1) if read and depth <= _DEEPEST else unknown(node)


def rows_around(node: "Node") -> Sequence[Env]:
    """What names are in each turn of the loops and tables around it; none where that is not known."""
    around, at = list["Node"](), node.parent
    while at is not None:
        around.append(at)
        at = at.parent
    found = [Env()]
    for one in reversed(around):
        if turns := _TURNS.get(one.type):
            found = [{**env, **row} for env in found for row in turns(one, env)][:MOST_ROWS]
    return found


# --- tables of cases ------------------------------------------------------------------------------------------------


def _loop(node: "Node", env: Env) -> Iterator[Env]:
    """Over a table; of Go, over pairs of key and row. Any other loop gives its names no value that is known."""
    clause = next((one for one in node.named_children if one.type == "range_clause"), node)
    left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
    if left is None or right is None:
        yield {}
        return
    with suppress(NoLiteral):
        for row in _items(value_of(right, env)) if clause is node else _pairs_of_go(right, env):
            yield dict(_bound(left, row))


def _callback(node: "Node", env: Env) -> Iterator[Env]:
    """JavaScript's function that is called for each row, by `forEach` or by `each`, which spreads a row over names."""
    call = node.parent.parent if node.parent else None
    callee = call.child_by_field_name("function") if call and call.type == "call_expression" else None
    given = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    names = given.named_children if given and given.type == "formal_parameters" else [given] if given else []
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
        for row in _items(value_of(table, env)):
            values = cast("list[Any]", row) if each and isinstance(row, list) else [row]
            pairs = zip(names, values, strict=False)
            yield {name: value for pattern, one in pairs for name, value in _bound(pattern, one)}


def _parametrized(node: "Node", env: Env) -> Iterator[Env]:
    """Python's function below `parametrize`; below two of these, or another decorator, its arguments are not known."""
    calls = [one.named_children[0] for one in node.named_children if one.type == "decorator"]
    marks = [one for one in calls if text_of(one.child_by_field_name("function")).endswith("parametrize")]
    others = [one for one in calls if one not in marks and not text_of(one).startswith("pytest.mark.")]
    if not marks and not others:
        yield {}
    if len(marks) != 1 or others:
        return
    given = marks[0].child_by_field_name("arguments")
    with suppress(NoLiteral, ValueError):
        said, rows, *_ = given.named_children if given else []
        names = value_of(said, env)
        names = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
        for row in _rows_of_mark(rows, env):
            with suppress(ValueError):  # of another length
                yield {names[0]: row} if len(names) == 1 else dict(zip(names, row, strict=True))


def _rows_of_mark(rows: "Node", env: Env) -> Iterator[Any]:
    """A row may be a `pytest.param(…)`; one that is no literal is left out."""
    if rows.type not in {"list", "tuple"}:
        yield from _items(value_of(rows, env))
        return
    for row in rows.named_children:
        with suppress(NoLiteral):
            if row.type != "call":
                yield value_of(row, env)
            elif given := row.child_by_field_name("arguments"):
                values = [value_of(one, env) for one in given.named_children if one.type != "keyword_argument"]
                yield values[0] if len(values) == 1 else values


def _pairs_of_go(node: "Node", env: Env) -> list[tuple[Any, Any]]:
    """Keys and rows of a slice, of structs perhaps, or of a map."""
    literal = _declared(node) if node.type == "identifier" else node
    kind = literal.child_by_field_name("type") if literal and literal.type == "composite_literal" else None
    body = literal.child_by_field_name("body") if literal else None
    if kind is None or body is None:
        return unknown(node)
    if kind.type == "map_type":
        return [(value_of(key, env), value_of(value, env)) for key, value in (one.named_children for one in body.named_children)]
    fields = [text_of(one.child_by_field_name("name")) for one in below(kind, "field_declaration")]
    rows = (one for one in body.named_children if one.type != "comment")
    return list(enumerate(_struct(one, fields, env) if fields else value_of(one, env) for one in rows))


def _struct(element: "Node", fields: Sequence[str], env: Env) -> Env:
    """Values by field, as far as they are literals."""
    body = element.named_children[0] if element.type == "literal_element" else element
    given = [one for one in body.named_children if one.type != "comment"]
    keyed = [(text_of(one.named_children[0]), one.named_children[1]) for one in given if one.type == "keyed_element"]
    found = Env()
    for name, value in keyed or list(zip(fields, given, strict=False)):
        with suppress(NoLiteral):
            found[name] = value_of(value, env)
    return found


def _bound(pattern: "Node", value: Any) -> Iterator[tuple[str, Any]]:
    """The names in a pattern, and what they stand for. Raises NoLiteral."""
    if pattern.type in {"identifier", "shorthand_property_identifier_pattern"}:
        yield text_of(pattern), value
    elif pattern.type in {"array_pattern", "pattern_list", "tuple_pattern", "expression_list"} and isinstance(
        value, list | tuple
    ):
        for inner, one in zip(pattern.named_children, _items(value), strict=False):
            yield from _bound(inner, one)
    elif pattern.type == "object_pattern" and isinstance(value, dict):
        for inner in pattern.named_children:
            key = text_of(inner.child_by_field_name("key") or inner)
            yield from _bound(inner.child_by_field_name("value") or inner, cast("Env", value).get(key, Word.UNDEFINED))
    else:
        unknown(pattern)


def _items(value: Any) -> list[Any]:
    return list(cast("Iterable[Any]", value)) if isinstance(value, list | tuple | set | dict | str) else []


_TURNS: Mapping[str, Callable[["Node", Env], Iterator[Env]]] = {
    "for_in_statement": _loop,
    "for_statement": _loop,
    "arrow_function": _callback,
    "function_expression": _callback,
    "decorated_definition": _parametrized,
}


# --- literals -------------------------------------------------------------------------------------------------------


def _number(node: "Node", _env: Env, _depth: int) -> int | float:
    text = text_of(node).replace("_", "")
    with suppress(ValueError):
        value = int(text, 0)
        return value if abs(value) <= _LARGEST else unknown(node)
    with suppress(ValueError):
        value = float(text)
        return value if abs(value) < _LARGEST_FLOAT and not re.match(r"0\d", text) else unknown(node)  # `010` is octal
    return unknown(node)


def _string(node: "Node", env: Env, depth: int) -> str:
    if node.children and node.children[0].type == "string_start":
        return _python(node, env, depth)
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
    """What a name is given, in the nearest block around it."""
    at = name
    while (parent := at.parent) is not None:
        statements = [one for one in parent.named_children if one.start_byte < at.start_byte] if parent.type in BLOCKS else []
        made = [one for statement in statements for one in (statement, *statement.named_children) if one.type in DECLARATORS]
        found = [one for one in made if text_of(one.child_by_field_name(DECLARATORS[one.type][0])) == text_of(name)]
        if found:
            value = found[-1].child_by_field_name(DECLARATORS[found[-1].type][1])
            return value.named_children[0] if value and value.type == "expression_list" else value
        at = parent
    return None


def _pair(node: "Node", env: Env, depth: int) -> tuple[str, Any]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or key.type not in {"property_identifier", "string", "number"}:
        raise NoLiteral(text_of(node))
    return _string(key, env, depth) if key.type == "string" else text_of(key), value_of(value, env, depth)


def _inner(node: "Node", env: Env, depth: int) -> Any:
    return value_of(node.named_children[0], env, depth) if node.named_children else unknown(node)


def _minus(node: "Node", env: Env, depth: int) -> Any:
    inner = node.named_children[0] if text_of(node).startswith("-") and node.named_children else node
    return -_number(inner, env, depth) if inner.type in {"number", "int_literal", "float_literal"} else unknown(node)


def _field(node: "Node", env: Env, _depth: int) -> Any:
    """Go's field of a row."""
    head, _, field = text_of(node).partition(".")
    row = env.get(head)
    return cast("Env", row)[field] if isinstance(row, dict) and field in row else unknown(node)


def _json(node: "Node", _env: Env, _depth: int) -> Any:
    """A text that Go and JSON write alike."""
    try:
        return json.loads(text_of(node))
    except ValueError:
        return unknown(node)


def _python(node: "Node", env: Env, depth: int) -> Any:
    """By Python's own reader, with what names stand for in their places."""
    text = node.text or b""
    for one in sorted(below(node, "identifier"), key=lambda one: -one.start_byte):
        value = repr(value_of(one, env, depth)).encode()
        text = text[: one.start_byte - node.start_byte] + value + text[one.end_byte - node.start_byte :]
    try:
        return ast.literal_eval(text.decode(errors="replace"))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return unknown(node)


_MATCHERS: Mapping[str, Any] = {"toBeNull": None, "toBeUndefined": Word.UNDEFINED, "toBeNaN": Word.NAN}
_READ: Mapping[str, Callable[["Node", Env, int], Any]] = {
    **dict.fromkeys(("number", "int_literal", "float_literal"), _number),
    **dict.fromkeys(("string", "template_string"), _string),
    **dict.fromkeys(("null", "nil", "none"), lambda _node, _env, _depth: None),
    **dict.fromkeys(("parenthesized_expression", "as_expression", "satisfies_expression", "literal_element"), _inner),
    **dict.fromkeys(("integer", "float", "concatenated_string", "list", "tuple", "set", "dictionary", "unary_operator"), _python),
    "true": lambda _node, _env, _depth: True,
    "false": lambda _node, _env, _depth: False,
    "undefined": lambda _node, _env, _depth: Word.UNDEFINED,
    "property_identifier": lambda node, _env, _depth: (
        _MATCHERS.get(text_of(node)) if text_of(node) in _MATCHERS else unknown(node)
    ),
    "string_fragment": lambda node, _env, _depth: text_of(node),
    "interpreted_string_literal": _json,
    "raw_string_literal": lambda node, _env, _depth: text_of(node).strip("`"),
    "identifier": _identifier,
    "selector_expression": _field,
    "array": lambda node, env, depth: [value_of(one, env, depth) for one in node.named_children if one.type != "comment"],
    "object": lambda node, env, depth: dict(_pair(one, env, depth) for one in node.named_children if one.type != "comment"),
    "unary_expression": _minus,
}
