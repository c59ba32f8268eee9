"""What test runners print at their end is read as numbers. The recordings are outputs of the real runners; only `phpunit_red`
follows a format that is documented, that of PHPUnit 11.
"""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.runs import NAME_LENGTH, NAMES_KEPT
from helmsman.parsers.test_report import clean_lines, find_runs, read_summary, runners
from helmsman.records.checks import TestCounts
from tests.unit.runner_situations import RECORDED

pytestmark = pytest.mark.feature("V3")

RECORDINGS = Path(__file__).parent.parent / "recordings" / "summaries"


def recording(name: str) -> str:
    return (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8")


def counts(passed: int, failed: int, skipped: int, *failing: str) -> TestCounts:
    return TestCounts(passed=passed, failed=failed, skipped=skipped, failing=failing)


PYTEST_RED = counts(
    1,
    4,
    3,
    "test_calc.py::test_bad[1]",
    "test_calc.py::test_bad[x y]",
    "test_calc.py::TestGroup::test_m",
    "test_calc.py::test_err",
)
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

EXPECTED: dict[str, TestCounts] = {
    "pytest_red": PYTEST_RED,
    "pytest_red_quiet": PYTEST_RED,
    "pytest_red_colour": PYTEST_RED.model_copy(update={"failing": PYTEST_RED.failing[3:] + PYTEST_RED.failing[:3]}),
    "pytest_red_xdist": PYTEST_RED.model_copy(
        update={"failing": (PYTEST_RED.failing[1], PYTEST_RED.failing[0], *PYTEST_RED.failing[2:])}
    ),
    "pytest_stopped_early": counts(1, 1, 0, "test_calc.py::test_bad[1]"),
    "pytest_deselected": counts(0, 0, 0),
    "pytest_collect_only": counts(0, 0, 0),
    "pytest_subtests": counts(
        2,
        6,
        0,
        "test_sub.py::T::test_sub",
        "test_sub.py::test_fix",
        "test_sub.py::test_dash[a - b]",
        "test_sub.py::test_dash[[x]",
    ),
    "unittest_red": UNITTEST_RED,
    "unittest_red_verbose": UNITTEST_RED,
    "unittest_setup_error": counts(0, 1, 0, "setUpClass (sub_setup.T)"),
    "jest_red": counts(1, 3, 2, *JEST_RED),
    "jest_mixed_colour": counts(3, 5, 2, *JEST_RED, "jest/none.test.js", "jest/broken.test.js"),
    "vitest_red": counts(1, 3, 2, *VITEST_RED),
    "vitest_mixed_colour": VITEST_MIXED,
    "vitest_mixed_dots": VITEST_MIXED,
    "vitest_unhandled_error": counts(2, 2, 1, "vitest2/unh.test.js > hooked"),
    "cargo_green_colour": counts(1, 0, 1),
    "cargo_red": CARGO_RED,
    "cargo_red_quiet": CARGO_RED,
    "mocha_red": MOCHA_RED,
    "mocha_red_colour": MOCHA_RED,
    "mocha_red_dots": MOCHA_RED,
    "tap_passing": counts(2, 0, 0),
    "tap_failing": counts(1, 3, 0, "subtracts", "inner"),
    "tap_skipped": counts(1, 0, 2),
    "tap_todo": counts(1, 0, 2),
    "tap_empty": counts(0, 0, 0),
    "tap_crashing": counts(1, 2, 0),
    "tap_tape_passing": counts(2, 0, 1),
    "tap_tape_failing": counts(0, 3, 0, "parse", "inner", "other"),
    "phpunit_red": counts(
        3,
        3,
        2,
        r"Calc\CalcTest::testDivide",
        r"Calc\CalcTest::testSubtract",
        r'Calc\CalcTest::testTable with data set "negative number" (-1, 1)',
    ),
}
OF_ALL = EXPECTED | {name: situation.counts for name, situation in RECORDED.items()}
UNSHOWN = {
    "go_skipped",  # without -v go names no test: a package that passes counts as one
    "go_setup",
    "mocha_exiting",  # no summary, and nothing before it that only this runner prints
    "rspec_exiting",
    "rspec_leaving",  # it counts an example as passed that leaves by `exit`
    "phpunit_risky",
    "maven_passing_quiet",  # with -q Maven prints failures only
    "maven_ignored",
}
"""Green suites of which the output does not show that no test passed, or how many did."""


def test_the_summary_gives_the_numbers_and_the_names_of_failing_tests() -> None:
    assert {name: read_summary(recording(name)) for name in OF_ALL} == OF_ALL


def test_only_the_runner_that_wrote_an_output_recognises_it() -> None:
    outputs = {name: clean_lines(recording(name)) for name in OF_ALL}
    found = {name: {runner.name for runner in runners() if find_runs(runner, lines)} for name, lines in outputs.items()}
    assert found == {name: set() if counts is None else {name.partition("_")[0]} for name, counts in OF_ALL.items()}


@pytest.mark.feature("V9")
def test_a_green_suite_without_passed_tests_counts_as_not_run() -> None:
    green = {name: one.counts for name, one in RECORDED.items() if one.exit == 0 and "_passing" not in name}
    ran = {name for name, counts in green.items() if counts is None or counts.executed}
    assert ran == UNSHOWN - {"maven_passing_quiet"} | {
        f"node_{suite}_{form}" for suite in ("skipped", "todo") for form in ("spec", "tap")
    }


def test_every_recording_has_an_expectation_and_every_runner_a_recording() -> None:
    recorded = {path.stem for path in RECORDINGS.glob("*.txt")}
    assert recorded == set(OF_ALL)
    assert {name.partition("_")[0] for name in recorded} == {runner.name for runner in runners()}


PROSE = (
    "", "All tests pass now: 12 passed, 0 failed.", "I ran pytest: 12 passed in 0.3s", "Tests: 3 failed, 4 total",
    "  7 passing of 9", "3 examples, 0 failures", "Tests: 3, Assertions: 4.", "FAIL src/app.test.js",
    "ok  example.com/calc 0.004s",
    "Ran 3 tests in 0.001s", "ok 1 - it works", "1..3", "ℹ tests 3\nℹ pass 3\nℹ fail 0",  # noqa: RUF001 - as node prints it
)  # fmt: skip


def test_prose_about_tests_is_no_summary() -> None:
    assert [prose for prose in PROSE if read_summary(prose) is not None] == []


# --- outputs as checks give them: several runners in one, truncated, quoted, hostile ----------------------------------

OUTPUTS = {
    path.stem: text if (text := path.read_text(encoding="utf-8")).endswith("\n") else f"{text}\n"
    for path in sorted(RECORDINGS.glob("*.txt"))
}
HARD_TO_TELL = {name for name in OUTPUTS if name.startswith(("pytest_red", "pytest_failing"))} | {
    "pytest_broken",
    "pytest_subtests",
    "pytest_stopped_early",
}
"""Red sessions with the heading that ends a report; inside another they end that report, and are counted."""
UNFINISHED = ("pytest_crashing", "pytest_exiting")
"""A quiet session after one of these could as well be text that a test printed."""
TWO_MEGABYTES = 2_000_000


def totals(counts: TestCounts | None) -> tuple[int, int, int]:
    return (counts.passed, counts.failed, counts.skipped) if counts else (0, 0, 0)


def read(output: str) -> TestCounts:
    found = read_summary(output)
    assert found is not None
    return found


def test_go_names_the_files_of_a_package_that_does_not_compile_if_all_errors_are_in_tests() -> None:
    at_fault, of_both = "# x/a [x/a.test]\n./a_test.go:5:3: undefined: B", "# x/b\n# [x/b]\nb/b_test.go:3:1: no\nb/b.go:3:1: no"
    of_two = "# x/c_test [x/c.test]\nc/c_test.go:5:3: undefined: B\n\thave ()\nc/d_test.go:5:3: undefined: D\ntoo many errors"
    failed = "".join(f"FAIL\tx/{name} [build failed]\n" for name in "abc")
    assert read_summary(f"{at_fault}\n{of_both}\n{of_two}\n{failed}FAIL") == counts(
        0, 4, 0, "a_test.go", "x/b", "c/c_test.go", "c/d_test.go"
    )


def test_a_test_that_fails_with_its_tear_down_counts_once() -> None:
    twice = "\n".join(
        f"{'=' * 70}\n{kind}: test_a (t.T.test_a)\n{'-' * 70}\nTraceback (most recent call last):" for kind in ("FAIL", "ERROR")
    )
    assert read_summary(f"{twice}\n\n{'-' * 70}\nRan 2 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n") == counts(
        1, 1, 0, "test_a (t.T.test_a)"
    )


def test_go_output_with_a_missing_middle_counts_only_a_part() -> None:
    whole = recording("go_passing_verbose")
    cut = "\n".join(line for line in whole.splitlines() if not line.startswith("--- PASS: TestAdd"))
    assert (read_summary(whole) or TestCounts()).partial is False
    assert cut != whole
    assert (read_summary(cut) or TestCounts()).partial is True
    assert (read_summary(whole, cut=True) or TestCounts()).partial is True
    assert (read_summary(recording("cargo_passing"), cut=True) or TestCounts()).partial is False


def test_long_output_of_tape_counts_only_a_part() -> None:
    lines = recording("tap_tape_passing").splitlines()
    cut = read_summary("\n".join(line for line in lines if "inner" not in line and not line.startswith("ok 2")))
    assert cut is not None
    assert cut.partial


def test_runs_one_after_the_other_are_added_up() -> None:
    alone = {name: totals(read_summary(text)) for name, text in OUTPUTS.items()}
    for first, output in OUTPUTS.items():
        runner = first.partition("_")[0]
        seconds = {name for name in OUTPUTS if name.startswith(runner) or name.endswith(("_failing", "_exiting"))}
        for second in seconds - {name for name in seconds if first in UNFINISHED and name.startswith("pytest")}:
            both = totals(read_summary(output + OUTPUTS[second]))
            assert both == tuple(map(sum, zip(alone[first], alone[second], strict=True))), (first, second)


@pytest.mark.parametrize("outer", ["pytest_red", "pytest_red_quiet"])
def test_a_summary_that_a_failing_test_printed_is_not_counted(outer: str) -> None:
    place = "Captured stdout call -----------------------------\n"
    assert place in OUTPUTS[outer]
    for quoted in OUTPUTS.keys() - HARD_TO_TELL:
        output = OUTPUTS[outer].replace(place, place + OUTPUTS[quoted], 1)
        assert read_summary(output) == read_summary(OUTPUTS[outer]), quoted


def test_a_session_that_was_killed_does_not_hide_the_next_one() -> None:
    killed = OUTPUTS["pytest_passing"].partition("test_calc.py")[0]
    assert read(killed + OUTPUTS["pytest_red"]) == read(OUTPUTS["pytest_red"])
    assert totals(read(killed + OUTPUTS["pytest_passing"] * 2)) == (4, 0, 0)


def test_names_are_read_if_their_heading_was_truncated() -> None:
    head, _, recap = OUTPUTS["pytest_red"].partition("short test summary info")
    names = recap.partition("\n")[2]
    assert read(head[:300] + "\n[9 bytes left out]\n" + names) == read(OUTPUTS["pytest_red"])


def test_names_are_ignored_if_nothing_failed() -> None:
    counts = read_summary(" FAIL  src/a.test.ts > a\n\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n")
    assert counts == TestCounts(passed=2)


def test_windows_line_ends_change_nothing() -> None:
    for text in OUTPUTS.values():
        assert read_summary(text.replace("\n", "\r\n")) == read_summary(text)


def test_names_are_distinct_bounded_and_at_most_fifty() -> None:
    names = ["test_a.py::same", "test_a.py::same", "x" * 900, *(f"test_a.py::test_{n}" for n in range(100))]
    recap = "".join(f"FAILED {name} - boom\n" for name in names)
    output = f"=== short test summary info ===\n{recap}{len(names)} failed in 0.10s\n"
    expected = ("test_a.py::same", "x" * NAME_LENGTH, *names[3 : NAMES_KEPT + 1])
    assert read(output) == TestCounts(failed=len(names), failing=expected)


UNITS = (
    "=", "= ", "1 passed, ", "9", "\x1b[", "\x1b[0;", "\x1b]", "\x1b ", "FAIL a ( ", " FAIL  x [ ", "--- FAIL: x (",
    "Tests: 1, A: 1, ", "FAILED x[ - ", "SUBFAILED[(", "  1) a: ", "  ● ", "Ran 1 test in 1", "There were 1 :",
    "[ERROR]  a", "[ERROR] a(", "[INFO] --- maven-", "Tests run: 1, ", "test (a", "running 1 ",
)  # fmt: skip
LONG_LINES = (
    "FAILED (" + "a" * 900 + ")", "Tests: 1, Assertions: 1" + ", A: 1" * 150 + ".", "FAILED " + "x[a - " * 150,
    "SUBFAILED" + "[(" * 450, " FAIL  x" + " [ " * 300, "FAIL a" + " (" * 450, "There were 1 " + ":" * 900,
)  # fmt: skip


def test_two_megabytes_of_hostile_output_are_read_in_less_than_a_second() -> None:
    blocks = [f"{'-' * 70}\nRan 1 test in 0.1s\n\n{line}\n!\n{line}\n" for line in LONG_LINES]
    for unit in (*UNITS, *blocks):
        begin = time.process_time()
        read_summary(unit * (TWO_MEGABYTES // len(unit)))
        assert time.process_time() - begin < 1, unit[:100]


def assert_bounded(found: TestCounts | None) -> None:
    if found is not None:
        assert min(totals(found)) >= 0
        assert len(found.failing) <= min(NAMES_KEPT, len(set(found.failing)))
        assert all(0 < len(name) <= NAME_LENGTH for name in found.failing)


@given(st.sampled_from(sorted(OUTPUTS)), st.integers(0, 4000), st.integers(0, 4000))
def test_any_cut_gives_bounded_numbers_or_nothing(name: str, head: int, tail: int) -> None:
    text = OUTPUTS[name]
    assert_bounded(read_summary(f"{text[:head]}\n[9 bytes left out]\n{text[len(text) - tail :]}"))
