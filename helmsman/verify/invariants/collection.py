"""Configuration that changes which tests are collected, and how they are judged."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.additions import Addition, additions
from helmsman.verify.invariants.collection_settings import collection_settings
from helmsman.verify.invariants.kinds import language
from helmsman.verify.invariants.patterns import code, matches, row
from helmsman.verify.invariants.python_code import Function, Part, changed_parts, dotted, last_name
from helmsman.verify.invariants.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_REPORTER = Reporter("collection", "Let every test be collected, run and judged as it was.")
_BLOCK, _WARN = Weight.BLOCK, Weight.WARN

_HOOKS = frozenset(
    {
        "pytest_collection_modifyitems",
        "pytest_ignore_collect",
        "pytest_collect_file",
        "pytest_pycollect_makeitem",
        "pytest_pycollect_makemodule",
        "pytest_itemcollected",
        "pytest_deselected",
        "pytest_runtest_makereport",
        "pytest_runtest_call",
        "pytest_runtest_protocol",
        "pytest_runtestloop",
        "pytest_pyfunc_call",
        "pytest_report_teststatus",
        "pytest_sessionfinish",
        "pytest_runtest_logreport",
        "pytest_cmdline_main",
        "pytest_assertrepr_compare",
        "pytest_fixture_setup",
        "pytest_exception_interact",
    }
)
"""Hooks of pytest by which a project can choose and judge tests."""
_TOLD = frozenset({"pytest_assertrepr_compare", "pytest_fixture_setup", "pytest_exception_interact", "pytest_itemcollected"})
_IGNORED = frozenset({"collect_ignore", "collect_ignore_glob"})
_EXCLUDING = frozenset({"skip", "skipif", "xfail", "pytest_deselected", "deselect", "remove", "pop", "clear"})
_AUTOMATIC = re.compile(r"(?:^|/)(?:sitecustomize\.py|usercustomize\.py|[^/]+\.pth)$")
_SHADOW = re.compile(r"(?:src/)?(?:pytest|_pytest|unittest|nose2?|pluggy|hypothesis|doctest)(?:\.py|/__init__\.py)")

_VERDICTS = (
    row(_BLOCK, "force_result", r"\.force_result\(", "overrides a test's result", "python"),
    row(_BLOCK, "outcome", r"\.outcome\s?=\s?[\"']passed", "makes a test pass", "python"),
    row(_BLOCK, "exitstatus", r"\.exitstatus\s?=(?!=)", "sets the exit status of the test run", "python"),
    row(_BLOCK, "testsfailed", r"\.testsfailed\s?=(?!=)", "sets the number of failed tests", "python"),
)


def collection(scene: Scene) -> Iterable[Finding]:
    """Rule `collection`: hooks, plugins and settings that take tests out of the run or say what came of them."""
    by_file = (finding for addition in additions(scene.diff) if addition.lines for finding in _in_file(addition))
    return most_important(chain(by_file, _loaded_by_itself(scene), collection_settings(scene.diff)))


def _loaded_by_itself(scene: Scene) -> Iterator[Finding]:
    for file in scene.diff:
        if file.after is None:
            continue
        name = file.path.rpartition("/")[2]
        if _AUTOMATIC.search(file.path):
            yield _REPORTER.block(Spot(file.path), f"{name} is run by every Python before the tests")
        elif file.before is None and _SHADOW.fullmatch(file.path):
            yield _REPORTER.block(Spot(file.path), f"{file.path} takes the place of the test runner's own module")


def _in_file(addition: Addition) -> Iterator[Finding]:
    path, after = addition.file.path, addition.file.after or ""
    if language(path) == "python" and (path.rpartition("/")[2] == "conftest.py" or "def pytest_" in after):
        yield from _verdicts(addition)
        for part in changed_parts(addition.file):
            yield from _hooks(part, addition)


def _verdicts(addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    for match in matches(addition, _VERDICTS):
        if match.pattern.regex.search(code(match.line.text, "python")):
            yield _REPORTER.block(
                Spot(path, match.line.number, match.line.text), f"{path.rpartition('/')[2]} {match.pattern.what}"
            )


def _hooks(part: Part, addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    new = {line.number: line.text for line in addition.lines}
    conftest = path.rpartition("/")[2] == "conftest.py"
    for node in ast.walk(part.tree):
        if isinstance(node, Function) and node.name in _HOOKS and _touched(node, part, new):
            weight = _weight(node) if conftest else _WARN
            spot = Spot(path, part.line(node), f"def {node.name}")
            yield _REPORTER.tell(weight, spot, f"{node.name} can change which tests run or what came of them")
        elif conftest and isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and part.line(node) in new:
            yield from _ignoring(node, Spot(path, part.line(node), new[part.line(node)]))


def _touched(node: Function, part: Part, new: dict[int, str]) -> bool:
    return any(number in new for number in range(part.line(node), part.first + (node.end_lineno or node.lineno) + 1))


def _ignoring(node: ast.Assign | ast.AnnAssign | ast.AugAssign, spot: Spot) -> Iterator[Finding]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for name in _IGNORED & {last_name(target) for target in targets}:
        yield _REPORTER.block(spot, f"{name} leaves tests out")


def _weight(node: Function) -> Weight:
    """Markers, an order and what is only read are honest; nothing else is known to be."""
    if node.name in _TOLD:
        return _WARN
    reads_only = not any(_changes(inner) for inner in ast.walk(node))
    if node.name == "pytest_collection_modifyitems":
        return _WARN if reads_only and not _excludes(node) else _BLOCK
    if node.name in {"pytest_runtest_makereport", "pytest_runtest_logreport", "pytest_sessionfinish", "pytest_deselected"}:
        return _WARN if reads_only and not _returns(node) else _BLOCK
    return _BLOCK


def _changes(node: ast.AST) -> bool:
    """Sets anything of a report, a session or a list of tests; what is stored on the test itself is a note."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        return any(isinstance(target, ast.Attribute | ast.Subscript) and not _is_note(target) for target in targets)
    if isinstance(node, ast.Call) and last_name(node.func) in {"setattr", "__setattr__"}:
        return not (node.args and dotted(node.args[0]).startswith(("item", "session.config", "request")))
    return False


def _is_note(target: ast.Attribute | ast.Subscript) -> bool:
    name = dotted(target.value if isinstance(target, ast.Subscript) else target)
    return "." in name and name.startswith(("item.", "config.", "session.config.")) and "exitstatus" not in name


def _excludes(node: Function) -> bool:
    names = {last_name(inner) for inner in ast.walk(node) if isinstance(inner, ast.Attribute | ast.Name | ast.Call)}
    return bool(names & _EXCLUDING)


def _returns(node: Function) -> bool:
    return any(isinstance(inner, ast.Return) and inner.value is not None for inner in ast.walk(node))
