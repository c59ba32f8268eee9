"""Runs of test runners in lines of output: what the readers share."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from helmsman.records.checks import TestCounts
from helmsman.verify.failing import failing_names


class Run(NamedTuple):
    """One run of a runner, and where it stands in the output."""

    first: int
    last: int
    counts: TestCounts


Tally = dict[str, int]


def run_counts(passed: int, failed: int, skipped: int, names: Iterable[str]) -> TestCounts:
    return TestCounts(passed=max(passed, 0), failed=failed, skipped=skipped, failing=failing_names(names))


def read_tally(text: str) -> Tally:
    """Read `3 failed, 1 passed`, whatever stands between."""
    return {word: int(number) for number, word in re.findall(r"([0-9]{1,9}) ([a-z]+)", text)}


_LABELLED = re.compile(r"(?<![A-Za-z ])([A-Za-z ]++)(?:=|: )([0-9]{1,9})")


def read_labels(text: str) -> Tally:
    """Read `Tests: 3, Failures: 1` and `failures=1, expected failures=2`."""
    return {name.strip(): int(number) for name, number in _LABELLED.findall(text)}


def total(tally: Tally, *names: str) -> int:
    return sum(tally.get(name, 0) for name in names)


def line_at(lines: list[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""


def matching(pattern: re.Pattern[str], lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    return ((number, match) for number, line in enumerate(lines) if (match := pattern.fullmatch(line)))
