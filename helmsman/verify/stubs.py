"""Python sources with stubs for their changed functions: a new test that passes with them does not check the change.

A function that the base has raises an error. A new one returns `...`, as its absence alone makes each test fail on the base.
"""

import ast
from collections.abc import Collection, Iterator, Sequence

from helmsman.plain import clean
from helmsman.verify.findings import join_some

_Function = ast.FunctionDef | ast.AsyncFunctionDef
CHANGED, NEW, NEW_INIT = "raise NotImplementedError", "return ...", "return"


def with_stubs(text: str, lines: Collection[int], before: str = "") -> str | None:
    """Return the text with a stub for each function that has one of these lines; None if there is none.

    `before`: the text on the base.
    """
    functions = _functions_in(text)
    existing = _functions_in(before).keys()
    stubs: dict[int, str] = {}
    for name, function in functions.items():
        place = None if lines_of(function).isdisjoint(lines) else _place_of_stub(function)
        if place:
            new = NEW_INIT if function.name == "__init__" else NEW
            stubs[place[0]] = f"{' ' * place[1]}{CHANGED if name in existing else new}"
    written = text.split("\n")
    for line in sorted(stubs, reverse=True):
        written.insert(line - 1, stubs[line])
    return "\n".join(written) if stubs else None


def lines_of(node: ast.stmt) -> frozenset[int]:
    return frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _functions_in(text: str) -> dict[str, _Function]:
    """Outermost functions by dotted name; none if the text cannot be parsed."""
    try:
        return dict(_outermost_functions(ast.parse(text).body, ""))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}


def _outermost_functions(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost_functions(node.body, f"{prefix}{node.name}.")


def _place_of_stub(function: _Function) -> tuple[int, int] | None:
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
    message = "the new tests also pass with stubs in place of the changed functions, so they do not check the change"
    return f"{message}: {join_some([clean(name) for name in tests])}" if tests else ""
