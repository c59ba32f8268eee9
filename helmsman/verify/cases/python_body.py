"""The assertions of a Python test, and what stands in their way."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from helmsman.verify.cases.kinds import HELPER, compact
from helmsman.verify.cases.model import Assertion, Guard, Kind
from helmsman.verify.cases.python_asserts import Claim, claims_of, method_claims, raises_claim
from helmsman.verify.cases.python_source import Source, last_name, truth

Function = ast.FunctionDef | ast.AsyncFunctionDef
_EXPECTING = frozenset(
    {"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "deprecated_call"}
)
_LONGEST = 2_000
"""Characters of an assertion that are kept."""
_MOST_CLAIMS = 100
"""Parts of one conjunction that are told apart."""
_CATCH_ALL = frozenset({"AssertionError", "Exception", "BaseException"})


def assertions_of(function: Function, source: Source) -> tuple[Assertion, ...]:
    return (*_rows(function, source), *_Body(source, _uses(function, source)).walk(function.body, Guard.PLAIN))


def _uses(function: Function, source: Source) -> Counter[str]:
    """How often each name stands in it, which matters where functions are defined in it."""
    return Counter(re.findall(r"\w+", source.of(function)) if any(isinstance(item, Function) for item in function.body) else ())


def _rows(function: Function, source: Source) -> Iterator[Assertion]:
    """The rows of `@pytest.mark.parametrize`; a list that stands elsewhere has none here."""
    for decorator in function.decorator_list:
        if last_name(decorator) == "parametrize" and isinstance(decorator, ast.Call) and len(decorator.args) > 1:
            yield from rows_of(decorator.args[1], source)


_MOST_ROWS = 2_000
"""Rows of one table that are read."""


def rows_of(table: ast.expr, source: Source) -> Iterator[Assertion]:
    """The rows of a list or dictionary that is written out."""
    if isinstance(table, ast.Dict):
        for key, value in zip(table.keys[:_MOST_ROWS], table.values, strict=False):
            subject, expected = compact(source.of(key)) if key is not None else "**", compact(source.of(value))
            yield Assertion(value.lineno, source.of(value), Kind.ROW, subject, expected)
    elif isinstance(table, ast.List | ast.Tuple | ast.Set):
        yield from (_row(row, source) for row in table.elts[:_MOST_ROWS])


def _row(row: ast.expr, source: Source) -> Assertion:
    parts = row.elts if isinstance(row, ast.Tuple | ast.List) else [row]
    if isinstance(row, ast.Call) and last_name(row) == "param":
        parts = row.args
    texts = [compact(source.of(part)) for part in parts]
    subject, expected = (",".join(texts[:-1]), texts[-1]) if len(texts) > 1 else (",".join(texts), "")
    return Assertion(row.lineno, source.of(row), Kind.ROW, subject, expected)


@dataclass(frozen=True)
class _Body:
    source: Source
    uses: Counter[str]

    def walk(self, statements: list[ast.stmt], guard: Guard) -> Iterator[Assertion]:
        for statement in statements:
            yield from self._statement(statement, guard)
            guard = max(guard, _leaves(statement))

    def _statement(self, statement: ast.stmt, guard: Guard) -> Iterator[Assertion]:  # noqa: PLR0911 (one return for each kind of statement)
        match statement:
            case ast.Assert():
                return self._made(claims_of(statement.test, self.source), statement, guard)
            case ast.Expr() | ast.Return() | ast.Assign() | ast.AnnAssign():
                return self._expression(statement, guard)
            case ast.With() | ast.AsyncWith():
                return self._with(statement, guard)
            case ast.If() | ast.While():
                return self._branches(statement, guard)
            case ast.For() | ast.AsyncFor():
                return self.walk(statement.body, max(guard, _never(truth(statement.iter) is False)))
            case ast.Try() | ast.TryStar():
                return self._try(statement, guard)
            case ast.Match():
                return (item for case in statement.cases for item in self.walk(case.body, max(guard, Guard.CONDITIONAL)))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                called = self.uses[statement.name] != 1
                return self.walk(statement.body, max(guard, _never(not called)))
            case _:
                return iter(())

    def _made(self, claims: list[Claim], node: ast.stmt, guard: Guard) -> Iterator[Assertion]:
        text = self.source.of(node)[:_LONGEST]
        for claim in claims[:_MOST_CLAIMS]:
            fields = (claim.kind, claim.subject, claim.expected, guard, claim.tolerance, claim.detail)
            yield Assertion(node.lineno, text, *fields)

    def _expression(self, statement: ast.stmt, guard: Guard) -> Iterator[Assertion]:
        value: ast.expr | None = getattr(statement, "value", None)
        call = value.value if isinstance(value, ast.Await) else value
        if not isinstance(call, ast.Call):
            return iter(())
        if last_name(call) in _EXPECTING:
            return self._made([raises_claim(call, self.source)], statement, guard)
        claims = method_claims(call, self.source)
        if not claims and isinstance(statement, ast.Expr) and HELPER.fullmatch(last_name(call)):
            claims = [Claim(Kind.CALL, compact(self.source.of(call)))]
        return self._made(claims, statement, guard)

    def _with(self, statement: ast.With | ast.AsyncWith, guard: Guard) -> Iterator[Assertion]:
        inner = guard
        for item in statement.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and last_name(call) in _EXPECTING:
                head = self.source.between(statement.lineno, statement.col_offset, call.end_lineno or 0, call.end_col_offset or 0)
                claim = raises_claim(call, self.source)
                yield replace(next(self._made([claim], statement, guard)), text=head)
            if isinstance(call, ast.Call) and last_name(call) in {"suppress", "raises", "assertRaises"} and _drops(call.args):
                inner = max(guard, Guard.SWALLOWED)
        yield from self.walk(statement.body, inner)

    def _branches(self, statement: ast.If | ast.While, guard: Guard) -> Iterator[Assertion]:
        known = truth(statement.test)
        unsure = Guard.CONDITIONAL if known is None and isinstance(statement, ast.If) else Guard.PLAIN
        yield from self.walk(statement.body, max(guard, unsure, _never(known is False)))
        yield from self.walk(statement.orelse, max(guard, unsure, _never(known is True)))

    def _try(self, statement: ast.Try | ast.TryStar, guard: Guard) -> Iterator[Assertion]:
        swallowed = any(_swallows(handler) for handler in statement.handlers)
        yield from self.walk(statement.body, max(guard, Guard.SWALLOWED) if swallowed else guard)
        for handler in statement.handlers:
            yield from self.walk(handler.body, max(guard, Guard.CONDITIONAL))
        yield from self.walk(statement.orelse, guard)
        yield from self.walk(statement.finalbody, guard)


def _never(unreachable: bool) -> Guard:
    return Guard.UNREACHABLE if unreachable else Guard.PLAIN


def _leaves(statement: ast.stmt) -> Guard:
    """What a statement does to those after it."""
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return Guard.UNREACHABLE
    if isinstance(statement, ast.If) and any(isinstance(item, ast.Return) for item in statement.body):
        known = truth(statement.test)
        return Guard.CONDITIONAL if known is None else _never(known)
    return Guard.PLAIN


def _drops(errors: list[ast.expr]) -> bool:
    """Whether a failed assertion is among what is caught."""
    flat = [item for error in errors for item in (error.elts if isinstance(error, ast.Tuple) else [error])]
    return any(last_name(item) in _CATCH_ALL for item in flat)


def _swallows(handler: ast.ExceptHandler) -> bool:
    catches = handler.type is None or _drops([handler.type])
    return catches and not any(_fails(node) for item in handler.body for node in ast.walk(item))


def _fails(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Call) and last_name(node) in {"fail", "exit"})
