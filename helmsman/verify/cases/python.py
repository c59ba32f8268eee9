"""Tests in Python sources, as pytest and unittest collect them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from helmsman.python_of import python_of
from helmsman.verify.cases.model import Case, Reading, Skip, SkipKind
from helmsman.verify.cases.python_body import Function, assertions_of, rows_of
from helmsman.verify.cases.python_skips import Skipping, marked
from helmsman.verify.cases.python_source import Source, dotted, last_name, truth
from helmsman.verify.cases.words import names_in

_COMMENT = re.compile(r"(?m)^[ \t]*+#.*$")
_ASKED_FOR = re.compile(r"if (?!not\b)[^\n]*\b(?:environ|getenv)\b")
"""A condition that holds only where somebody set a variable for it."""
SHADOWED = "a later test has its name"
_BELOW_FALSE = "it stands below a condition that is never true"


def read_python(path: str, text: str) -> Reading | None:
    """Read a file; None where it is no Python that can be parsed."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    tree = python_of(plain)
    if tree is None:
        return None
    try:
        reader = _Reader(path, Source(plain), _bases_of_collected(tree))
        reader.statements(tree.body, _Place(why=_put_out(tree.body)))
    except RecursionError:
        return None
    return reader.reading("\n".join(_COMMENT.findall(plain)))


def _put_out(body: list[ast.stmt]) -> str:
    """Why nothing in a file or class is collected, where it says so itself; `Base.__test__ = False` speaks of Base alone."""
    settings = (item for item in body if isinstance(item, ast.Assign) and "__test__" in map(dotted, item.targets))
    return "`__test__` is false" if any(truth(item.value) is False for item in settings) else ""


def _results(node: Function, case: Case) -> frozenset[str]:
    """Variables that are set from a call and asserted on: what comes out of the code under test."""
    calls = (item for item in node.body if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call | ast.Await))
    names = {target.id for item in calls for target in item.targets if isinstance(target, ast.Name)}
    return frozenset(names & {name for item in case.assertions for name in names_in(item.subject)})


def _compared(case: Case) -> frozenset[str]:
    return frozenset(item.subject for item in case.assertions)


def _bases_of_collected(tree: ast.Module) -> frozenset[str]:
    """A class without a test's name is collected through a class that has one."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return frozenset(last_name(base) for node in classes if _is_collected(node, frozenset()) for base in node.bases)


def _is_collected(node: ast.ClassDef, bases: frozenset[str]) -> bool:
    named = node.name.startswith("Test") or node.name in bases
    return named or any("Test" in name or name.endswith("Case") for name in map(last_name, node.bases))


@dataclass(frozen=True)
class _Place:
    """Where statements stand."""

    classes: tuple[str, ...] = ()
    why: str = ""
    """Why nothing there is collected."""
    condition: ast.If | None = None
    inner: bool = False
    """Whether the statements around them were looked through for skips already, these with them."""

    def named(self, name: str) -> str:
        return ".".join((*self.classes, name))


@dataclass
class _Reader:
    path: str
    source: Source
    bases: frozenset[str]
    cases: dict[str, Case] = field(default_factory=dict[str, Case])
    """By name: of two tests with one name the later is the one that runs."""
    classes: set[str] = field(default_factory=lambda: {""})
    """Names of the classes so far; the empty one is the file."""
    others: list[Case] = field(default_factory=list[Case])
    skips: list[Skip] = field(default_factory=list[Skip])
    gates: list[str] = field(default_factory=list[str])

    def reading(self, commented: str) -> Reading:
        return Reading(tuple(self.cases.values()), tuple(self.others), tuple(self.skips), tuple(self.gates), commented)

    def statements(self, body: list[ast.stmt], place: _Place) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(node, place)
                case ast.ClassDef():
                    self._class(node, place)
                case ast.If():
                    self._if(node, place)
                case ast.Try() | ast.TryStar() | ast.With() | ast.AsyncWith() | ast.For() | ast.AsyncFor() | ast.While():
                    self._nested(node, place)
                case ast.Assign() | ast.AnnAssign() | ast.Delete():
                    self._binding(node, place)
                case _:
                    pass
        if not (place.why or place.inner):
            self.skips.extend(Skipping(self.source, ".".join(place.classes)).walk(body))

    def _nested(self, node: ast.stmt, place: _Place) -> None:
        blocks: list[list[ast.stmt]] = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        handlers: list[ast.ExceptHandler] = getattr(node, "handlers", [])
        for body in [*blocks, *(handler.body for handler in handlers)]:
            self.statements(body, replace(place, inner=True))

    def _if(self, node: ast.If, place: _Place) -> None:
        known = truth(node.test)
        is_typing = dotted(node.test).endswith("TYPE_CHECKING")
        for body, runs in ((node.body, known is not False and not is_typing), (node.orelse, known is not True)):
            condition = node if known is None and runs else place.condition
            why = place.why or ("" if runs else _BELOW_FALSE)
            self.statements(body, replace(place, why=why, condition=condition, inner=True))

    def _binding(self, node: ast.Assign | ast.AnnAssign | ast.Delete, place: _Place) -> None:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
        value = None if isinstance(node, ast.Delete) else node.value
        for target in targets:
            self._bound(dotted(target), value, place)
            if isinstance(target, ast.Name) and isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict):
                rows = tuple(rows_of(value, self.source))
                self.others.append(Case(self.path, place.named(target.id), node.lineno, self.source.of(node), rows))

    def _bound(self, name: str, value: ast.expr | None, place: _Place) -> None:
        holder = ".".join(place.classes)
        if name == "pytestmark" and value is not None:
            marks = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            self.skips.extend(marked(marks, holder, self.source))
        elif name.endswith(".__test__") and value is not None and truth(value) is False:
            self._put_out(".".join(part for part in (holder, name.rpartition(".")[0]) if part), "`__test__` is false")
        elif place.named(name) in self.cases:
            self._put_out(place.named(name), "its name is given to something else")

    def _put_out(self, name: str, why: str) -> None:
        inside = [key for key in self.cases if not name or key.startswith(f"{name}.")] if name in self.classes else [name]
        for key in inside:
            if key in self.cases:
                self.others.append(replace(self.cases.pop(key), dormant=why))

    def _class(self, node: ast.ClassDef, place: _Place) -> None:
        name = place.named(node.name)
        why = place.why or ("" if _is_collected(node, self.bases) else f"class {node.name} is not collected")
        why = why or _put_out(node.body)
        if not why and any(isinstance(item, ast.FunctionDef) and item.name == "__init__" for item in node.body):
            why = "" if any(map(last_name, node.bases)) else f"class {node.name} has an __init__"
        self.skips.extend(marked(node.decorator_list, name, self.source))
        self._put_out(name, f"class {node.name} is defined again")
        self.classes.add(name)
        self.statements(node.body, _Place((*place.classes, node.name), why, place.condition))

    def _function(self, node: Function, place: _Place) -> None:
        name = place.named(node.name)
        case = Case(self.path, name, node.lineno, self._text(node), assertions_of(node, self.source))
        is_test = node.name.startswith("test") and not any(last_name(item) == "fixture" for item in node.decorator_list)
        self.skips.extend(marked(node.decorator_list, name, self.source))
        self.skips.extend(Skipping(self.source, name, _results(node, case), _compared(case)).walk(node.body))
        if place.condition is not None and is_test and not place.why:
            line = f"if {self.source.of(place.condition.test)}:"
            kind = SkipKind.ALWAYS if _ASKED_FOR.search(line) else SkipKind.CONDITION
            self.skips.append(Skip(place.condition.lineno, line, kind, name))
        if is_test and not place.why:
            if name in self.cases:
                self.others.append(replace(self.cases[name], dormant=SHADOWED))
            self.cases[name] = case
        else:
            self.others.append(replace(case, dormant=place.why or f"a function called {node.name} is not collected"))
        self.others.extend(self._inner(node, name))

    def _text(self, node: Function) -> str:
        """With its decorators, without its docstring."""
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        text = self.source.between(first, 0, node.end_lineno or first, node.end_col_offset or 0)
        match node.body[0]:
            case ast.Expr(value=ast.Constant(value=str())) as docstring:
                return text.replace(self.source.of(docstring), "", 1)
            case _:
                return text

    def _inner(self, node: Function, name: str) -> Iterator[Case]:
        why = f"it stands inside of {node.name}"
        for item in node.body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Case(self.path, f"{name}.{item.name}", item.lineno, self._text(item), assertions_of(item, self.source), why)
