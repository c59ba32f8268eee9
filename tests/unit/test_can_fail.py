"""Other values in tests, so that a check that cannot fail is found: what is changed, and what is left alone."""

import pytest

from helmsman.parsers.source import Source
from helmsman.verify.new_tests import alter_values, names_in_file

pytestmark = pytest.mark.feature("V16")

PYTHON = (
    "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\ndef test_other():\n    assert calc.add(7, 7) == 14\n"
)
CHANGED = {
    "numbers, none the sum of those beside it": ("t.py", PYTHON, "test_add", "calc.add(2, 6) == 5"),
    "texts": ("t.py", "def test_up():\n    assert up('a') == 'A'\n", "test_up", "up('a~') == 'A~~~~'"),
    "a zero, and texts that begin with a digit": (
        "t.py",
        "def test_it():\n    assert f('1h') == 0\n",
        "test_it",
        "f('1h~') == 4",
    ),
    "a table above its test": ("t.py", "ROWS = [(1, 1)]\n\n\ndef test_it():\n    check(ROWS)\n", "test_it", "[(2, 5)]"),
    "a test of JavaScript": (
        "a.test.js",
        "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
        "adds",
        "add(5, 4)).toBe(12)",
    ),
    "a test of Rust": ("tests/a.rs", "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3u8);\n}\n", "adds", "add(2, 6), 5u8"),
    "a test of Go": (
        "a_test.go",
        "func TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fail()\n\t}\n}\n",
        "TestAdd",
        "Add(2, 6) != 5",
    ),
}


OPPOSITES = {
    "assert done()": "assert not done()",
    "self.assertTrue(done())": "self.assertFalse(done())",
    "self.assertIsNone(done())": "self.assertIsNotNone(done())",
    "assert done() == 0x10": "assert not done() == 0x10",
}


@pytest.mark.parametrize("line", OPPOSITES)
def test_assertions_without_values_are_negated(line: str) -> None:
    text = f"class T:\n    def test_it(self):\n        sleep(5)\n        {line}\n"
    assert alter_values(Source("t.py", text), {"test_it"}) == text.replace(line, OPPOSITES[line])


def test_assertions_without_values_are_negated_whatever_is_nearby() -> None:
    text = "ROWS = [(1, 1)]\n\n\ndef test_it():\n    for one, two in ROWS:\n        assert f(one) == two\n"
    assert alter_values(Source("t.py", text), None) == text.replace("assert f", "assert not f")


def test_assertions_of_other_languages_are_negated() -> None:
    spec = Source("a.test.js", "test('a', () => {\n  expect(f()).toBeDefined();\n});\n")
    rust = Source("tests/a.rs", "#[test]\nfn a() {\n    assert!(f());\n}\n")
    assert "expect(f()).not.toBeDefined()" in (alter_values(spec, None) or "")
    assert "assert!(!f())" in (alter_values(rust, None) or "")


@pytest.mark.parametrize("what", CHANGED)
def test_values_in_newly_passing_tests_are_altered(what: str) -> None:
    path, text, name, expected = CHANGED[what]
    assert expected in (alter_values(Source(path, text), names_in_file([name])) or "")


def test_other_tests_are_unchanged_unless_all_are_requested() -> None:
    source = Source("t.py", PYTHON)
    assert "calc.add(7, 7) == 14" in (alter_values(source, names_in_file(["t.py::test_add"])) or "")
    assert "calc.add(7, 7) == 14" not in (alter_values(source, None) or "")


LEFT_ALONE = {
    "a module that is loaded": ("a.test.js", "test('a', () => {\n  require('./calc');\n});\n", "a"),
    "a number that is no plain one": ("t.py", "def test_it():\n    check(0x10, 0b1, 1_000)\n", "test_it"),
    "a single value that no assertion names": ("t.py", "def test_it():\n    sleep(5)\n", "test_it"),
    "a test of another name": ("t.py", PYTHON, "test_sub"),
    "a language that is not read": ("t.sh", 'test "$(cat answer)" = 2\n', "t.sh"),
}


@pytest.mark.parametrize("what", LEFT_ALONE)
def test_values_without_effect_are_not_altered(what: str) -> None:
    path, text, name = LEFT_ALONE[what]
    assert alter_values(Source(path, text), names_in_file([name])) is None


@pytest.mark.parametrize(
    "case",
    [
        "tests/a.py::T::test_it[1-a/b]",
        "test_it (tests.a.T.test_it)",
        "suite > inner > test_it",
    ],
)
def test_tests_are_found_by_the_names_of_any_runner(case: str) -> None:
    assert "test_it" in names_in_file([case])
