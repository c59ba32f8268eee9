"""Outputs as checks really give them: several runners in one, cut in the middle, quoted, hostile."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.runner_formats import NAME_LENGTH, NAMES_KEPT
from helmsman.parsers.test_report import read_summary
from helmsman.records.checks import TestCounts

pytestmark = pytest.mark.feature("V3")

RECORDINGS = {
    path.stem: text if (text := path.read_text(encoding="utf-8")).endswith("\n") else f"{text}\n"
    for path in sorted((Path(__file__).parent.parent / "recordings" / "summaries").glob("*.txt"))
}
HARD_TO_TELL = {name for name in RECORDINGS if name.startswith(("pytest_red", "pytest_failing"))} | {
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


def test_runs_one_after_the_other_are_added_up() -> None:
    alone = {name: totals(read_summary(text)) for name, text in RECORDINGS.items()}
    for first, output in RECORDINGS.items():
        runner = first.partition("_")[0]
        seconds = {name for name in RECORDINGS if name.startswith(runner) or name.endswith(("_failing", "_exiting"))}
        for second in seconds - {name for name in seconds if first in UNFINISHED and name.startswith("pytest")}:
            both = totals(read_summary(output + RECORDINGS[second]))
            assert both == tuple(map(sum, zip(alone[first], alone[second], strict=True))), (first, second)


@pytest.mark.parametrize("outer", ["pytest_red", "pytest_red_quiet"])
def test_a_summary_that_a_failing_test_printed_is_not_counted(outer: str) -> None:
    place = "Captured stdout call -----------------------------\n"
    assert place in RECORDINGS[outer]
    for quoted in RECORDINGS.keys() - HARD_TO_TELL:
        output = RECORDINGS[outer].replace(place, place + RECORDINGS[quoted], 1)
        assert read_summary(output) == read_summary(RECORDINGS[outer]), quoted


def test_a_session_that_was_killed_does_not_hide_the_next_one() -> None:
    killed = RECORDINGS["pytest_passing"].partition("test_calc.py")[0]
    assert read(killed + RECORDINGS["pytest_red"]) == read(RECORDINGS["pytest_red"])
    assert totals(read(killed + RECORDINGS["pytest_passing"] * 2)) == (4, 0, 0)


def test_names_are_read_if_their_heading_was_truncated() -> None:
    head, _, recap = RECORDINGS["pytest_red"].partition("short test summary info")
    names = recap.partition("\n")[2]
    assert read(head[:300] + "\n[9 bytes left out]\n" + names) == read(RECORDINGS["pytest_red"])


def test_names_are_ignored_if_nothing_failed() -> None:
    counts = read_summary(" FAIL  src/a.test.ts > a\n\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n")
    assert counts == TestCounts(passed=2)


def test_windows_line_ends_change_nothing() -> None:
    for text in RECORDINGS.values():
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


@given(st.text())
def test_any_text_gives_bounded_numbers_or_nothing(text: str) -> None:
    assert_bounded(read_summary(text))


@given(st.sampled_from(sorted(RECORDINGS)), st.integers(0, 4000), st.integers(0, 4000))
def test_any_cut_gives_bounded_numbers_or_nothing(name: str, head: int, tail: int) -> None:
    text = RECORDINGS[name]
    assert_bounded(read_summary(f"{text[:head]}\n[9 bytes left out]\n{text[len(text) - tail :]}"))
