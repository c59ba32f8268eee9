"""Configuration that changes which tests are collected, and how they are judged."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.reading.additions import Addition, additions
from helmsman.verify.invariants.reading.kinds import language
from helmsman.verify.invariants.reading.python_code import Function, Part, changed_parts, dotted, last_name
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.settings.builds import collection_builds
from helmsman.verify.invariants.settings.runners import collection_settings

_REPORTER = Reporter("collection", "Let every test be collected, run and judged as it was.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

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
        "pytest_runtest_setup",
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

_VERDICTS = {"exitstatus": "sets the exit status of the test run", "testsfailed": "sets the number of failed tests"}
_PLUGIN = re.compile(r"^(?:async )?def pytest_\w", re.MULTILINE)


def collection(scene: Scene) -> Iterable[Finding]:
    """Rule `collection`: hooks, plugins and settings that take tests out of the run or say what came of them."""
    by_file = (finding for addition in additions(scene.diff) if addition.lines for finding in _in_file(addition))
    return most_important(
        chain(by_file, _loaded_by_itself(scene), collection_settings(scene.diff), collection_builds(scene.diff))
    )


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
    path = addition.file.path
    if language(path) == "python" and (_is_conftest(path) or _is_plugin(addition.file.after or "")):
        for part in changed_parts(addition.file):
            yield from _verdicts(part, addition)
            yield from _hooks(part, addition)


def _is_plugin(text: str) -> bool:
    return "def pytest_" in text and bool(_PLUGIN.search(text))


def _is_conftest(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py"


def _verdicts(part: Part, addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    new = {line.number: line.text for line in addition.lines}
    for node in ast.walk(part.tree):
        what = _verdict(node) if isinstance(node, ast.Assign | ast.Call) and part.line(node) in new else ""
        if what and isinstance(node, ast.Assign | ast.Call):
            weight = _BLOCK if _is_conftest(path) or what not in _VERDICTS.values() else _WARN
            spot = Spot(path, part.line(node), new[part.line(node)])
            yield _REPORTER.tell(weight, spot, f"{path.rpartition('/')[2]} {what}")


def _verdict(node: ast.Assign | ast.Call) -> str:
    if isinstance(node, ast.Call):
        return "overrides a test's result" if last_name(node.func) == "force_result" else ""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Attribute) and target.attr == "outcome":
        return "makes a test pass" if isinstance(value, ast.Constant) and value.value == "passed" else ""
    if isinstance(target, ast.Attribute):
        return _VERDICTS.get(target.attr, "")
    option = target.slice if isinstance(target, ast.Subscript) else None
    return "changes the options of pytest" if isinstance(option, ast.Constant) and option.value == "PYTEST_ADDOPTS" else ""


def _hooks(part: Part, addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    new = {line.number: line.text for line in addition.lines}
    conftest = _is_conftest(path)
    for node in ast.walk(part.tree):
        if isinstance(node, Function) and node.name in _HOOKS and not new.keys().isdisjoint(part.lines(node)):
            weight = _weight(node) if conftest else _WARN
            spot = Spot(path, part.line(node), f"def {node.name}")
            if weight is not None:
                yield _REPORTER.tell(weight, spot, f"{node.name} can change which tests run or what came of them")
        elif conftest and isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and part.line(node) in new:
            yield from _ignoring(node, Spot(path, part.line(node), new[part.line(node)]))


def _ignoring(node: ast.Assign | ast.AnnAssign | ast.AugAssign, spot: Spot) -> Iterator[Finding]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for name in _IGNORED & {last_name(target) for target in targets}:
        yield _REPORTER.block(spot, f"{name} leaves tests out")


def _weight(node: Function) -> Weight | None:
    """Markers, an order and what is only read are honest; nothing else is known to be."""
    if node.name in _TOLD:
        return _WARN
    if node.name == "pytest_runtest_setup":
        return _WARN if _excludes(node) else None
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
