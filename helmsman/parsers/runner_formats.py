"""Find runs of test runners in output: shared helpers, and readers for runners whose output is more than a summary."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from helmsman.records.checks import TestCounts

Tally = dict[str, int]
NAMES_KEPT = 50
NAME_LENGTH = 300
_LABELLED = re.compile(r"(?<![A-Za-z ])([A-Za-z ]*[A-Za-z])(?:=|: | )([0-9]{1,9})")
_NUMBERED = re.compile(r"([0-9]{1,9}) ([a-z]+)")


class Run(NamedTuple):
    """One run of a runner, and the line of its summary."""

    line: int
    counts: TestCounts


def run_counts(passed: int, failed: int, skipped: int, names: Iterable[str]) -> TestCounts:
    return TestCounts(passed=max(passed, 0), failed=failed, skipped=skipped, failing=failing_names(names))


def failing_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return distinct names in order, on one line and truncated, for prompts and records."""
    tidy = (" ".join(name.split())[:NAME_LENGTH] for name in names)
    return tuple(islice(dict.fromkeys(name for name in tidy if name), NAMES_KEPT))


def tally_of(text: str, *, labels: bool = False) -> Tally:
    """Parse `3 failed, 1 passed`, or with labels `Failures: 1`, `fail 1` and `expected failures=2`, with any text in between."""
    if labels:
        return {name.strip(): int(number) for name, number in _LABELLED.findall(text)}
    return {word: int(number) for number, word in _NUMBERED.findall(text)}


def total(tally: Tally, names: Iterable[str]) -> int:
    return sum(tally.get(name, 0) for name in names)


def line_at(lines: list[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""


def matching(pattern: str | re.Pattern[str], lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    compiled = re.compile(pattern)
    return ((number, match) for number, line in enumerate(lines) if (match := compiled.fullmatch(line)))


# go test --------------------------------------------------------------------------------------------------------------

_GO_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t(\S++)[ \t](.+)")
_GO_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): (.+) \([0-9.]++s\)")


def read_go(lines: list[str]) -> Iterator[Run]:
    """Read runs of go test, including subtests; a package without named tests counts as one test."""
    start = 0
    for number, package in matching(_GO_PACKAGE, lines):
        tests = [(match[1], match[2]) for _, match in matching(_GO_TEST, lines[start:number])]
        status, outcomes = package[1].strip(), [outcome for outcome, _ in tests]
        failing = [test for outcome, test in tests if outcome == "FAIL"]
        if status == "FAIL":
            failing = failing or [package[2]]  # it did not compile, panicked or timed out
        is_unnamed = status == "ok" and not tests and "[no tests to run]" not in package[3]
        counts = run_counts(outcomes.count("PASS") + is_unnamed, len(failing), outcomes.count("SKIP"), failing)
        yield Run(number, counts)
        start = number + 1


# TAP ------------------------------------------------------------------------------------------------------------------


_TAP_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?: *#.*)?")
_TAP_RESULT = re.compile(r"( *)(not )?ok ([0-9]{1,9})(?: -)?(?: (?!# )(.*?))?(?: # ((?i:SKIP|TODO))\b.*)?")


@dataclass
class _Document:
    """A plan and its results, in either order."""

    planned: int | None = None
    place: int = 0  # its last line
    results: list[re.Match[str]] = field(default_factory=list[re.Match[str]])

    @property
    def last(self) -> int:
        return int(self.results[-1][3]) if self.results else 0


def read_tap(lines: list[str]) -> Iterator[Run]:
    """Read top-level results of the Test Anything Protocol. Planned tests after the last result did not run, and count as failed.

    Node.js also counts subtests, in totals after the plan, which runners.toml describes.
    """
    for document in _tap_documents(lines):
        planned, results = document.planned, document.results
        if planned is None or not (results or not planned):
            continue
        if line_at(lines, document.place + 2).startswith("# suites "):  # totals of Node.js
            continue
        outcomes = ["skipped" if match[5] else "failed" if match[2] else "passed" for match in results]
        failed = outcomes.count("failed") + max(0, planned - document.last)
        names = (match[4] for match in results if match[2] and match[4] and not match[5])
        yield Run(document.place, run_counts(outcomes.count("passed"), failed, outcomes.count("skipped"), names))


def _tap_documents(lines: list[str]) -> Iterator[_Document]:
    """Split lines into documents: a version line, a second plan, or a result outside of the current plan starts a new one."""
    document = _Document()
    for number, line in enumerate(lines):
        plan, result = _TAP_PLAN.fullmatch(line), _TAP_RESULT.fullmatch(line)
        if result and result[1]:  # of a subtest
            continue
        planned = document.planned
        misplaced = result and planned is not None and not document.last < int(result[3]) <= planned
        if planned is not None and (plan or misplaced or line.startswith("TAP version ")):
            yield document
            document = _Document()
        if plan:
            document.planned = int(plan[1])
        if result:
            document.results.append(result)
        if plan or result:
            document.place = number
    yield document
