"""What makes Python tests not run, or lets them fail."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from helmsman.verify.cases.asked import asked_by
from helmsman.verify.cases.model import Skip, SkipKind
from helmsman.verify.cases.python_source import Source, dotted, keyword, last_name, truth
from helmsman.verify.cases.words import names_in

_MARKS = frozenset({"skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure", "SkipTest", "importorskip"})
_CALLS = frozenset({"pytest.skip", "pytest.xfail", "self.skipTest", "unittest.skip", "cls.skipTest"})
_MARKED_ROW = re.compile(r"marks\s*=[^\n]{0,80}?mark\.(?:skip|xfail)")
_BY_NAME = re.compile(r"\b(?:request\.node|nodeid|originalname|item\.name)\b")
_ENVIRONMENTAL = re.compile(
    r"Import|ModuleNotFound|OSError|IOError|EnvironmentError|Connect|Timeout|Permission|FileNotFound|[Ss]ocket|gaierror|Operational"
    r"|Unavailable|Network|Docker|URLError|HTTPError|RequestException|CalledProcess|NotInstalled|Display|TclError|Credential"
)
"""Errors that tell of the machine and not of the code."""
_ADDED_MARK = re.compile(r"mark\.(?:skip|xfail)")


def marked(decorators: list[ast.expr], holder: str, source: Source) -> Iterator[Skip]:
    """Read the decorators of a function or class, or what `pytestmark` is set to."""
    for mark in decorators:
        if last_name(mark) in _MARKS:
            yield Skip(mark.lineno, f"@{source.of(mark)}", _kind_of(mark), holder, _asked(mark, source))
        elif last_name(mark) == "parametrize":
            yield from _marked_rows(mark, holder, source)


def _asked(mark: ast.expr, source: Source) -> str:
    name = last_name(mark)
    condition = _condition(mark, name) if isinstance(mark, ast.Call) else None
    if condition is None or name == "xfail":
        return ""
    return asked_by(source.of(condition), source.text, runs_where_it_holds=name == "skipUnless")


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
    compared: frozenset[str] = frozenset()
    """Variables that are asserted on themselves, and not only through their attributes and methods."""

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
                body = self.walk(statement.body if known is not False else [], unsure)
                yield from self._asking(statement.test, body, runs=False)
                others = self.walk(statement.orelse if known is not True else [], unsure)
                yield from self._asking(statement.test, others, runs=True)
            case ast.Try() | ast.TryStar():
                yield from self.walk(statement.body, kind)
                for handler in statement.handlers:
                    yield from self.walk(handler.body, kind if self._hides(statement, handler) else SkipKind.CONDITION)
                yield from self.walk([*statement.orelse, *statement.finalbody], kind)
            case ast.With() | ast.AsyncWith():
                yield from self.walk(statement.body, kind)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from self.walk(statement.body, SkipKind.CONDITION)
            case _:
                return

    def _asking(self, condition: ast.expr, skips: Iterator[Skip], *, runs: bool) -> Iterator[Skip]:
        """Skips below a condition, with what it asks for; it is looked at where there is one."""
        for skip in skips:
            asks = skip.asks or asked_by(self.source.of(condition), self.source.text, runs_where_it_holds=runs)
            yield replace(skip, asks=asks)

    def _hides(self, statement: ast.Try | ast.TryStar, handler: ast.ExceptHandler) -> bool:
        """Whether the error is that of the code under test: it does not tell of the machine, and a result was tried for."""
        caught = self.source.of(handler.type) if handler.type is not None else ""
        if _ENVIRONMENTAL.search(caught):
            return False
        asserts = any(isinstance(item, ast.Assert) for item in statement.body)
        targets = (target for item in statement.body if isinstance(item, ast.Assign) for target in item.targets)
        tried = {target.id for target in targets if isinstance(target, ast.Name)}
        return asserts or not self.compared.isdisjoint(tried)

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
