"""Tests inside of sources are replaced by those of the start."""

import doctest
from types import ModuleType

import pytest

from helmsman.parsers.inline_tests import with_inline_tests
from helmsman.parsers.source import Source

pytestmark = pytest.mark.feature("V5")

RUST = """\
fn add(a: i32) -> i32 { a }

#[cfg(test)]
mod tests {
    #[test]
    fn one() { assert_eq!(add(1), 2); }
}
"""
PYTHON = '''
import unittest


def fizz(n):
    """Return it.

    >>> fizz(1)
    '1'
    """
    return str(n)


class Fizz(unittest.TestCase):
    def test_three(self):
        self.assertEqual(fizz(3), "fizz")


if __name__ == "__main__":
    unittest.main()
'''
CLASS = PYTHON[PYTHON.index("class Fizz") : PYTHON.index("if __name__")]
DOCSTRING = PYTHON[PYTHON.index('    """') : PYTHON.index("    return str")]
URL = "def test_url(url):\n    return open(url)\n\n\n"
MORE = "class More(unittest.TestCase):\n    def test_more(self):\n        self.fail()\n\n\n"


def test_inline_tests_of_the_start_replace_those_of_the_source() -> None:
    cases = {
        "only the source": (RUST.replace("a }", "a + 1 }"), None),
        "an assertion is gone": (RUST.replace("assert_eq!(add(1), 2);", ""), True),
        "all tests are gone": (RUST.partition("#[cfg(test)]")[0], True),
    }
    for case, (now, expected) in cases.items():
        found = with_inline_tests(Source("a.rs", now), Source("a.rs", RUST))
        assert (found and "assert_eq!(add(1), 2);" in found and found.startswith("fn add")) == expected, case


def test_inline_tests_of_the_start_leave_a_formatted_source_formatted() -> None:
    """A check such as `cargo fmt --check` would otherwise fail whenever an inline test is added."""
    new_test = "    #[test]\n    fn two() { assert_eq!(add(2), 3); }\n}\n"
    now = RUST.removesuffix("}\n") + new_test
    assert with_inline_tests(Source("a.rs", now), Source("a.rs", RUST)) == RUST
    after = "\nfn sub(a: i32) -> i32 { a }\n"
    tests = RUST[RUST.index("#[cfg") :]
    assert with_inline_tests(Source("a.rs", now + after), Source("a.rs", RUST)) == RUST.replace(tests, after[1:] + "\n" + tests)


@pytest.mark.parametrize(
    "now",
    [
        PYTHON.replace('"fizz"', '"3"'),
        PYTHON.replace("test_three", "three"),
        PYTHON.replace("class Fizz", "@unittest.skip('later')\nclass Fizz"),
        PYTHON.replace(CLASS, ""),
        PYTHON.replace(CLASS, "Fizz = None\n"),
        PYTHON.replace("unittest.main()", "unittest.main(exit=False)"),
        PYTHON.partition("class Fizz")[0],
        PYTHON.partition("class Fizz")[0].replace("import unittest", ""),
    ],
)
def test_python_tests_of_the_start_replace_those_of_the_source(now: str) -> None:
    now = now.replace("return str(n)", "return n")
    found = with_inline_tests(Source("a.py", now), Source("a.py", PYTHON)) or ""
    exec(compile(found, "a.py", "exec"), {"__name__": "a"})
    assert "return n\n" in found
    assert "skip" not in found
    assert [found.count(line) for line in (CLASS.strip(), "unittest.main()", "class Fizz")] == [1, 1, 1]
    assert found.index("class Fizz") < found.index("if __name__")


@pytest.mark.parametrize(
    ("now", "doctests"),
    [
        (PYTHON.replace("str(n)", "n"), True),
        (PYTHON.replace("'1'", "'2'"), False),
        (PYTHON.replace("if __name__", f"{URL}if __name__"), True),
        (PYTHON.replace("if __name__", f"{MORE}if __name__"), True),
        (PYTHON.replace("class Fizz", 'def buzz(n):\n    """>>> buzz(1)"""\n\n\nclass Fizz'), True),
        (PYTHON.replace("def fizz", "def fizz_of"), True),
    ],
)
def test_sources_with_the_tests_of_the_start_are_left_alone(now: str, doctests: bool) -> None:
    assert with_inline_tests(Source("a.py", now), Source("a.py", PYTHON), doctests=doctests) is None


def test_the_product_may_have_names_like_tests() -> None:
    start = f"{URL}class Probe:\n    def test_port(self):\n        return False\n"
    now = start.replace("False", "True").replace("open(url)", "url")
    assert with_inline_tests(Source("a.py", now), Source("a.py", start)) is None


@pytest.mark.parametrize(
    "now",
    [
        PYTHON.replace("'1'", "1"),
        PYTHON.replace("    >>> fizz(1)\n    '1'\n", ""),
        PYTHON.replace(DOCSTRING, ""),
        PYTHON.replace(DOCSTRING, "").replace("fizz(n)", "_fizz(n)").replace("class", "fizz = _fizz\n\n\nclass"),
        PYTHON.replace(DOCSTRING, "").replace("fizz(n):\n    return str(n)", "fizz(n): return str(n)"),
    ],
)
def test_doctests_of_the_start_replace_those_of_the_source(now: str) -> None:
    found = with_inline_tests(Source("a.py", now), Source("a.py", PYTHON), doctests=True) or ""
    module = ModuleType("a")
    exec(compile(found, "a.py", "exec"), vars(module))
    assert doctest.testmod(module, verbose=False) == (0, 1)


def test_the_examples_of_a_module_are_its_own() -> None:
    start = '#!/usr/bin/env python3\n"""Add.\n\n>>> 1 + 1\n2\n"""\nA = 1\n'
    for now in ("#!/usr/bin/env python3\nA = 2\n", start.replace("2\n", "3\n").replace("A = 1", "A = 2")):
        found = with_inline_tests(Source("a.py", now), Source("a.py", start), doctests=True)
        assert found == start.replace("A = 1", "A = 2")
