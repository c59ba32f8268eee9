"""Tests inside of sources: Rust's `mod tests`, Python's test classes and functions, and doctests.

A source's tests are replaced by those of its earlier version: in place, or if they are gone, at its end.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.source import Source, syntax_root

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST_CLASS = re.compile(r"Test|.*(?:Tests?|TestCase)$")
_RUNS_TESTS = re.compile(rb"__name__\b(?s:.*)\b(?:unittest\.main|doctest\.testmod|pytest\.main)\b")
_DEFINITIONS = frozenset({"function_definition", "class_definition"})
_NESTING = frozenset({"if_statement", "else_clause", "elif_clause", "try_statement", "except_clause", "with_statement", "block"})
_MAIN = "if __name__"
Span = tuple[int, int]


def with_inline_tests(source: Source, start: Source, *, doctests: bool = False) -> str | None:
    """Return the text with the start's tests instead of its own; None if there were none, or they are equal.

    `doctests`: whether examples in docstrings are tests.
    """
    data, before = source.text.encode(errors="replace"), start.text.encode(errors="replace")
    if start.language == "python":
        return _with_python_tests(_Python.of(source, data), _Python.of(start, before), doctests=doctests)
    replacements = [before[first:last] for first, last in start.inline_tests]
    if not replacements or replacements == [data[first:last] for first, last in source.inline_tests]:
        return None
    for first, last in reversed(source.inline_tests):
        # without the blank lines before it, to which a formatter would object; what follows in its line needs them
        data = (data[:first].rstrip() if data[last : last + 1] in {b"", b"\n"} else data[:first]) + data[last:]
    return b"\n".join((data, *replacements, b"")).decode(errors="replace")


class _Python(NamedTuple):
    """The parts of a Python source, by qualified name."""

    data: bytes
    bodies: Mapping[str, "Node"]  # of definitions, and the module's as ""
    tests: Mapping[str, Span]  # test classes and functions, and the block that runs them
    docstrings: Mapping[str, Span]
    imports: tuple[bytes, ...]

    @classmethod
    def of(cls, source: Source, data: bytes) -> "_Python":
        root = syntax_root(source.path, source.text)
        if root is None:
            return cls(data, {}, {}, {}, ())
        definitions = {name: (outer, inner) for name, outer, inner in _definitions(root)}
        bodies = {name: body for name, (_, inner) in definitions.items() if (body := inner.child_by_field_name("body"))}
        spans = {name: (outer.start_byte, outer.end_byte) for name, (outer, _) in definitions.items()}
        tests = {name: spans[name] for name, (_, inner) in definitions.items() if _is_test(name, inner, source)}
        runs = [node for node in root.named_children if node.type == "if_statement" and _RUNS_TESTS.search(node.text or b"")]
        tests |= {_MAIN: (runs[-1].start_byte, runs[-1].end_byte)} if runs else {}
        docs = {name: span for name, body in {"": root, **bodies}.items() if (span := _docstring(body))}
        imports = (node.text for node in root.named_children if node.type in {"import_statement", "import_from_statement"})
        return cls(data, {"": root, **bodies}, tests, docs, tuple(filter(None, imports)))

    def examples(self) -> dict[str, Span]:
        """Return the docstrings with doctests that are not part of a test."""
        outside = {name: span for name, span in self.docstrings.items() if name.partition(".")[0] not in self.tests}
        return {name: span for name, span in outside.items() if b">>>" in self.data[slice(*span)]}


def _with_python_tests(head: _Python, start: _Python, *, doctests: bool) -> str | None:
    edits, added = list[tuple[int, int, bytes]](), list[bytes]()
    for name, span in start.tests.items():
        text, place = start.data[slice(*span)], head.tests.get(name)
        if place is None and name not in head.bodies:
            added.append(text)
        else:  # a class without its tests is no test class anymore
            place = place or _span_of(head.bodies[name])
            edits.append((*place, text))
    for name, span in start.examples().items() if doctests else ():
        text = start.data[slice(*span)]
        edit = _docstring_edit(head, name, text)
        if edit:
            edits.append(edit)
        elif text not in {head.data[slice(*other)] for other in head.docstrings.values()}:  # else it was renamed
            added.append(b'__test__ = {**globals().get("__test__", {}), "%b": %b}' % (name.encode(), text))
    if added:
        end = head.tests.get(_MAIN, (len(head.data), 0))[0]
        used = set(re.findall(rb"\w+", b" ".join(added)))
        missing = [one for one in start.imports if one not in head.imports and used.intersection(re.findall(rb"\w+", one))]
        edits.append((end, end, b"\n".join((b"", *missing, *added, b""))))
    data = head.data
    for first, last, text in sorted(edits, reverse=True):
        data = data[:first] + text + data[last:]
    return None if data == head.data else data.decode(errors="replace")


def _docstring_edit(head: _Python, name: str, text: bytes) -> tuple[int, int, bytes] | None:
    """Return the edit that gives a definition a docstring; None if there is no place for it."""
    if name in head.docstrings:
        return (*head.docstrings[name], text)
    body = head.bodies.get(name)
    if body is None or (name and body.parent and body.parent.start_point.row == body.start_point.row):
        return None
    first = next((node for node in body.named_children if node.type != "comment"), body).start_byte
    return first, first, text + b"\n" + b" " * (body.start_point.column if name else 0)


def _definitions(node: "Node", prefix: str = "") -> Iterator[tuple[str, "Node", "Node"]]:
    """Yield the qualified name of each definition, the node with its decorators, and its own node."""
    for outer in node.named_children:
        inner = outer.child_by_field_name("definition") or outer
        name, body = inner.child_by_field_name("name"), inner.child_by_field_name("body")
        if inner.type in _DEFINITIONS and name and name.text and body:
            qualified = prefix + name.text.decode(errors="replace")
            yield qualified, outer, inner
            yield from _definitions(body, f"{qualified}.")
        elif inner.type in _NESTING:
            yield from _definitions(inner, prefix)


def _is_test(name: str, node: "Node", source: Source) -> bool:
    """Whether a definition at the top of a module is a test: with assertions, or a `TestCase` with tests."""
    if "." in name:
        return False
    if node.type == "function_definition":
        return any(test.name == name and test.assertions for test in source.tests)
    inside = [test for test in source.tests if test.name.startswith(f"{name}.")]
    bases = node.child_by_field_name("superclasses")
    is_case = b"TestCase" in (bases.text or b"" if bases else b"")
    return bool(inside) and (is_case or (bool(_TEST_CLASS.match(name)) and any(test.assertions for test in inside)))


def _docstring(body: "Node") -> Span | None:
    first = next((node for node in body.named_children if node.type != "comment"), None)
    inner = first.named_children[0] if first and first.type == "expression_statement" and first.named_children else None
    return (inner.start_byte, inner.end_byte) if inner and inner.type == "string" else None


def _span_of(body: "Node") -> Span:
    """Return the byte range of the definition of a body, with its decorators."""
    inner = body.parent or body
    outer = inner.parent if inner.parent and inner.parent.type == "decorated_definition" else inner
    return outer.start_byte, outer.end_byte
