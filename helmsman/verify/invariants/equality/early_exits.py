"""Runs that end well before they began, and helpers that assert nothing."""

import ast
import re
from collections.abc import Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.reading.additions import Addition
from helmsman.verify.invariants.reading.kinds import language, serves_tests
from helmsman.verify.invariants.reading.patterns import code, matches, row
from helmsman.verify.invariants.reading.python_code import (
    Function,
    Part,
    body_without_docstring,
    changed_parts,
    dotted,
    functions,
    in_string,
)
from helmsman.verify.invariants.reading.reporter import Reporter, Spot

_REPORTER = Reporter("always_equal", "Let every run and every assertion come to its own end.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT

_NOTHING = (
    r"(?:\([^)]{0,80}\)|\w{1,40}) *=> *(?:\{ *\}|true\b|null\b|undefined\b|void 0)|function *\w{0,40}\([^)]{0,80}\) *\{ *\}"
)
_HELPERS = r"(?:(?:assert|expect)(?:[A-Z_]\w{0,40})?|(?<=\.)(?:fail|raises))"
TABLE = (
    row(_BLOCK, "exit", r"\b(?:os\._exit\(0?\)|os\._exit, *0)", "ends the test run with success", "python"),
    row(_BLOCK, "exit", r"\bpytest\.exit\([^)]{0,200}returncode *= *0", "ends the test run with success", "python"),
    row(_WARN, "xit(", r"\b(?:sys\.)?exit\(0?\)|\bSystemExit\(0?\)", "ends with success", "python"),
    row(
        _BLOCK,
        "process",
        r"\bprocess\.(?:exit|reallyExit)\((?:0|EXIT_SUCCESS)?\)",
        "ends the test run with success",
        "javascript",
    ),
    row(_BLOCK, "exitCode", r"\bprocess\.exitCode *= *0", "makes the test run's exit code 0", "javascript"),
    row(_BLOCK, "os.Exit", r"\bos\.Exit\(0\)", "ends the test run with success", "go"),
    row(_BLOCK, "exit", r"\bprocess::exit\(0\)", "ends the test run with success", "rust"),
    row(_BLOCK, "xit", r"\bSystem\.exit\(0\)|\bexitProcess\(0\)", "ends the test run with success", "java"),
    row(_BLOCK, "halt", r"\.halt\(0\)", "ends the test run with success", "java"),
    row(
        _BLOCK,
        "xit",
        r"^\s*(?:exit!?|Kernel\.exit!?|abort_on_exit)(?:\((?:0|true)?\)| 0| true)?\s*$",
        "ends the test run with success",
        "ruby",
    ),
    row(_BLOCK, ";", r"^\s*(?:exit|die)(?:\(0?\))?;", "ends the test run with success", "php"),
    row(_BLOCK, "lambda", rf"(?:^\s*|\.){_HELPERS} *= *lambda\b", "overrides a helper that asserts", "python"),
    row(_BLOCK, "setattr", rf"setattr\([^)]{{0,80}}[\"']{_HELPERS}[\"'], *lambda", "overrides a helper that asserts", "python"),
    row(
        _BLOCK,
        "=",
        rf"(?:^\s*|\.|\b(?:const|let|var) +){_HELPERS}(?:\.\w{{1,40}})? *= *(?:{_NOTHING})",
        "overrides a helper that asserts",
        "javascript",
    ),
    row(
        _BLOCK,
        "function",
        rf"\bfunction +{_HELPERS}\([^)]{{0,80}}\) *\{{ *(?:return(?: true)? *;? *)?\}}",
        "overrides a helper that asserts",
        "javascript",
    ),
)
"""Only for tests and what serves them. `sys.exit(0)` in a test is honest where SystemExit is expected."""

_ENDS = frozenset({"sys.exit", "os._exit", "exit", "quit", "SystemExit"})
_SCRIPT = re.compile(
    r"(?:^|/)(?:scripts?|bin|tools|examples?|hack|benchmarks?|bench|docs)/|(?:^|/)(?:setup|manage|__main__)\.py$"
)
_WORDS = ("exit", "Exit", "quit(", "def assert", "def _assert", "def expect", "def _expect", "    pass", "return True")
_MAY_EXIT = re.compile(r"^(?:\w+\.)?(?:_?exit|quit)\(|^raise[ \t]+SystemExit|\bdef[ \t]+_?(?:assert|expect)", re.MULTILINE)
_ASSERTING = re.compile(r"_?(?:assert|expect)(?:_|[A-Z]|$)")


def early_exits(addition: Addition) -> Iterator[Finding]:
    """Exits with 0 where a test would run, and assertions that are made to do nothing."""
    kind = language(addition.file.path)
    on_import = list[Finding]()
    if kind == "python" and any(word in addition.text for word in _WORDS):
        for part in changed_parts(addition.file, _MAY_EXIT):
            on_import += _on_import(part, addition)
            yield from _helpers(part, addition)
    yield from on_import
    if serves_tests(addition.file.path):
        told = {finding.line for finding in on_import}
        yield from (finding for finding in _by_table(addition, kind) if finding.line not in told)


def _on_import(part: Part, addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    new = {line.number: line.text for line in addition.lines}
    for node in part.tree.body:
        number = part.line(node)
        if number in new and _ends_with_success(node):
            script = bool(_SCRIPT.search(path)) or (addition.file.after or "").startswith("#!")
            message = f"{_name(path)} exits with 0 when it is imported"
            yield _REPORTER.tell(_WARN if script else _BLOCK, Spot(path, number, new[number]), message)


def _ends_with_success(node: ast.stmt) -> bool:
    value = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and dotted(value.func) in _ENDS:
        return not value.args or (isinstance(value.args[0], ast.Constant) and value.args[0].value in (0, None))
    return isinstance(node, ast.Raise) and value is not None and dotted(value) == "SystemExit"


def _helpers(part: Part, addition: Addition) -> Iterator[Finding]:
    new = {line.number for line in addition.lines}
    for node, _, _ in functions(part.tree) if serves_tests(addition.file.path) else ():
        lines = part.lines(node)
        if _ASSERTING.match(node.name) and _does_nothing(node) and not new.isdisjoint(lines):
            yield _REPORTER.block(Spot(addition.file.path, lines[0], f"def {node.name}"), f"{node.name} asserts nothing")


def _does_nothing(node: Function) -> bool:
    """Nothing but `pass`, `...`, `return` and `return True`."""
    rest = body_without_docstring(node)
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Return | ast.Expr) and (one.value is None or isinstance(one.value, ast.Constant)))
        for one in rest
    )


def _by_table(addition: Addition, kind: str) -> Iterator[Finding]:
    after, path = addition.file.after or "", addition.file.path
    for match in matches(addition, TABLE, code):
        text, number = match.line.text, match.line.number
        if kind == "python" and in_string(after, number):
            continue
        weight = _WARN if "fork" in after else match.pattern.weight  # a forked child ends like this
        yield _REPORTER.tell(weight, Spot(path, number, text), f"{_name(path)} {match.pattern.what}")


def _name(path: str) -> str:
    return path.rpartition("/")[2]
