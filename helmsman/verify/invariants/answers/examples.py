"""What tests expect: which inputs of which function give which output, read from the tests' texts and never run."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from helmsman.verify.invariants.reading.python_code import Function, last_name, parse

_DEEPEST = 6
_ROWS = 300
"""Rows of tables in one test that are followed."""


@dataclass(frozen=True)
class Example:
    """One expectation; values are spelt as literals of the test's language."""

    function: str
    inputs: tuple[str, ...]
    output: str


def literal(node: ast.expr | None, depth: int = 0) -> str | None:
    """A literal in one spelling, or None where it is none. `-1` and `[1, "a"]` are, `x` and `1 + 1` are not."""
    if isinstance(node, ast.Constant):
        return None if node.value is ... else repr(node.value)[:2000]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand, depth + 1) if depth < _DEEPEST else None
        return None if inner is None else f"-{inner}"
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and depth < _DEEPEST:
        items = [literal(item, depth + 1) for item in node.elts[:200]]
        return None if None in items else f"{type(node).__name__[0]}({', '.join(map(str, items))})"
    if isinstance(node, ast.Dict) and depth < _DEEPEST:
        parts = [literal(part, depth + 1) for pair in zip(node.keys, node.values, strict=True) for part in pair]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return None if None in parts else f"D({', '.join(f'{key}: {value}' for key, value in pairs)})"
    return None


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
    rows = [dict(row) for row in islice(_rows(test, statements, known), _ROWS)] or [{}]
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
        return [dict(zip(names, (key, value), strict=False)) for key, value in pairs if key is not None][:_ROWS]
    rows = given.elts[:_ROWS] if isinstance(given, ast.List | ast.Tuple) else []
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


# other languages, line by line ------------------------------------------------------------------------------------------

LITERAL = (
    r"(?:-?0[xX][0-9a-fA-F_]{1,40}|-?[0-9][0-9_]{0,40}(?:\.[0-9]{1,40})?"
    r"|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|\b(?:true|false|null|nil|None)\b)"
)
RESULT = rf"(?:{LITERAL}|\(\s?{LITERAL}(?:\s?,\s?{LITERAL}){{1,5}}\s?\)|\[\s?{LITERAL}(?:\s?,\s?{LITERAL}){{0,9}}\s?\])"
"""What may come out: a literal, or a tuple or a list of some."""
_CALL = rf"\b(\w{{1,80}})\(\s?({LITERAL}(?:,\s?{LITERAL}){{0,9}})\s?\)"
_THEN = (
    r"(?:\s?[;,]\s?(?:got\s?)?(?:!=|==)?\s?|;\s?\w{1,40}\s?[!=]=\s?|\s?[!=]={1,2}\s?"
    r"|\)\s?\.\s?(?:toBe|toEqual|toStrictEqual|isEqualTo|to\.equal|to\.eql|to\.be)\(\s?|\)\.to\s?\(?(?:eq|eql|be)[ (]\s?)"
)
_CALL_THEN = re.compile(rf"{_CALL}(?:{_THEN})({RESULT})")
_THEN_CALL = re.compile(rf"({RESULT})\s?,\s?(?:&?\w{{1,40}}(?:\.|::|->))?{_CALL}")
_ROW = re.compile(rf"[\[{{(]\s?((?:\w{{1,40}}\s?:\s?)?{LITERAL}(?:,\s?(?:\w{{1,40}}\s?:\s?)?{LITERAL}){{1,9}})\s?,?\s?[\]}})]")
_ENTRY = re.compile(rf"({LITERAL})\s?(?:=>|:)\s?({RESULT})\s?(?=[,}}\]\n])")
"""A row of a map whose keys are inputs."""
_VALUES = re.compile(LITERAL)
_CALLED = re.compile(r"\b(\w{1,80})\(\s?(?:\w{1,40}\.)?\w{1,40}\s?[,)]")


def spelt(text: str) -> str:
    """A literal of another language, or a tuple or a list of some, in one spelling."""
    if text[:1] in {"(", "["}:
        return f"{'T' if text[0] == '(' else 'L'}({', '.join(_inputs(text))})"
    if text[:1] in {"'", '"'}:
        return f'"{text[1:-1]}"'
    bare = text.replace("_", "")
    return str(int(bare, 16)) if _HEX.fullmatch(bare) else bare


_HEX = re.compile(r"-?0[xX][0-9a-fA-F]{1,40}")


def parsed(text: str) -> ast.expr | None:
    """A literal as Python reads it, or None where it reads none."""
    tree = parse(text)
    first = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    return first.value if isinstance(first, ast.Expr) else None


@lru_cache(maxsize=128)
def other_examples(text: str) -> tuple[Example, ...]:
    """Examples of a test file of another language: `expect(f(2, 3)).toBe(5)`, `assert_eq!(f(2), 5)`, tables of rows."""
    found = [Example(call[1], _inputs(call[2]), spelt(call[3])) for call in _CALL_THEN.finditer(text)]
    found += [Example(call[2], _inputs(call[3]), spelt(call[1])) for call in _THEN_CALL.finditer(text)]
    rows = [_inputs(row[1]) for row in islice(_ROW.finditer(text), _ROWS)]
    rows += [((spelt(row[1])), spelt(row[2])) for row in islice(_ENTRY.finditer(text), _ROWS)]
    rows += list(islice(_csv_rows(text), _ROWS))
    called = list(dict.fromkeys(_CALLED.findall(text)))[:50] if rows else []
    found += [Example(name, row[first:-1], row[-1]) for name in called for row in rows for first in (0, 1) if row[first:-1]]
    return tuple(dict.fromkeys(found))


_CSV = re.compile(
    r"CsvSource\b\s?\(([^@]{1,5000}?)\)\s{0,80}"
    r"(?:@|public\b|void\b|fun\b|internal\b|protected\b)"
)
_CSV_ROW = re.compile(r"\"([^\"\n]{1,300}[,;|][^\"\n]{0,300})\"|^[ \t]{0,40}([^\"\n]{1,200}[,;|][^\"\n]{1,200})$", re.MULTILINE)


def _csv_rows(text: str) -> Iterator[tuple[str, ...]]:
    """Rows of `@CsvSource({"word,divided"})`."""
    for table in _CSV.finditer(text):
        for row in _CSV_ROW.finditer(table[1]):
            yield tuple(_cell(cell.strip()) for cell in re.split(r"[,;|]", row[1] or row[2]))


def _cell(text: str) -> str:
    return spelt(text if re.fullmatch(LITERAL, text) else f'"{text}"')


def _inputs(text: str) -> tuple[str, ...]:
    return tuple(spelt(value) for value in _VALUES.findall(text))
