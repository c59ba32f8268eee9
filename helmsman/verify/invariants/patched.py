"""Tests that no longer test the project: its own code, the network or the clock replaced where they were real."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.doubles import REPORTER
from helmsman.verify.invariants.doubles.javascript import patched_javascript
from helmsman.verify.invariants.doubles.ruby import patched_ruby
from helmsman.verify.invariants.doubles.subject import patched_subject
from helmsman.verify.invariants.reading.additions import Addition, additions
from helmsman.verify.invariants.reading.kinds import is_test, language, serves_tests
from helmsman.verify.invariants.reading.python_code import (
    Function,
    Part,
    body_without_docstring,
    changed_parts,
    dotted,
    former_parts,
    last_name,
)
from helmsman.verify.invariants.reading.reporter import Spot, most_important
from helmsman.verify.invariants.scene import Scene

_OUTSIDE = frozenset({
    "socket", "requests", "urllib", "urllib3", "urlopen", "httpx", "aiohttp", "http", "smtplib", "ssl", "boto3", "responses",
    "respx", "requests_mock", "time", "datetime", "date", "sleep", "monotonic", "perf_counter", "freezegun", "freeze_time",
    "time_machine",
})  # fmt: skip
"""The network and the clock."""
_ASSERTION = re.compile(
    r"(?:unittest|pytest|_pytest|hypothesis|numpy\.testing|pandas\.testing|django\.test)\.(?:[\w.]{1,100}\.)?"
    r"(?:assert\w{1,60}|_?base\w{0,20}Assert\w{0,40}|fail\w{0,40}|raises|approx|failureException|run|debug|given|Failed)"
)
"""What tests fail by."""
_WHAT = {
    "own": "the project's own code",
    "outside": "the network or the clock",
    "assertion": "what tests fail by",
}
_PATCHES = frozenset({"patch", "mock.patch", "mocker.patch", "unittest.mock.patch"})
_SETS = frozenset({"setattr", "delattr", "setitem"})
_FIXED_CLOCK = frozenset({"freeze_time", "travel"})
_SETUP = re.compile(r"set_?up(?:Class|_class|_method|_module|_function|Module|TestData)?|pytest_\w+|asyncSetUp")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([^)#\n]{1,2000}(?:\n[^)#=]{0,2000}\))?)|import[ \t]+([^\n#]{1,500}))",
    re.MULTILINE,
)
_NAMED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_DEF = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_NOT_OURS = frozenset({"tests", "test", "testing", "conftest", "docs", "src", "lib", "setup"})


@dataclass(frozen=True)
class _Patch:
    owner: str
    """Name of the class it stands in, else empty."""
    scope: str
    """Name of the function it stands in; empty at the top of the module or the class."""
    target: str
    """What is replaced, with its module's full name."""
    line: int
    lasting: bool
    """Whether it holds for every test: at the top, in a setup or in an automatic fixture."""
    asserted: bool = False
    """Whether the function that it stands in asserts what comes of a call of it."""
    refuses: bool = False
    """Whether what takes its place only raises."""


def patched(scene: Scene) -> Iterable[Finding]:
    """Rule `patched`: replacements that were added to conftest.py and to tests that were there."""
    return most_important(_findings(scene))


def _findings(scene: Scene) -> Iterator[Finding]:
    ours = None
    for addition in (one for one in additions(scene.diff) if one.lines):
        path, kind = addition.file.path, language(addition.file.path)
        if kind == "python":
            if serves_tests(path) and _MIGHT.search(addition.text):
                ours = _own_modules(scene) if ours is None else ours
                yield from _in_python(addition, ours | _asserted_modules(addition, scene))
        elif kind == "javascript":
            yield from _in_javascript(addition)
        else:
            yield from patched_ruby(addition, scene) if kind == "ruby" else ()
            yield from patched_subject(addition)


def _in_javascript(addition: Addition) -> Iterator[Finding]:
    """What stands on one line is told once."""
    found = list(patched_javascript(addition))
    told = {finding.line for finding in found if finding.weight is Weight.BLOCK}
    yield from found
    yield from (finding for finding in patched_subject(addition) if finding.line not in told)


def _holds_for_all(path: str) -> bool:
    """conftest.py, and helpers and plug-ins of tests, which hold for every test that loads them."""
    return path.rpartition("/")[2] == "conftest.py" or not is_test(path)


_MIGHT = re.compile(r"patch|sys\.modules|setattr|delattr|freeze_time|travel|^[ \t]*\w+(?:\.\w+)+ *=[^=]", re.MULTILINE)


def _own_modules(scene: Scene) -> frozenset[str]:
    """Names by which the project's own code is imported, as far as the tree tells."""
    paths = (*scene.paths, *(file.path for file in scene.diff))
    python = (path.removeprefix("src/").removeprefix("lib/") for path in paths if path.endswith(".py") and not is_test(path))
    return frozenset(path.partition("/")[0].removesuffix(".py") for path in python) - _NOT_OURS


def _asserted_modules(addition: Addition, scene: Scene) -> frozenset[str]:
    """Modules of which a test asserts what a helper replaces; the tree may be too large to tell whose they are."""
    if is_test(addition.file.path):
        return frozenset()
    changed = (text for file in scene.diff if is_test(file.path) and (text := file.after))
    texts = [text for text in (*changed, *scene.tests.values()) if len(text) < _LARGEST]
    asserted = "\n".join(line[:500] for text in texts for line in text.split("\n") if "assert" in line)
    replaced = {(root, name) for root, name in _SET_AT_TOP.findall(addition.text) if f"{name}(" in asserted}
    return frozenset(root for root, _ in replaced if any(re.search(rf"\b(?:import|from)[ \t]+{root}\b", text) for text in texts))


_SET_AT_TOP = re.compile(r"^(\w{1,80})\.(?:\w{1,80}\.){0,6}(\w{1,80}) *= *[^=]", re.MULTILINE)
_LARGEST = 300_000


def _in_python(addition: Addition, ours: frozenset[str]) -> Iterator[Finding]:
    file = addition.file
    imported = _imports(file.after or "")
    now = [patch for part in changed_parts(file) for patch in _patches(part, imported)]
    before = [patch for part in former_parts(file) for patch in _patches(part, _imports(file.before or ""))]
    there = frozenset(_DEF.findall(file.before or ""))
    for kind in ("own", "outside", "assertion"):
        spare = Counter((patch.owner, patch.scope) for patch in before if _kind(patch, ours) == kind)
        for patch in sorted((one for one in now if _kind(one, ours) == kind), key=lambda one: one.line):
            place = (patch.owner, patch.scope)
            spare[place] -= 1
            weight = _weight(patch, kind, there, file.path, new=file.before is None) if spare[place] < 0 else None
            if weight is not None:
                yield _told(patch, kind, weight, addition)


def _told(patch: _Patch, kind: str, weight: Weight, addition: Addition) -> Finding:
    text = next((line.text for line in addition.lines if line.number == patch.line), patch.target)
    what = _WHAT[kind]
    message = f"{patch.target}, {what}, is replaced in {patch.scope or addition.file.path.rpartition('/')[2]}"
    return REPORTER.tell(weight, Spot(addition.file.path, patch.line, text), message)


def _kind(patch: _Patch, ours: frozenset[str]) -> str:
    """`own`, `outside`, `assertion`, or nothing that matters."""
    parts = patch.target.split(".")
    if _ASSERTION.fullmatch(patch.target):
        return "assertion"
    if any(part in _OUTSIDE for part in parts):
        return "" if patch.refuses else "outside"
    return "own" if parts[0] in ours or patch.asserted else ""


def _weight(patch: _Patch, kind: str, there: frozenset[str], path: str, *, new: bool) -> Weight | None:
    existing = patch.scope in there if patch.scope else patch.owner in there
    if kind == "assertion":
        return Weight.BLOCK if existing or patch.lasting or _holds_for_all(path) else Weight.HINT
    if _holds_for_all(path):
        holds = patch.lasting or (existing and kind == "own")
        weight = Weight.BLOCK if holds else Weight.HINT if kind == "own" else None
    elif new or (patch.owner and patch.owner not in there):
        weight = Weight.BLOCK if not patch.owner and not patch.scope else None
    else:
        weight = Weight.BLOCK if patch.lasting or existing else None
    harmless = kind == "outside" or patch.target.rpartition(".")[2].isupper()
    return Weight.HINT if weight is Weight.BLOCK and harmless else weight


def _patches(part: Part, imported: dict[str, str]) -> Iterator[_Patch]:
    for node in part.tree.body:
        yield from _in_scope(node, "", part, imported)


def _in_scope(node: ast.stmt, owner: str, part: Part, imported: dict[str, str]) -> Iterator[_Patch]:
    """Replacements by the class and the function around them; what is nested in a test belongs to it."""
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            yield from _in_scope(inner, node.name, part, imported)
    tops = node.decorator_list if isinstance(node, ast.ClassDef) else [node]
    owner = node.name if isinstance(node, ast.ClassDef) else owner
    scope = node.name if isinstance(node, Function) else ""
    lasting = _is_lasting(node) if isinstance(node, Function) else not owner
    asserted, refusing = _asserted_calls(node, imported), _refusing(node)
    for found in (found for top in tops for found in ast.walk(top)):
        target = _target(found, imported)
        if target and isinstance(found, ast.stmt | ast.expr):
            refuses = isinstance(found, ast.Call) and bool(found.args) and last_name(found.args[-1]) in refusing
            yield _Patch(owner, scope, target, part.line(found), lasting, target in asserted, refuses)


def _asserted_calls(scope: ast.stmt, imported: dict[str, str]) -> frozenset[str]:
    """Full names of what a test calls within its assertions."""
    nodes = list(ast.walk(scope)) if isinstance(scope, Function) else []
    asserting = (node for node in nodes if isinstance(node, ast.Assert) or _is_assertion(node))
    calls = (call for node in asserting for call in ast.walk(node) if isinstance(call, ast.Call))
    return frozenset(name for call in calls if (name := _resolved(dotted(call.func), imported)))


def _is_assertion(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func).startswith("assert")


def _refusing(scope: ast.stmt) -> frozenset[str]:
    """Names of functions inside that only raise."""
    inner = (node for node in ast.walk(scope) if isinstance(node, Function) and node is not scope)
    return frozenset(node.name for node in inner if all(isinstance(one, ast.Raise) for one in body_without_docstring(node)))


def _is_lasting(scope: Function) -> bool:
    automatic = any(
        keyword.arg == "autouse" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for decorator in scope.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )
    return automatic or bool(_SETUP.fullmatch(scope.name))


def _target(node: ast.AST, imported: dict[str, str]) -> str:
    """What a call or an assignment replaces; empty where it replaces nothing."""
    if isinstance(node, ast.Call):
        name = _of_call(node)
        return name.removeprefix("sys.modules.") if name.startswith("sys.modules.") else _resolved(name, imported)
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and dotted(node.targets[0].value) == "sys.modules"
    ):
        module = node.targets[0].slice
        return str(module.value) if isinstance(module, ast.Constant) else ""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        name = dotted(node.targets[0])
        return _resolved(name, imported) if name.partition(".")[0] in imported and _replaces(node.value) else ""
    return ""


def _replaces(value: ast.expr) -> bool:
    """A function or a mock, not a setting."""
    return isinstance(value, ast.Lambda | ast.Name | ast.Attribute) or (
        isinstance(value, ast.Call) and "Mock" in last_name(value)
    )


def _of_call(node: ast.Call) -> str:
    name, last = dotted(node.func), last_name(node.func)
    if last in _FIXED_CLOCK:
        return last if last == "freeze_time" or "time_machine" in name else ""
    by_name = name in _PATCHES or name.endswith((".patch", "patch.multiple"))
    by_object = name.endswith("patch.object") or last in _SETS
    if not (by_name or by_object) or not node.args:
        return ""
    first, *rest = node.args
    if isinstance(first, ast.Constant):
        return first.value if isinstance(first.value, str) else ""
    attribute = rest[0].value if rest and isinstance(rest[0], ast.Constant) else ""
    return f"{dotted(first)}.{attribute}" if by_object and dotted(first) else ""


def _resolved(name: str, imported: dict[str, str]) -> str:
    root, dot, rest = name.partition(".")
    return f"{imported.get(root, root)}{dot}{rest}" if dot or root in imported or root in _FIXED_CLOCK else ""


def _imports(text: str) -> dict[str, str]:
    """By the name that a module uses: what it has imported."""
    found = dict[str, str]()
    for match in _IMPORT.finditer(text):
        source, names, modules = match.groups()
        for name, alias in _NAMED.findall(names or modules):
            if source:
                found[alias or name] = f"{source}.{name}".lstrip(".")
            else:
                found[alias or name.partition(".")[0]] = name if alias else name.partition(".")[0]
    return found
