"""What test runners print at their end is read as numbers. The recordings are outputs of the real runners; those of
go test, RSpec and PHPUnit follow the formats that these document.
"""

from pathlib import Path

import pytest

from helmsman.records.checks import TestCounts
from helmsman.verify.summaries import READERS, clean_lines, read_summary

pytestmark = pytest.mark.feature("V3")

RECORDINGS = Path(__file__).parent.parent / "recordings" / "summaries"


def recording(name: str) -> str:
    return (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8")


def counts(passed: int, failed: int, skipped: int, *failing: str) -> TestCounts:
    return TestCounts(passed=passed, failed=failed, skipped=skipped, failing=failing)


PYTEST_RED = counts(
    2,
    4,
    2,
    "test_calc.py::test_bad[1]",
    "test_calc.py::test_bad[x y]",
    "test_calc.py::TestGroup::test_m",
    "test_calc.py::test_err",
)
PYTEST_NESTED = counts(1, 2, 0, "test_plugin.py::test_the_plugin_reports", "test_plugin.py::test_the_plugin_is_quiet")
UNITTEST_RED = counts(
    1,
    5,
    2,
    "test_err (sub_test.T.test_err)",
    "test_no (sub_test.T.test_no)",
    "test_sub (sub_test.T.test_sub) (i=0)",
    "test_sub (sub_test.T.test_sub) (i=2)",
    "test_xp (sub_test.T.test_xp)",
)
JEST_RED = ("calc › subtracts", "calc › inner › fails › with arrow", "top level")  # noqa: RUF001 - as jest prints it
VITEST_RED = tuple(
    f"vitest/red.test.js > {name}"
    for name in ("calc > subtracts", "calc > inner > fails › with arrow", "top level")  # noqa: RUF001 - the test's name
)
VITEST_MIXED = counts(3, 5, 2, "vitest/broken.test.js", "vitest/none.test.js", *VITEST_RED)
CARGO_RED = counts(3, 4, 1, "tests::bad", "tests::no_panic", "integ_err", "src/lib.rs - sub (line 5)")
MOCHA_RED = counts(
    1,
    4,
    2,
    "top level fails",
    "calc subtracts",
    "calc deep: inner fails with text",
    'calc hooked "before each" hook for "never runs"',
)
NODE_RED = {
    "spec": tuple(f"failing/calc.test.js > {name}" for name in ("subtracts", "fails # with a hash", "child fails")),
    "tap": ("subtracts", "calc > inner > fails # with a hash", "parent > child fails"),
}
"""Node.js counts a test of failing subtests as failing, but names only those."""

EXPECTED: dict[str, TestCounts] = {
    "pytest_green": counts(2, 0, 0),
    "pytest_green_quiet": counts(2, 0, 0),
    "pytest_red": PYTEST_RED,
    "pytest_red_quiet": PYTEST_RED,
    "pytest_red_colour": PYTEST_RED.model_copy(update={"failing": PYTEST_RED.failing[3:] + PYTEST_RED.failing[:3]}),
    "pytest_red_xdist": PYTEST_RED.model_copy(
        update={"failing": (PYTEST_RED.failing[1], PYTEST_RED.failing[0], *PYTEST_RED.failing[2:])}
    ),
    "pytest_stopped_early": counts(1, 1, 0, "test_calc.py::test_bad[1]"),
    "pytest_collection_error": counts(0, 1, 0, "broken/test_broken.py"),
    "pytest_no_tests": counts(0, 0, 0),
    "pytest_no_tests_quiet": counts(0, 0, 0),
    "pytest_deselected": counts(0, 0, 0),
    "pytest_subtests": counts(
        2,
        6,
        0,
        "test_sub.py::T::test_sub",
        "test_sub.py::test_fix",
        "test_sub.py::test_dash[a - b]",
        "test_sub.py::test_dash[[x]",
    ),
    "pytest_nested": PYTEST_NESTED,
    "pytest_nested_quiet": PYTEST_NESTED,
    "unittest_green": counts(1, 0, 1),
    "unittest_red": UNITTEST_RED,
    "unittest_red_verbose": UNITTEST_RED,
    "unittest_import_error": counts(0, 1, 0, "nowhere_at_all (unittest.loader._FailedTest.nowhere_at_all)"),
    "unittest_setup_error": counts(0, 1, 0, "setUpClass (sub_setup.T)"),
    "unittest_no_tests": counts(0, 0, 0),
    "jest_green": counts(2, 0, 0),
    "jest_red": counts(1, 3, 2, *JEST_RED),
    "jest_mixed_colour": counts(3, 5, 2, *JEST_RED, "jest/none.test.js", "jest/broken.test.js"),
    "jest_broken_file": counts(0, 1, 0, "jest/broken.test.js"),
    "jest_no_tests": counts(0, 0, 0),
    "vitest_green": counts(2, 0, 0),
    "vitest_red": counts(1, 3, 2, *VITEST_RED),
    "vitest_mixed_colour": VITEST_MIXED,
    "vitest_mixed_dots": VITEST_MIXED,
    "vitest_broken_file": counts(0, 1, 0, "vitest/broken.test.js"),
    "vitest_unhandled_error": counts(2, 2, 1, "vitest2/unh.test.js > hooked"),
    "vitest_no_tests": counts(0, 0, 0),
    "go_green": counts(3, 0, 0),
    "go_red": counts(1, 3, 0, "TestSub", "TestTable", "TestTable/negative_number"),
    "go_red_verbose": counts(3, 3, 1, "TestSub", "TestTable", "TestTable/negative_number"),
    "go_build_failed": counts(1, 1, 0, "example.com/calc"),
    "go_panic": counts(0, 2, 0, "TestDiv", "example.com/calc/store"),
    "go_no_tests": counts(0, 0, 0),
    "cargo_green": counts(1, 0, 0),
    "cargo_green_colour": counts(1, 0, 1),
    "cargo_red": CARGO_RED,
    "cargo_red_quiet": CARGO_RED,
    "mocha_green": counts(2, 0, 0),
    "mocha_red": MOCHA_RED,
    "mocha_red_colour": MOCHA_RED,
    "mocha_red_dots": MOCHA_RED,
    "mocha_no_tests": counts(0, 0, 0),
    **{
        f"node_{kind}_{reporter}": expected
        for reporter in ("spec", "tap")
        for kind, expected in {
            "passing": counts(2, 0, 0),
            "failing": counts(3, 4, 0, *NODE_RED[reporter]),
            "skipped": counts(1, 0, 2),
            "todo": counts(1, 0, 3),
            "empty": counts(0, 0, 0),
            "none": counts(0, 0, 0),
            "crashing": counts(0, 1, 0, "/workspace/crashing/calc.test.js"),
            "mixed": counts(2, 2, 0, "/workspace/mixed/a.test.js", "/workspace/mixed/b.test.js"),
        }.items()
    },
    "tap_passing": counts(2, 0, 0),
    "tap_failing": counts(1, 3, 0, "subtracts", "inner"),
    "tap_skipped": counts(1, 0, 2),
    "tap_todo": counts(1, 0, 2),
    "tap_empty": counts(0, 0, 0),
    "tap_crashing": counts(1, 2, 0),
    "rspec_green": counts(2, 0, 0),
    "rspec_red": counts(
        1,
        2,
        1,
        "./spec/person_spec.rb:5 # Person adult? is false below 18",
        "'./spec/person_spec.rb[1:3]' # Person prints 3 examples, 2 failures",
    ),
    "rspec_load_error": counts(0, 1, 0, "./spec/matrix_spec.rb"),
    "rspec_no_tests": counts(0, 0, 0),
    "phpunit_green": counts(2, 0, 0),
    "phpunit_skipped": counts(2, 0, 1),
    "phpunit_red": counts(
        3,
        3,
        2,
        r"Calc\CalcTest::testDivide",
        r"Calc\CalcTest::testSubtract",
        r'Calc\CalcTest::testTable with data set "negative number" (-1, 1)',
    ),
    "phpunit_no_tests": counts(0, 0, 0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_summary_gives_the_numbers_and_the_names_of_failing_tests(name: str) -> None:
    assert read_summary(recording(name)) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_only_the_runner_that_wrote_an_output_recognises_it(name: str) -> None:
    lines = clean_lines(recording(name))
    assert [runner for runner, reader in READERS if list(reader(lines))] == [name.partition("_")[0]]


@pytest.mark.parametrize("name", ["unknown_pytest_collect_only", "unknown_mocha_broken_file"])
def test_an_output_without_a_summary_gives_nothing(name: str) -> None:
    assert read_summary(recording(name)) is None


def test_every_recording_has_an_expectation_and_every_runner_a_recording() -> None:
    recorded = {path.stem for path in RECORDINGS.glob("*.txt") if not path.stem.startswith("unknown_")}
    assert recorded == set(EXPECTED)
    assert {name.partition("_")[0] for name in recorded} == {runner for runner, _ in READERS}


@pytest.mark.parametrize(
    "prose",
    [
        "",
        "All tests pass now: 12 passed, 0 failed.",
        "I ran pytest: 12 passed in 0.3s",
        "Tests: 3 failed, 4 total",
        "  7 passing of 9",
        "3 examples, 0 failures",
        "Tests: 3, Assertions: 4.",
        "FAIL src/app.test.js",
        "ok  example.com/calc 0.004s",
        "Ran 3 tests in 0.001s",
        "ok 1 - it works",
        "1..3",
        "ℹ tests 3\nℹ pass 3\nℹ fail 0",  # noqa: RUF001 - as node prints it
    ],
)
def test_prose_about_tests_is_no_summary(prose: str) -> None:
    assert read_summary(prose) is None
