"""A failed check's output as one line for each distinct failure, read from what real runners printed."""

from pathlib import Path

import pytest

from helmsman.parsers.failures import list_failures
from helmsman.parsers.test_report import read_summary

pytestmark = pytest.mark.feature("O3")
RECORDINGS = Path(__file__).parents[1] / "recordings" / "summaries"


def lines_of(name: str) -> tuple[str, ...]:
    output = (RECORDINGS / f"{name}.txt").read_text()
    counts = read_summary(output)
    return list_failures(output, tests=counts.failing if counts else (), root="/repo")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("pytest_red", "test_calc.py:8 | test_bad[x y] | assert a == 5 | AssertionError: assert 'x y' == 5"),
        ("pytest_red_colour", "test_calc.py:8 | test_bad[1] | assert a == 5 | assert 1 == 5"),
        ("pytest_broken", "test_calc.py:1 | test_calc.py | import nowhere | ModuleNotFoundError: No module named"),
        ("unittest_red", "sub_test.py:6 | T.test_no | assertEqual(1,2) | AssertionError: 1 != 2"),
        ("go_failing", "calc_test.go:7 | TestSub | got 3, want 1"),
        ("cargo_red", "src/lib.rs:12 | tests::bad | left 2, right 3"),
        ("jest_red", "jest/red.test.js:3 | top level | test('top level',()=>{expect(1).toBe(2)}) | expected 2, received 1"),
        ("vitest_red", "vitest/red.test.js:4 | vitest/red.test.js > top level | AssertionError: expected 1 to be 2"),
        ("node_failing_tap", "/workspace/failing/calc.test.js:6 | subtracts | expected 1, actual 3"),
        ("phpunit_red", "tests/CalcTest.php:14 | Calc\\CalcTest::testSubtract | Failed asserting that 3 matches expected 1."),
    ],
)
def test_a_failure_line_has_place_test_assertion_and_message(name: str, line: str) -> None:
    assert [one for one in lines_of(name) if one.startswith(line)], lines_of(name)


def test_messages_of_linters_are_listed_line_by_line() -> None:
    output = "/repo/a.py:3:1: F401 `os` imported but unused\n/repo/b.py:9:5: E711 comparison to None\nFound 2 errors.\n"
    assert list_failures(output, "ruff check", root="/repo") == (
        "a.py:3 | F401 `os` imported but unused",
        "b.py:9 | E711 comparison to None",
    )


def test_equal_failures_share_a_line_with_their_number() -> None:
    block = '======\nERROR: {0} (t.T.{0})\n------\n  File "/w/lib.py", line 3, in f\n    x.y\nKeyError: 1\n'
    names = [f"test_{letter}" for letter in "abcde"]
    told = list_failures("".join(map(block.format, names)), tests=[f"{name} (t.T.{name})" for name in names], root="/w")
    assert told == ("lib.py:3 | T.test_a, T.test_b, T.test_c and 2 more | x.y | KeyError: 1 | ×5",)  # noqa: RUF001


def test_ten_failures_take_about_600_tokens() -> None:
    output = "".join(f"E {'x' * 900}\na{at}.py:{at}:1: F401 {'unused ' * 200}\n" for at in range(10))
    assert sum(map(len, list_failures(output, "ruff check"))) / 4 <= 620
