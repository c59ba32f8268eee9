"""Opposites of assertions, for those that compare with no value that could be changed."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.literals import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

ARGUMENTS = frozenset(["argument_list", "arguments", "value_arguments"])
_PAIRS = """
assertEqual assertNotEqual, assertEquals assertNotEquals, assertIn assertNotIn, assertIs assertIsNot, assertTrue assertFalse,
assertIsNone assertIsNotNone, assertIsInstance assertNotIsInstance, assertRegex assertNotRegex, assertLess
assertGreaterEqual, assertGreater assertLessEqual, assertAlmostEqual assertNotAlmostEqual, assertNull assertNotNull,
assertSame assertNotSame, assert_called assert_not_called, strictEqual notStrictEqual, deepEqual notDeepEqual,
deepStrictEqual notDeepStrictEqual, equal notEqual, throws doesNotThrow, rejects doesNotReject, match doesNotMatch, truthy
falsy, assert_eq assert_ne, Equal NotEqual, True False, Nil NotNil, Error NoError, Contains NotContains, AreEqual
AreNotEqual, IsTrue IsFalse, IsNull IsNotNull, assert refute, assert_equal refute_equal, assert_includes refute_includes,
assert_nil refute_nil, Empty NotEmpty, assert_called_once assert_not_called
"""
_OPPOSITES = {one: other for pair in _PAIRS.split(",") for one, other in (pair.split(), pair.split()[::-1])}
_CALLED = re.compile(r"(\w+)(!?\s*)(?=[(<\[]|$)")
_RAISES = frozenset(["raises", "assertRaises", "assertRaisesRegex"])


class Edit(NamedTuple):
    """Replacement of a byte range of a file."""

    start: int
    end: int
    new: bytes


def opposite(node: "Node", unit: "Node", *, is_condition: bool) -> Iterator[Edit]:
    """Yield the edit that makes an assertion its opposite, or expect another exception."""
    if is_condition:
        yield from _wrapped(unit, b"!")
        return
    if node.type == "assert_statement":
        yield from _wrapped(node.named_children[0], b"not ")
        return
    callee, arguments = _parts_of_call(node)
    if callee is None or arguments is None:
        return
    name = _CALLED.search(text_of(callee))
    called = name[1] if name else ""
    if called in _RAISES and arguments.named_children:
        first = arguments.named_children[0]
        yield Edit(first.start_byte, first.end_byte, b"RecursionError")
    elif called.startswith("expect") and unit != node:
        rest = text_of(unit)[len(text_of(node)) :]
        after = re.match(r"\s*\.(?:rejects|resolves)\b", rest)
        at = node.end_byte + len((after[0] if after else "").encode())
        negated = re.match(r"\s*\.not\b", rest)
        yield Edit(at, at + len(negated[0].encode()), b"") if negated else Edit(at, at, b".not")
    elif called in {"assert", "ok", "debug_assert"}:
        yield from _first_negated(arguments)
    elif called in _OPPOSITES:
        start = callee.start_byte + (callee.text or b"").rindex(called.encode())
        yield Edit(start, start + len(called), _OPPOSITES[called].encode())


def _parts_of_call(node: "Node") -> tuple["Node | None", "Node | None"]:
    callee = node.child_by_field_name("function") or node.child_by_field_name("macro") or node.child_by_field_name("name")
    arguments = next((child for child in node.children if child.type in ARGUMENTS or child.type == "token_tree"), None)
    return callee, arguments


def _wrapped(node: "Node", word: bytes) -> Iterator[Edit]:
    yield Edit(node.start_byte, node.end_byte, word + b"(" + (node.text or b"") + b")")


def _first_negated(arguments: "Node") -> Iterator[Edit]:
    """Yield the edit that negates the first argument: up to the first comma."""
    inner = [child for child in arguments.children if child.type not in {"(", ")", "[", "]"}]
    end = next((at for at, child in enumerate(inner) if child.type == ","), len(inner))
    if end:
        start, stop = inner[0].start_byte, inner[end - 1].end_byte
        text = (arguments.text or b"")[start - arguments.start_byte : stop - arguments.start_byte]
        yield Edit(start, stop, b"!(" + text + b")")
