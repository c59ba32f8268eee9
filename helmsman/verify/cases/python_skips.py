"""What makes Python tests not run, or lets them fail."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from helmsman.verify.cases.model import Skip, SkipKind
from helmsman.verify.cases.python_source import Source, dotted, keyword, last_name, truth
from helmsman.verify.cases.words import names_in

_MARKS = frozenset({"skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure", "SkipTest", "importorskip"})
_CALLS = frozenset({"pytest.skip", "pytest.xfail", "self.skipTest", "unittest.skip", "cls.skipTest"})
_MARKED_ROW = re.compile(r"marks\s*=[^\n]{0,80}?mark\.(?:skip|xfail)")
_BY_NAME = re.compile(r"\b(?:request\.node|nodeid|originalname|item\.name)\b")
_ADDED_MARK = re.compile(r"mark\.(?:skip|xfail)")


def marked(decorators: list[ast.expr], holder: str, source: Source) -> Iterator[Skip]:
    """Read the decorators of a function or class, or what `pytestmark` is set to."""
    for mark in decorators:
        if last_name(mark) in _MARKS:
            yield Skip(mark.lineno, f"@{source.of(mark)}", _kind_of(mark), holder)
        elif last_name(mark) == "parametrize":
            yield from _marked_rows(mark, holder, source)


def _marked_rows(mark: ast.expr, holder: str, source: Source) -> Iterator[Skip]:
    for offset, line in enumerate(source.of(mark).split("\n")):
        if _MARKED_ROW.search(line):
            kind = SkipKind.CONDITION if "skipif" in line else SkipKind.ALWAYS
            yield Skip(mark.lineno + offset, line.strip(), kind, holder)


def _kind_of(mark: ast.expr) -> SkipKind:
    """`skipUnless` runs where its condition holds; all others where it does not."""
    call = mark if isinstance(mark, ast.Call) else None
    name = last_name(mark)
    if name == "importorskip":
        return SkipKind.CONDITION
    condition = _condition(call, name)
    if condition is None:
        return SkipKind.ALWAYS
    known = _text_truth(condition)
    always = known is (name != "skipUnless")
    return SkipKind.ALWAYS if always else SkipKind.CONDITION


def _condition(call: ast.Call | None, name: str) -> ast.expr | None:
    if call is None or name not in {"skipif", "xfail", "skipIf", "skipUnless"}:
        return None
    return call.args[0] if call.args else keyword(call, "condition")


def _text_truth(condition: ast.expr) -> bool | None:
    """Pytest takes conditions as text as well."""
    if isinstance(condition, ast.Constant) and isinstance(condition.value, str):
        return {"True": True, "1": True, "False": False, "0": False}.get(condition.value.strip())
    return truth(condition)


@dataclass(frozen=True)
class Skipping:
    """Finds skips among statements: of a file, a class or a function."""

    source: Source
    holder: str
    results: frozenset[str] = frozenset()
    """Variables that hold what the code under test gave: a skip that depends on them hides a failure."""

    def walk(self, statements: list[ast.stmt], kind: SkipKind = SkipKind.ALWAYS) -> Iterator[Skip]:
        for statement in statements:
            yield from self._statement(statement, kind)

    def _statement(self, statement: ast.stmt, kind: SkipKind) -> Iterator[Skip]:
        match statement:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call) | ast.Return(value=ast.Call() as call):
                yield from self._call(call, statement, kind)
            case ast.Raise(exc=ast.expr() as error) if last_name(error) == "SkipTest" or "skip.Exception" in dotted(error):
                yield Skip(statement.lineno, self.source.of(statement), kind, self.holder)
            case ast.If():
                known = truth(statement.test)
                unsure = SkipKind.CONDITION if known is None and not self._picks(statement.test) else kind
                yield from self.walk(statement.body if known is not False else [], unsure)
                yield from self.walk(statement.orelse if known is not True else [], unsure)
            case ast.Try() | ast.TryStar():
                yield from self.walk(statement.body, kind)
                for handler in statement.handlers:
                    yield from self.walk(handler.body, SkipKind.CONDITION)
                yield from self.walk([*statement.orelse, *statement.finalbody], kind)
            case ast.With() | ast.AsyncWith():
                yield from self.walk(statement.body, kind)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from self.walk(statement.body, SkipKind.CONDITION)
            case _:
                return

    def _picks(self, condition: ast.expr) -> bool:
        """Whether it picks tests by their names or by their results, and not by the machine."""
        text = self.source.of(condition)
        return bool(_BY_NAME.search(text)) or not self.results.isdisjoint(names_in(text))

    def _call(self, call: ast.Call, statement: ast.stmt, kind: SkipKind) -> Iterator[Skip]:
        name = dotted(call)
        if last_name(call) == "importorskip":
            yield Skip(statement.lineno, self.source.of(statement), SkipKind.CONDITION, self.holder)
        elif (
            name in _CALLS
            or (name in {"skip", "xfail", "skipTest", "importorskip"} and isinstance(statement, ast.Expr))
            or (last_name(call) == "add_marker" and _ADDED_MARK.search(self.source.of(call)))
        ):
            yield Skip(statement.lineno, self.source.of(statement), kind, self.holder)
