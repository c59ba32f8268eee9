"""Test cases of the form call-equals-literal in Python: which function is called with what, and what it has to give."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from posixpath import basename, dirname
from typing import Any

from helmsman.verify.call_cases import MOST_CASES, Calls, Case, Function

_EQUAL = frozenset({"assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertTupleEqual", "assertDictEqual"})
_BAD = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)

Env = dict[str, Any]
"""What names stand for, as far as they are literals."""
Names = dict[str, tuple[str, str]]
"""What names are imported from: module and name in it; an empty name for a module."""


def cases(tests: Mapping[str, str], sources: Mapping[str, str], paths: Collection[str]) -> list[Case]:
    """Those of functions that a changed source defines, in modules of the repository."""
    names = frozenset(name for text in sources.values() for name in defined(text))
    found = [case for text in tests.values() for case in cases_of(text) if case.function.name in names]
    files = {f"/{path}" for path in paths}
    modules = {case.function.module: case.function.module.replace(".", "/") for case in found}
    known = {
        module for module, path in modules.items() if any(one.endswith((f"/{path}.py", f"/{path}/__init__.py")) for one in files)
    }
    return [case for case in found if case.function.module in known]


def cases_of(text: str) -> list[Case]:
    """Those of a test file that need nothing but the call: no fixture, no patch, no state made before."""
    try:
        tree = ast.parse(text)
    except _BAD:
        return []
    names, env = _imports(tree), _constants(tree.body, {})
    tests = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test"))
    found = (case for test in tests for row in _rows(test, env) for case in _within(test.body, {**env, **row}, names))
    return [] if "autouse" in text else list(islice(found, MOST_CASES))


def defined(text: str) -> frozenset[str]:
    """Functions and names at the top of a module."""
    try:
        body = ast.parse(text).body
    except _BAD:
        return frozenset()
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    targets = (one for node in body if isinstance(node, ast.Assign) for one in node.targets)
    return frozenset(functions | {one.id for one in targets if isinstance(one, ast.Name)})


def literals(_path: str, text: str) -> list[Any]:
    """Numbers and short texts that a source holds, its docstrings left out."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except _BAD:
        return []
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found = (node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in documents)
    return [one for one in found if type(one) in {int, float, str} and len(str(one)) < 40]  # noqa: PLR2004 - keys, no texts


def search_paths(tests: Sequence[str]) -> list[str]:
    """Folders that a runner may import from: those above the tests, and `src` in them; the root is first."""
    folders = dict.fromkeys(above for path in tests for above in _above(path))
    return [path for folder in sorted(folders, key=len) for path in (folder or ".", f"{folder}/src".lstrip("/"))]


def is_python_source(path: str) -> bool:
    return path.endswith(".py") and basename(path) not in {"setup.py", "conftest.py"}


def _above(path: str) -> Iterator[str]:
    while path:
        path = dirname(path)
        yield path


def _imports(tree: ast.Module) -> Names:
    found: Names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(one.asname or one.name): (one.name, "") for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {(one.asname or one.name): (node.module, one.name) for one in node.names}
    return found


def _constants(body: Sequence[ast.stmt], env: Env) -> Env:
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            with suppress(*_BAD):
                env = {**env, node.targets[0].id: _value(node.value, env)}
    return env


class _Substitute(ast.NodeTransformer):
    def __init__(self, env: Env) -> None:
        self._env = env

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(repr(self._env[node.id]), mode="eval").body if node.id in self._env else node


def _value(node: ast.expr, env: Env) -> Any:
    """Raises ValueError and the like for what is no literal."""
    copied = ast.parse(ast.unparse(node), mode="eval").body
    return ast.literal_eval(_Substitute(env).visit(copied))


def _rows(test: ast.FunctionDef, env: Env) -> Iterator[Env]:
    """What the arguments of a test are in each of its runs; nothing where they are not literals alone."""
    asked = {one.arg for one in test.args.args} - {"self", "cls"}
    marks = [one for one in test.decorator_list if isinstance(one, ast.Call) and ast.unparse(one.func).endswith("parametrize")]
    others = [ast.unparse(one) for one in test.decorator_list if one not in marks]
    if len(marks) > 1 or any(not one.startswith("pytest.mark.") for one in others):
        return
    given = list(_parameters(marks[0], env)) if marks else [Env()]
    yield from (row for row in given if asked <= row.keys())


def _parameters(mark: ast.Call, env: Env) -> Iterator[Env]:
    with suppress(*_BAD):
        said = _value(mark.args[0], env)
        names = [one.strip() for one in said.split(",")] if isinstance(said, str) else list(said)
        rows = mark.args[1]
        items = rows.elts if isinstance(rows, ast.List | ast.Tuple) else [ast.Constant(one) for one in _value(rows, env)]
        for item in items:
            with suppress(*_BAD):
                yield _row(names, _param(item, env))


def _param(item: ast.expr, env: Env) -> Any:
    """The values of one row, of `pytest.param(...)` as well."""
    if isinstance(item, ast.Constant):
        return item.value
    if isinstance(item, ast.Call):
        values = tuple(_value(one, env) for one in item.args)
        return values[0] if len(values) == 1 else values
    return _value(item, env)


def _row(names: Sequence[str], values: Any) -> Env:
    return {names[0]: values} if len(names) == 1 else dict(zip(names, values, strict=True))


def _within(body: Sequence[ast.stmt], env: Env, names: Names) -> Iterator[Case]:
    for node in body:
        env = _constants([node], env)
        if isinstance(node, ast.For):
            yield from (case for row in _loop(node, env) for case in _within(node.body, {**env, **row}, names))
        elif isinstance(node, ast.With) and all(ast.unparse(one.context_expr).startswith("self.subTest") for one in node.items):
            yield from _within(node.body, env, names)
        elif isinstance(node, ast.Assert | ast.Expr):
            yield from _case(node, env, names)


def _loop(node: ast.For, env: Env) -> Iterator[Env]:
    target = node.target
    with suppress(*_BAD):
        for item in _value(node.iter, env):
            if isinstance(target, ast.Name):
                yield {target.id: item}
            elif isinstance(target, ast.Tuple) and all(isinstance(one, ast.Name) for one in target.elts):
                yield _row([ast.unparse(one) for one in target.elts], item)


def _case(node: ast.Assert | ast.Expr, env: Env, names: Names) -> Iterator[Case]:
    for call, other in _sides(node):
        function = _function(call.func, names) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and function:
            with suppress(*_BAD):
                args = tuple(_value(one, env) for one in call.args)
                kwargs = {one.arg or "**": _value(one.value, env) for one in call.keywords}
                yield Case(function, args, kwargs, _value(other, env))


def _sides(node: ast.Assert | ast.Expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Both orders of what is compared."""
    if isinstance(node, ast.Assert):
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
            yield from ((test.left, test.comparators[0]), (test.comparators[0], test.left))
    elif isinstance(node.value, ast.Call) and ast.unparse(node.value.func).rpartition(".")[2] in _EQUAL:
        left, right = [*node.value.args, ast.Name("_"), ast.Name("_")][:2]  # a name that stands for nothing is no literal
        yield from ((left, right), (right, left))


def _function(called: ast.expr, names: Names) -> Function | None:
    """What is called, where it is a function that the file imports."""
    path = ast.unparse(called)
    head, _, name = path.rpartition(".")
    if not head:
        module, inner = names.get(path, ("", ""))
        return Function(module, inner) if inner else None
    module, inner = names.get(head, ("", ""))
    return Function(f"{module}.{inner}".rstrip("."), name) if module else None


# --- calling them again ---------------------------------------------------------------------------------------------


def interpreter(commands: Sequence[str]) -> str:
    """The Python that the checks use, as words of a shell."""
    for command in commands:
        found = _RUNNER.search(command)
        if found and found["manager"]:
            return f"{found['manager']} python"
        if found and found["python"]:
            return found["python"]
        if found:
            return f"$(sed -n '1s/^#!//p' \"$(command -v {found['pytest']})\")"
    return "$(for one in venv/bin/python .venv/bin/python; do [ -x $one ] && echo $one && exit; done; echo python3)"


def script(batch: Sequence[Calls], tests: Sequence[str], mark: str) -> str:
    """A program that makes the calls and prints what came of them, in a line that begins with the mark."""
    asked = [(*one.function, [(case.args, case.kwargs, case.expected) for case in one.own], list(one.near)) for one in batch]
    return _SCRIPT.format(paths=search_paths(tests), asked=asked, mark=mark)


_RUNNER = re.compile(
    r"(?P<manager>(?:uv|poetry|pipenv|hatch|pdm|rye) run)\b"
    r"|(?P<python>(?:[\w./-]*/)?python[0-9.]*)(?=\s|$)"
    r"|(?P<pytest>(?:[\w./-]*/)?py\.?test)(?=\s|$)"
)
_SCRIPT = """\
import copy, hashlib, importlib, json, re, signal, sys

sys.path[:0] = {paths!r}
sys.dont_write_bytecode = True


class Slow(BaseException):
    pass


def late(*_):
    raise Slow


def call(function, args, kwargs):
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        return "value", function(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Slow:
        return "unclear", None
    except BaseException as error:
        return "error", type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def told(kind, value):
    if kind != "value":
        return kind, value or ""
    if value == object():  # nothing honest equals an object that was made just now
        return "equal", type(value).__name__
    if hasattr(value, "__next__") or hasattr(value, "__await__"):
        return "unclear", ""
    text = re.sub("0x[0-9a-f]+", "0x", repr(value))
    return kind, text if len(text) < 60 else text[:40] + hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def answers(module, name, own, near):
    try:
        function = getattr(importlib.import_module(module), name)
        given = [(call(function, args, kwargs), expected) for args, kwargs, expected in own]
        right = sum(outcome == ("value", expected) for outcome, expected in given)
        return right, [told(*outcome) for outcome, _ in given], [told(*call(function, *values)) for values in near]
    except BaseException:
        return None


signal.signal(signal.SIGALRM, late)
found = [answers(*one) for one in {asked!r}]
print("\\n" + {mark!r} + json.dumps(found), file=sys.__stdout__, flush=True)
"""
