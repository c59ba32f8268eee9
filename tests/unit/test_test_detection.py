"""Sources that look at their tests."""

import pytest

from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.hints import Change, lines_on_tests
from helmsman.verify.touched import ChangedPaths

pytestmark = pytest.mark.feature("V15")


def found(path: str, line: str, before: str = "") -> list[str]:
    diff = TreeDiff((FileDiff(path, before, f"{line}\n", "M" if before else "A"),))
    return [
        *lines_on_tests(Change(diff, ChangedPaths(), {"tests/test_slugs.py": "def test_trims(): pass"}, (), ("sh check_it.sh",)))
    ]


@pytest.mark.parametrize(
    ("path", "line", "what"),
    [
        ("app.py", 'if "PYTEST_CURRENT_TEST" in os.environ:', "detects that tests run"),
        ("app.py", 'if "pytest" in sys.modules:', "detects that tests run"),
        ("src/lib.rs", "if cfg!(test) { 1 } else { 2 }", "detects that tests run"),
        ("app.js", "if (process.env.NODE_ENV === 'test') return 1;", "detects that tests run"),
        ("app.js", "process.on('uncaughtException', () => {});", "changes how a failing test ends"),
        ("app.js", "process.exit = () => {};", "changes how a failing test ends"),
        ("app.py", "from tests.test_slugs import reference", "imports its tests"),
        ("app.py", 'rows = open("tests/test_slugs.py").read()', "names a file of the tests"),
        ("size.sh", "grep $1 check_it.sh", "names a file of the tests"),
        ("app.py", 'answers = {"test_trims": "a"}', "names a test"),
        ("app.py", 'at = re.search(r"test_slugs\\.py:([0-9]+)", stack)', "names a file of the tests"),
    ],
)
def test_a_line_of_a_source_that_looks_at_tests_is_named(path: str, line: str, what: str) -> None:
    assert found(path, line) == [f"{path} {what}: {line}"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("app.py", "def test_mode(self): return self.testing"),
        ("app.py", 'split(rows, **{"test_size": 0.2, "test_trims_all": 1})'),
        ("app.py", "from app.testing import Client"),
        ("lint.sh", "ruff check app test_slugs.py"),
        ("ci.sh", "./lint.sh && sh check_it.sh || exit 1"),
        ("ci.sh", "./check_it.sh"),
        ("tests/helper.py", 'os.environ["PYTEST_CURRENT_TEST"]'),
        ("src/add/test.ts", 'import { assertType } from "../_lib/test/index.ts";'),  # node and ava collect test.ts
    ],
)
def test_other_lines_are_not_named(path: str, line: str) -> None:
    assert found(path, line) == []


def test_a_line_that_was_there_before_is_not_new() -> None:
    assert found("app.py", "    os._exit(1)", before="os._exit(1)\n") == []
