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
    stubs: dict[tuple[int, int], str] = {}
    for name, function in functions.items():
        if not lines_of(function).isdisjoint(lines):
            new = NEW_INIT if function.name == "__init__" else NEW
            stubs[_place_of_stub(function)] = CHANGED if name in existing else new
    written = text.split("\n")
    for line, column in sorted(stubs, reverse=True):
        data, stub = written[line - 1].encode(), stubs[line, column]
        if data[:column].strip():  # the body of a function on one line
            written[line - 1] = f"{data[:column].decode()}{stub}; {data[column:].decode()}"
        else:
            written.insert(line - 1, f"{' ' * column}{stub}")
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


def _place_of_stub(function: _Function) -> tuple[int, int]:
    """Line and column, in bytes, of a first statement: after the docstring, unless there is nothing else."""
    has_docstring = ast.get_docstring(function, clean=False) is not None
    start = function.body[int(has_docstring and len(function.body) > 1)]
    decorators = start.decorator_list if isinstance(start, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
    return min(start.lineno, *(decorator.lineno for decorator in decorators)) if decorators else start.lineno, start.col_offset


def describe_unexercised(tests: Sequence[str] | None) -> str:
    """Describe new tests that pass with stubs; empty if there are none."""
    message = "the new tests also pass with stubs in place of the changed functions, so they do not check the change"
    return f"{message}: {join_some([clean(name) for name in tests])}" if tests else ""
