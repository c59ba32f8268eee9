"""What tests expect: which inputs of which function give which output, read from the tests' texts and never run."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from helmsman.verify.invariants.answers.literals import literal
from helmsman.verify.invariants.reading.python_code import Function, last_name, parse

ROWS = 300
"""Rows of tables in one test that are followed."""


@dataclass(frozen=True)
class Example:
    """One expectation; values are spelt as literals of the test's language."""

    function: str
    inputs: tuple[str, ...]
    output: str


Names = Mapping[str, ast.expr]


@lru_cache(maxsize=128)
def python_examples(text: str) -> tuple[Example, ...]:
    """Examples of a test module: asserts, unittest's methods, tables of parametrize and of loops."""
    tree = parse(text)
    if tree is None:
        return ()
    constants = dict(_assigned(tree.body))
    tests = [node for node in ast.walk(tree) if isinstance(node, Function)]
    return tuple(dict.fromkeys(example for test in tests for example in _of_test(test, constants)))


def _of_test(test: Function, constants: Names) -> Iterator[Example]:
    statements = list(_in_order(test.body))
    known = {**constants, **dict(_assigned(statements))}
    rows = [dict(row) for row in islice(_rows(test, statements, known), ROWS)] or [{}]
    for statement in statements:
        for call, expected in _expectations(statement):
            for row in rows:
                example = _example(call, expected, {**known, **row})
                if example is not None:
                    yield example


def _in_order(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    pending = [*body][::-1]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.With | ast.For | ast.If | ast.Try | ast.AsyncWith):
            pending += node.body[::-1]


def _assigned(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _rows(test: Function, statements: Iterable[ast.stmt], known: Names) -> Iterator[Names]:
    """What the names of tables stand for, row by row; two tables are multiplied."""
    tables = [_table(names, values, known) for names, values in _tables(test, statements)]
    for rows in product(*(table for table in tables if table)):
        merged = {name: value for row in rows for name, value in row.items()}
        if merged:
            yield merged


def _tables(test: Function, statements: Iterable[ast.stmt]) -> Iterator[tuple[list[str], ast.expr]]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator.func) == "parametrize" and len(decorator.args) > 1:
            yield _argument_names(decorator.args[0]), decorator.args[1]
    for node in statements:
        if isinstance(node, ast.For):
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            yield [last_name(target) for target in targets], node.iter


def _argument_names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant):
        return [name.strip() for name in str(node.value).split(",") if name.strip()]
    return [str(one.value) for one in getattr(node, "elts", []) if isinstance(one, ast.Constant)]


def _table(names: list[str], values: ast.expr, known: Names) -> list[dict[str, ast.expr]]:
    given = known.get(values.id, values) if isinstance(values, ast.Name) else values
    if isinstance(given, ast.Call) and last_name(given.func) == "items" and isinstance(given.func, ast.Attribute):
        inner = given.func.value
        table = known.get(inner.id, inner) if isinstance(inner, ast.Name) else inner
        pairs = zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ()
        return [dict(zip(names, (key, value), strict=False)) for key, value in pairs if key is not None][:ROWS]
    rows = given.elts[:ROWS] if isinstance(given, ast.List | ast.Tuple) else []
    return [dict(zip(names, _cells(row, len(names)), strict=False)) for row in rows]


def _cells(row: ast.expr, width: int) -> list[ast.expr]:
    if isinstance(row, ast.Call) and last_name(row.func) == "param":
        return row.args
    return row.elts if width > 1 and isinstance(row, ast.Tuple | ast.List) else [row]


_TRUE, _FALSE = ast.Constant(value=True), ast.Constant(value=False)
_EQUALITIES = frozenset(
    {"assertEqual", "assertEquals", "assertIs", "assertAlmostEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual"}
)


def _expectations(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is called and what is expected, in both orders where both could be meant."""
    if isinstance(node, ast.Assert):
        yield from _compared(node.test)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name, args = last_name(node.value.func), node.value.args
        if name in _EQUALITIES and len(args) > 1:
            yield from ((args[0], args[1]), (args[1], args[0]))
        elif name in {"assertTrue", "assertFalse"} and args:
            yield args[0], _TRUE if name == "assertTrue" else _FALSE


def _compared(test: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        yield from ((test.left, test.comparators[0]), (test.comparators[0], test.left))
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield test.operand, _FALSE
    elif isinstance(test, ast.Call | ast.Name):
        yield test, _TRUE
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        yield from (pair for value in test.values if not isinstance(value, ast.BoolOp) for pair in _compared(value))


def _example(call: ast.expr, expected: ast.expr, known: Names) -> Example | None:
    call, expected = _known(call, known), _known(expected, known)
    if isinstance(expected, ast.Call) and last_name(expected.func) == "approx" and expected.args:
        expected = _known(expected.args[0], known)
    if not isinstance(call, ast.Call) or not (call.args or call.keywords):
        return None
    inputs = [literal(_known(value, known)) for value in (*call.args, *(keyword.value for keyword in call.keywords))]
    output = literal(expected)
    given = tuple(one for one in inputs if one is not None)
    return Example(last_name(call.func), given, output) if output is not None and len(given) == len(inputs) else None


def _known(node: ast.expr, known: Names) -> ast.expr:
    return known.get(node.id, node) if isinstance(node, ast.Name) else node
