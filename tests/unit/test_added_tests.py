"""Test files that only gain tests, and a check that fails without them where the goal asks for tests."""

import pytest

from helmsman.config.goals import InvariantsConfig
from helmsman.parsers.source import Source
from helmsman.records.checks import CheckResult, TestCounts, TrustedRun
from helmsman.verify.added_tests import only_adds_tests, with_empty_tests
from helmsman.verify.outcomes import outcomes
from tests.unit.builders import check, report

pytestmark = pytest.mark.feature("V13", "V16")

START = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n"
NEW = '\n    @case("x")\n    def test_b(self, y=1):\n        self.assertEqual(f(2), 3)\n'
SUITE = "\n\nclass B(unittest.TestCase):\n    limit = 3\n\n    def test_c(self):\n        f(3)\n"
TITLED = "describe('a', () => {\n  it('one', () => { expect(f(1)).toBe(2); });\n});\n"


def only_adds(before: str, after: str, path: str = "test_a.py") -> bool:
    return only_adds_tests(Source(path, before), Source(path, after))


@pytest.mark.parametrize(
    ("after", "only"),
    [
        (START + NEW, True),
        (START + NEW + SUITE, True),
        (f"import os\nfrom app import f, g\n{START}{NEW}", True),
        (START, False),
        (START.replace("2", "3") + NEW, False),
        (START.replace("test_a", "test_z"), False),
        (START + NEW + "\n\nunittest.TestCase.assertEqual = print\n", False),
        (f"import app; app.f = print\n{START}{NEW}", False),
        (START.replace("    def", "    @unittest.skip('')\n    def") + NEW, False),
        (START + "\n    def test_a(self):\n        pass\n", False),
        (START + NEW.replace("def test_b", "def setUp"), False),
    ],
)
def test_a_file_that_only_gains_tests_is_told_from_one_that_changes_others(after: str, *, only: bool) -> None:
    assert only_adds(START, after) is only


def test_tests_with_titles_are_added_on_their_own_lines() -> None:
    more = "  it('two', () => { expect(f(2)).toBe(3); });\n"
    for line, only in ((more, True), (f"  f = () => 2; {more}", False), (f"{more[:-1]} f = () => 2;\n", False)):
        assert only_adds(TITLED, TITLED.replace("});\n});", f"}});\n{line}}});"), "a.test.js") is only


def test_new_tests_are_emptied() -> None:
    before, after = Source("test_a.py", START), Source("test_a.py", f"import os\n{START}{NEW}{SUITE}")
    empty = "\n    def test_b(*_): pass\n\n\nclass B(unittest.TestCase):\n    def test_c(*_): pass\n"
    assert with_empty_tests(before, after) == START + empty
    assert with_empty_tests(before, Source("test_a.py", START + SUITE.replace("unittest.TestCase", "base()"))) == ""


def silent(**fields: object) -> CheckResult:
    return check(passed=False, exit_code=1, counts=None, **fields)


ALL_PASS, ONE_FAILS = TestCounts(passed=3), TestCounts(passed=2, failed=1)


@pytest.mark.parametrize(
    ("goal", "counts", "run", "consequence"),
    [
        ("Add tests.", ALL_PASS, {"only_added": True}, "proves"),
        ("Add tests.", None, {"only_added": True, "counting": ("pytest",)}, "proves"),
        ("Add tests.", None, {"only_added": True}, "asks"),
        ("Add tests.", ONE_FAILS, {"only_added": True}, "fails"),
        ("Add tests.", ALL_PASS, {}, "fails"),
        ("Fix it.", ALL_PASS, {"only_added": True}, "fails"),
    ],
)
def test_a_check_that_needs_more_tests_proves_the_work_if_the_goal_asks_for_tests(
    goal: str, counts: TestCounts | None, run: dict[str, object], consequence: str
) -> None:
    restored = report(silent().model_copy(update={"counts": counts}))
    copy = TrustedRun.model_validate({"put_back": ("test_a.py",), "report": restored, **run})
    own = check(passed=True, counts=counts and ALL_PASS)
    found = outcomes(report(own), copy, {"pytest"}, goal, InvariantsConfig())
    (case,) = found.table.cases
    assert (case.name, case.consequence, found.table.new_test_proves) == ("pytest", consequence, consequence == "proves")
    assert bool(found.findings) is (consequence == "fails")
