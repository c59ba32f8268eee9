"""Python sources whose changed functions raise an error: a new test that passes with them does not exercise the change."""

import ast
from collections.abc import Collection, Iterator, Sequence

from helmsman.plain import clean
from helmsman.verify.findings import join_some

STUB = "raise NotImplementedError"


def with_stubs(text: str, lines: Collection[int]) -> str | None:
    """Return the text with an error raised by each function that has one of these lines; None if there is none."""
    try:
        functions = [*_outermost_functions(ast.parse(text).body)]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    changed = [one for one in functions if not lines_of(one).isdisjoint(lines)]
    stubs = dict(place for function in changed if (place := _place_of_stub(function)))
    written = text.split("\n")
    for line in sorted(stubs, reverse=True):
        written.insert(line - 1, f"{' ' * stubs[line]}{STUB}")
    return "\n".join(written) if stubs else None


def lines_of(node: ast.stmt) -> frozenset[int]:
    return frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _outermost_functions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost_functions(node.body)


def _place_of_stub(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int] | None:
    """Line and column of a first statement, after the docstring; None for a function on one line."""
    docstring = ast.get_docstring(function, clean=False) is not None
    first, after = function.body[0], function.body[1:2]
    if first.lineno == function.lineno:
        return None
    if docstring and not after:
        return (first.end_lineno or first.lineno) + 1, first.col_offset
    start = after[0] if docstring else first
    decorators = start.decorator_list if isinstance(start, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    return min(start.lineno, *(decorator.lineno for decorator in decorators)) if decorators else start.lineno, start.col_offset


def describe_unexercised(tests: Sequence[str] | None) -> str:
    """Describe new tests that pass with stubs; empty if there are none."""
    message = "the new tests also pass if the changed functions raise an error, so they do not exercise the change"
    return f"{message}: {join_some([clean(name) for name in tests])}" if tests else ""
