"""Python tests as functions of their literals, for tests that call no function directly: they run a program, or use a client."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from helmsman.parsers.case_rows import rows_around
from helmsman.parsers.literals import NoLiteral, descendants, text_of, value_of
from helmsman.parsers.made_objects import is_prepared
from helmsman.parsers.source import query_matches
from helmsman.verify.call_cases import Case, Function, is_docstring

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = "string", "integer", "float"


class _Test(NamedTuple):
    """A test function, and its statement that compares something with a literal."""

    function: "Node"
    block: "Node"
    statement: "Node"


def extract_bodies(path: str, text: str) -> Iterator[Case]:
    """Yield a case for each comparison with a literal that is a statement of a Python test.

    Its function consists of the statements up to there, and takes their literals: `done = run(a, b); return done.stdout`.
    """
    for match in query_matches(path, text, "python_calls"):
        test = _find_test(match["compared"][0]) if "compared" in match else None
        if test:
            yield from _cases_of_test(path, test, match["compared"][0], match["expected"][0])


def _find_test(compared: "Node") -> _Test | None:
    """Return the test around a comparison, unless that stands in a loop or another block, or something prepares the test."""
    statement, block = compared, compared.parent
    while block and block.type != "block":
        statement, block = block, block.parent
    function = block.parent if block else None
    if block is None or function is None or not text_of(function.child_by_field_name("name")).startswith("test"):
        return None
    return None if is_prepared(function) else _Test(function, block, statement)


def _cases_of_test(path: str, test: _Test, compared: "Node", expected: "Node") -> Iterator[Case]:
    """Yield a case for each row of the test's parameters. Other parameters are fixtures, which its function makes."""
    params = re.findall(r"\w+", text_of(test.function.child_by_field_name("parameters")))
    before = [one for one in test.block.named_children if one.start_byte < test.statement.start_byte]
    if not params and all(one.type == "assert_statement" for one in before):  # each is a case of its own
        before = []
    literals = [one for part in (*before, compared) for one in descendants(part, *_LITERALS) if _is_value(one)]
    first = (before or [test.statement])[0].start_byte
    source = _with_names(test.block, first, (test.statement.start_byte, compared), literals)
    for env in rows_around(compared):
        taken = [name for name in params if name in env and re.search(rf"\b{name}\b", source)]
        made = [f"{name} = {_maker_of(name, test)}" for name in params if name not in env]
        head = f"def helmsman_body({', '.join([*(f'_{at}' for at in range(len(literals))), *taken])}):"
        lines = [f"async {head}" if "await " in source else head, *made, source]
        function = Function(path, "", body=f"\n{' ' * test.block.start_point[1]}".join(lines))
        with suppress(NoLiteral):
            args = (*(value_of(one, {}) for one in literals), *(env[name] for name in taken))
            yield Case(function, args, {}, value_of(expected, env))


def _maker_of(parameter: str, test: _Test) -> str:
    """Return an expression for what the runner passes to a test: an object of its class, or a fixture."""
    if parameter != "self":
        return f"helmsman_fixture({parameter!r})"
    scope = test.function.parent
    while scope and scope.type != "class_definition":
        scope = scope.parent
    return f"{text_of(scope.child_by_field_name('name')) if scope else ''}()"


def _with_names(block: "Node", first: int, returned: tuple[int, "Node"], literals: Sequence["Node"]) -> str:
    """Return the statements from a position on, with names for literals. `returned`: the last one, and what it compares."""
    (last, compared), start = returned, block.start_byte
    texts = [one for one in descendants(block, "comment", "string") if one.end_byte <= last]
    spans = [(one.start_byte, one.end_byte, "#") for one in texts if one.type == "comment" or is_docstring(one)]
    spans += [(one.start_byte, one.end_byte, f"_{at}") for at, one in enumerate(literals)]
    source = (block.text or b"")[: compared.end_byte - start] + b")"
    for begin, end, new in sorted([*spans, (last, compared.start_byte, "return (")], reverse=True):
        source = source[: begin - start] + new.encode() + source[end - start :]
    return source[first - start :].decode(errors="replace")


def _is_value(literal: "Node") -> bool:
    """Whether other values may take a literal's place: not that of a docstring, of an f-string or of a part of a text."""
    is_part = literal.parent is not None and literal.parent.type == "concatenated_string"
    return text_of(literal)[0] in "'\"0123456789" and not is_part and not is_docstring(literal)
