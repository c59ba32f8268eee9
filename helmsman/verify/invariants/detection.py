"""Source that behaves in another way while it is tested."""

import ast
import re
from collections.abc import Iterable, Iterator

from helmsman.records.findings import Finding, Weight
from helmsman.verify.invariants.reading.additions import Addition, additions, split
from helmsman.verify.invariants.reading.kinds import is_source, language
from helmsman.verify.invariants.reading.patterns import Match, code, matches, row
from helmsman.verify.invariants.reading.python_code import Part, changed_parts, dotted, in_string
from helmsman.verify.invariants.reading.reporter import Reporter, Spot, most_important
from helmsman.verify.invariants.scene import Scene

_REPORTER = Reporter("test_detection", "Behave under test as in use; hand in what a test must replace as a parameter.")
_BLOCK, _WARN = Weight.BLOCK, Weight.HINT
_RUNNER = r"[\"'](?:_?pytest|unittest|nose2?)[\"']"

TABLE = (
    row(
        _BLOCK,
        "modules",
        rf"{_RUNNER}.{{0,80}}\bmodules\b|\bmodules\b.{{0,80}}{_RUNNER}",
        "asks whether a test runner is loaded",
        "python",
    ),
    row(
        _BLOCK,
        "sys.argv",
        rf"{_RUNNER}.{{0,80}}sys\.argv|sys\.argv.{{0,80}}{_RUNNER}",
        "asks whether a test runner was started",
        "python",
    ),
    row(_WARN, "sys.argv", r"[\"']test[\"'] +in +sys\.argv", "asks whether tests were started", "python"),
    row(
        _BLOCK,
        "pytest",
        (
            r"[\"'/]pytest-(?:of-|current|\d|[\"'])|[\"'](?:\.pytest_cache|_pytest)(?:[\"'/])"
            r"|\bpytest\b[^\"'\n]{0,20}[\"'] +(?:not +)?in +(?:(?:str|repr)\((?!traceback|inspect)|os\.(?!environ\b))"
        ),
        "knows the folders of the test runner",
        "python",
    ),
    row(
        _BLOCK,
        "test",
        r"(?:__main__|argv\[0\]|cmdline\(\)|getpid|f_code\.co_filename|process_iter)[^\n]{0,120}[\"'](?:py\.?test|test_|unittest)"
        r"|[\"'](?:py\.?test|test_|unittest)[^\n]{0,80}(?:__main__|argv\[0\]|cmdline\(\)|co_filename)",
        "asks whether a test runner was started",
        "python",
    ),
    row(
        _BLOCK,
        "PYTEST",
        (
            r"startswith\([\"']PYTEST|[\"']PYTEST_?[\"'] +in\b[^\n]{0,60}"
            r"|[\"']PYTEST_ADDOPTS[\"'][^\n]{0,40}environ|environ[^\n]{0,40}[\"']PYTEST_ADDOPTS"
        ),
        "asks for the variables of the test runner",
        "python",
    ),
    row(_WARN, "pytest", r"^\s*(?:import|from) +_?pytest\b", "imports the test runner", "python"),
    row(_WARN, "pop(", r"pop\([\"']PYTEST_(?:CURRENT_TEST|VERSION)", "hides the test runner's variable", "python"),
    row(_BLOCK, "PYTEST_", r"env.{0,200}PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)", "asks for the running test"),
    row(_BLOCK, "PYTEST_", r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER).{0,200}env", "asks for the running test"),
    row(_WARN, "PYTEST_", r"PYTEST_CURRENT_TEST", "names the running test's variable"),
    row(
        _BLOCK,
        "_called_from_test",
        r"[\"']_called_from_test[\"'] *[,)]|\bsys\._called_from_test\b",
        "asks whether a test calls",
        "python",
    ),
    row(_WARN, "TESTING", r"\bif\b.{0,200}\bTESTING\b", "branches on a switch for tests", "python", "ruby", "php"),
    row(_BLOCK, "JEST_WORKER_ID", r"env\S{0,9}JEST_WORKER_ID|JEST_WORKER_ID.{0,200}env", "asks whether jest runs", "javascript"),
    row(_BLOCK, "VITEST", r"env(?:\.|\[[\"'])VITEST(?:_WORKER_ID|_POOL_ID)?\b", "asks whether vitest runs", "javascript"),
    row(
        _BLOCK,
        "typeof",
        r"typeof +(?:globalThis\.|global\.)?(?:jest|describe|it|expect|vi|beforeEach|afterEach)\b *[!=]=",
        "asks whether a test runner is loaded",
        "javascript",
    ),
    row(_WARN, "NODE_ENV", r"NODE_ENV\W{0,6}[!=]==? *[\"'`]test", "branches on NODE_ENV being test", "javascript"),
    row(_WARN, "NODE_ENV", r"[\"'`]test[\"'`] *[!=]==? *\S*NODE_ENV", "branches on NODE_ENV being test", "javascript"),
    row(_BLOCK, "testing.Testing", r"\btesting\.Testing\(\)", "asks whether a test runs", "go"),
    row(_BLOCK, "flag.Lookup", r"flag\.Lookup\(\"test\.", "asks whether a test runs", "go"),
    row(
        _BLOCK,
        "os.Args",
        r"HasSuffix\(os\.Args\[0\], *\"[._]test|Contains\(os\.Args\[0\], *\"[./_]?test",
        "asks whether a test runs",
        "go",
    ),
    row(_BLOCK, "cfg!", r"\bcfg!\([^)]*\btest\b", "asks whether it was built for tests", "rust"),
    row(_WARN, "cfg", r"#\[cfg\(not\(test\)\)\]", "leaves code out of the build for tests", "rust"),
    row(_BLOCK, "org.junit", r"forName\([^)]*\borg\.junit", "asks whether a test runner is loaded", "java"),
    row(
        _BLOCK, "unit", r"(?:getClassName|StackTrace).{0,200}[\"'](?:org\.)?junit", "looks for a test runner on the stack", "java"
    ),
    row(
        _BLOCK,
        "defined?",
        r"defined\?\(? *(?:::)?(?:RSpec|Minitest|Test::Unit)\b",
        "asks whether a test runner is loaded",
        "ruby",
    ),
    row(_WARN, "env", r"\bRails\.env\.test\?", "branches on the environment being test", "ruby"),
    row(
        _WARN,
        "_ENV",
        r"(?:RAILS|RACK|APP)_ENV.{0,4} *[!=]==? *[\"']test",
        "branches on the environment being test",
        "ruby",
        "php",
    ),
    row(_BLOCK, "PHPU", r"defined\([\"']PHPUNIT_|class_exists\([\"']\\?PHPUnit", "asks whether a test runner is loaded", "php"),
    row(_WARN, "PHPU", r"\bPHPUNIT_", "names a constant of the test runner", "php"),
    row(
        _BLOCK,
        "caller",
        r"\bcaller(?:_locations)?\b.{0,120}(?:[_/](?:spec|test)\b|\b(?:spec|test)_|rspec|minitest)",
        "looks for tests on the stack",
        "ruby",
    ),
    row(
        _BLOCK,
        "$",
        r"\$(?:PROGRAM_NAME|0|LOADED_FEATURES|\\\"|:)(?![\w]).{0,80}(?:rspec|minitest|_spec\b|_test\b|test/)",
        "asks whether a test runner was started",
        "ruby",
    ),
    row(
        _BLOCK,
        "ENV",
        r"\bENV(?:\[|\.(?:key\?|fetch)\()\s?[\"'](?:RSPEC|MINITEST|SPEC_OPTS|TESTOPTS)",
        "asks for the running test",
        "ruby",
    ),
    row(
        _BLOCK,
        "argv",
        r"\bprocess\.argv(?:\[[01]\]|\.(?:some|find|join|includes|slice))[^\n]{0,80}\b(?:jest|vitest|mocha|ava|jasmine|karma)\b",
        "asks whether a test runner was started",
        "javascript",
    ),
    row(
        _BLOCK,
        "main",
        r"\brequire\.main\b[^\n]{0,80}(?:filename|path)[^\n]{0,80}\b(?:jest|vitest|mocha|ava|jasmine|test|spec)\b",
        "asks whether a test runner was started",
        "javascript",
    ),
    row(
        _BLOCK,
        "npm_lifecycle",
        r"npm_lifecycle_(?:event|script)[^\n]{0,40}[\"'`](?:test|jest|vitest)",
        "asks whether tests were started",
        "javascript",
    ),
    row(
        _BLOCK,
        "global",
        r"\bglobal(?:This)?\b(?:\.|\[[\"'])(?:jest|describe|beforeEach|afterEach|__vitest_\w{1,30}|__coverage__)\b(?!\s?=[^=])"
        r"|[\"'](?:jest|describe|beforeEach)[\"'] +in +global(?:This)?\b",
        "asks whether a test runner is loaded",
        "javascript",
    ),
    row(
        _BLOCK,
        "test",
        r"(?:runtime\.Caller|\bCallers|\bframe\.|\.File\b|\bfile\b)[^\n]{0,80}\"_test(?:\.go)?\"|os\.Args\[0\][^\n]{0,60}\"[./_]?test",
        "looks for tests on the stack",
        "go",
    ),
    row(
        _BLOCK,
        "surefire",
        r"[\"']basedir\b.{0,80}surefire|[\"']surefire\b.{0,80}(?:surefire|junit|test-classes)|getProperty\([\"']surefire",
        "asks whether a test runner was started",
        "java",
    ),
    row(_BLOCK, "basedir", r"[\"']basedir\b.{0,80}(?:junit|test-classes)", "asks whether a test runner was started", "java"),
    row(
        _BLOCK,
        "get",
        r"(?:getClassName|getStackTrace|getFileName)\(\).{0,120}\b(?:endsWith|contains|startsWith|matches)\([\"'][^\"']{0,40}(?:Test|Spec|junit)\b",
        "looks for a test runner on the stack",
        "java",
    ),
    row(
        _BLOCK,
        "java.class.path",
        r"java\.class\.path.{0,120}(?:junit|test-classes|surefire)",
        "asks whether a test runner was started",
        "java",
    ),
    row(
        _BLOCK,
        "current",
        r"\bcurrent_exe\(\).{0,120}\"[^\"]{0,20}(?:/deps|deps/|deps\"|test)|\bthread::current\(\)\.name\(\).{0,120}\"[^\"]{0,40}test",
        "asks whether a test runs",
        "rust",
    ),
    row(_BLOCK, "backtrace", r"\bdebug_backtrace\(.{0,120}(?:Test\b|TestCase|PHPUnit)", "looks for tests on the stack", "php"),
    row(_BLOCK, "unit", r"\$_SERVER\[[\"']argv[\"']\].{0,80}phpunit", "asks whether a test runner was started", "php"),
    row(_WARN, "runningUnitTests", r"runningUnitTests\(\)", "asks whether a test runs", "php"),
)
"""NODE_ENV and its like are what frameworks set, so honest code reads them."""

_LONGEST = 500
_ABOVE = 30
"""Lines above a switch in which the head of its function is looked for."""
_HEADER = re.compile(
    r"\b(?:function|def|fn|func)\b[^(\n]{0,100}\(([^)\n]{1,300})\)|\(([^()\n]{1,300})\)[^=;\n]{0,80}=>"
    r"|^\s{0,40}(?:async )?(?!if|for|while|switch)\w{1,80}\(([^)\n]{1,300})\)[^;\n]{0,80}\{"
)
_ANSWER = re.compile(r"(?:\{|:|\)|^\s*)\s{0,80}return\s{1,9}([^;}\n]{1,200})|\breturn\s{1,9}([^;}\n]{1,200})\s+if\b")
_GIVEN = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,80}")
_TEXT = re.compile(r"\"[^\"]{0,200}\"|'[^']{0,200}'")
_STACK = frozenset({"inspect.stack", "inspect.currentframe", "sys._getframe", "traceback.extract_stack", "traceback.walk_stack"})
_READS_STACK = re.compile(r"\b(?:stack|currentframe|_getframe|extract_stack|walk_stack)\(")
_STACK_BARE = frozenset({"currentframe", "_getframe", "extract_stack", "walk_stack"})
_TEST_TEXT = re.compile(r"(?:^|[\W_])(?:tests?|pytest|unittest)(?:[\W_]|$)|^test", re.IGNORECASE)
_DOCSTRING = re.compile(r"\s*[rRbBuU]{0,2}(?:\"\"\"|\'\'\')")
_PROSE = 40
"""Characters from which on a text is a sentence, not a name."""
_JS_STACK = re.compile(r"\.stack\b.{0,80}[\"'`][\w./]{0,40}\b(?:test|spec|jest|mocha|vitest)\b")
_CONFIGURATION = re.compile(
    r"(?:^|/)(?:[^/]*\.(?:config|setup)\.[cm]?[jt]s|(?:webpack|babel)[^/]*\.[cm]?[jt]s|\.?[^/]*rc\.[cm]?js)$"
)


def detection(scene: Scene) -> Iterable[Finding]:
    """Rule `test_detection`: what the project's own code asks about test runners."""
    return most_important(
        finding for addition in additions(scene.diff) if _is_looked_at(addition) for finding in _in_file(addition)
    )


def _is_looked_at(addition: Addition) -> bool:
    path = addition.file.path
    return bool(addition.lines) and is_source(path) and not _CONFIGURATION.search(path)


def _in_file(addition: Addition) -> Iterator[Finding]:
    path = addition.file.path
    for match in matches(addition, TABLE, code):
        if not _is_documented(match, addition):
            weight = _BLOCK if _answers_otherwise(match, addition) else match.pattern.weight
            yield _REPORTER.tell(weight, Spot(path, match.line.number, match.line.text), _message(match.pattern.what, path))
    yield from _on_the_stack(addition)


def _message(what: str, path: str) -> str:
    return f"{path.rpartition('/')[2]} {what}"


def _is_documented(match: Match, addition: Addition) -> bool:
    """Whether it stands in a docstring."""
    quoted = _DOCSTRING.match(match.line.text) is not None or in_string(addition.file.after or "", match.line.number)
    return language(addition.file.path) == "python" and quoted


def _answers_otherwise(match: Match, addition: Addition) -> bool:
    """Whether a switch for tests leads to an answer that is worked out from what the function was given, and by no call."""
    if not match.pattern.what.startswith("branches on"):
        return False
    number, lines = match.line.number, split(addition.file.after)
    here = " ".join(code(line[:_LONGEST], language(addition.file.path)) for line in lines[number - 1 : number + 2])
    header = next(
        (found for line in reversed(lines[max(0, number - _ABOVE) : number - 1]) if (found := _HEADER.search(line[:_LONGEST]))),
        None,
    )
    given = set(_GIVEN.findall(next((group for group in header.groups() if group), ""))) if header else set[str]()
    answer = _ANSWER.search(here)
    answered = next((group for group in answer.groups() if group), "") if answer else ""
    return "(" not in answered and any(name in given for name in _GIVEN.findall(_TEXT.sub("", answered)))


def _on_the_stack(addition: Addition) -> Iterator[Finding]:
    path, kind = addition.file.path, language(addition.file.path)
    if kind == "python" and _READS_STACK.search(addition.text):
        yield from (
            finding for part in changed_parts(addition.file, _READS_STACK) for finding in _callers_looked_at(part, addition)
        )
    if kind == "javascript" and ".stack" in addition.text:
        for line in addition.lines:
            if _JS_STACK.search(code(line.text, kind)):
                yield _REPORTER.block(Spot(path, line.number, line.text), _message("looks for tests on the stack", path))


def _callers_looked_at(part: Part, addition: Addition) -> Iterator[Finding]:
    """A function that reads the stack and has a text in it that names tests."""
    new = {line.number: line.text for line in addition.lines}
    for statement in part.tree.body:
        nodes = list(ast.walk(statement))
        calls = [node for node in nodes if isinstance(node, ast.Call) and _reads_stack(node)]
        texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
        added = [call for call in calls if part.line(call) in new]
        if added and any(len(text) < _PROSE and _TEST_TEXT.search(text) for text in texts):
            number = part.line(added[0])
            path = addition.file.path
            yield _REPORTER.block(Spot(path, number, new[number]), _message("looks for tests on the stack", path))


def _reads_stack(call: ast.Call) -> bool:
    name = dotted(call.func)
    return name in _STACK or name in _STACK_BARE
