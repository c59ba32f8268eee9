"""Functions of Python that answer with nothing, and say in a comment or a docstring that they will not always."""

import ast
import re
from collections.abc import Iterator

from helmsman.records.findings import Finding
from helmsman.verify.invariants.answers.literals import literal
from helmsman.verify.invariants.reading.additions import Addition, split
from helmsman.verify.invariants.reading.kinds import is_source, language
from helmsman.verify.invariants.reading.patterns import comment
from helmsman.verify.invariants.reading.python_code import (
    Function,
    body_without_docstring,
    changed_parts,
    functions,
    last_name,
)
from helmsman.verify.invariants.reading.reporter import Spot
from helmsman.verify.invariants.unfinished import REPORTER

_PROMISE = re.compile(
    r"\b(?:TODO|FIXME)\b|(?i:\bplaceholder\b|\bstub(?:bed)?\b|\bdummy\b"
    r"|not (?:yet )?implemented|unimplemented|implement (?:me|this|later)"
    r"|to be (?:written|implemented|filled in|done|replaced)|\bfor now\b|will be (?:plugged|wired|filled|added|replaced|written)"
    r"|\buntil (?:the|there)\b.{0,60}\b(?:is|are|exists?|ready|there)\b|fill(?:ed)? in later|plugged in later|\bcoming soon\b)"
)
_EMPTY_CALLS = frozenset({"list", "dict", "set", "tuple", "str", "int", "float", "bool", "frozenset", "bytes"})


def placeholders(addition: Addition) -> Iterator[Finding]:
    """A function whose whole body is a literal, or an empty collection, under words that put the work off."""
    path, text = addition.file.path, addition.text
    if language(path) != "python" or not is_source(path) or path.endswith(".pyi") or not _PROMISE.search(text):
        return
    texts, new = split(addition.file.after), {line.number for line in addition.lines}
    for part in changed_parts(addition.file):
        for node, owner, _ in functions(part.tree):
            lines = part.lines(node)
            if not new.isdisjoint(lines) and _is_nothing(node) and _puts_off(node, texts[lines.start - 1 : lines.stop - 1]):
                name = f"{owner.name}.{node.name}" if owner else node.name
                spot = Spot(path, lines[0], f"def {node.name}")
                yield REPORTER.block(spot, f"{name} is a stub: it answers with a placeholder")


def _is_nothing(node: Function) -> bool:
    body = body_without_docstring(node)
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return False
    value = body[0].value
    empty = isinstance(value, ast.Call) and last_name(value.func) in _EMPTY_CALLS and not value.args and not value.keywords
    return empty or (value is not None and literal(value) is not None)


def _puts_off(node: Function, lines: list[str]) -> bool:
    """Whether a comment within the function says so, or its docstring begins with it."""
    comments = (comment(line, "python") for line in lines)
    described = ast.get_docstring(node, clean=False) or ""
    return any(_PROMISE.search(one[:500]) for one in comments) or bool(_PROMISE.match(described.strip()))
