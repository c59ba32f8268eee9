"""Find runs of test runners in output: shared helpers, and readers for runners whose output is more than a summary."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import NamedTuple

from helmsman.records.checks import TestCounts

Tally = dict[str, int]
NAMES_KEPT = 50
NAME_LENGTH = 300
_LABELLED = re.compile(r"(?<![A-Za-z ])([A-Za-z ]++)(?:=|: )([0-9]{1,9})")
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
    """Parse `3 failed, 1 passed`, or with labels `Failures: 1` and `expected failures=2`, with any text in between."""
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


# mocha ----------------------------------------------------------------------------------------------------------------

_MOCHA_PASSING = re.compile(r"  [0-9]{1,9} passing(?: \(.+\))?")
_MOCHA_OTHER = re.compile("  [0-9]{1,9} (?:pending|failing)")
_MOCHA_DEPTH = 20
_MOCHA_TITLE = re.compile(r"  ([0-9]{1,9})\) (.+)")


def read_mocha(lines: list[str]) -> Iterator[Run]:
    """Read runs of mocha, which prints names below the summary.

    The summary is between blank lines; output of tests is among the names of tests.
    """
    places = [number for number, _ in matching(_MOCHA_PASSING, lines) if not line_at(lines, number - 1)]
    for place, after in zip(places, [*places[1:], len(lines)], strict=False):
        summary = [lines[place], *takewhile(_MOCHA_OTHER.fullmatch, lines[place + 1 : place + 3])]
        if line_at(lines, place + len(summary)):
            continue
        tally = tally_of(" ".join(summary))
        failed = total(tally, ["failing"])
        names = _mocha_names(lines[place:after], failed)
        yield Run(place, run_counts(total(tally, ["passing"]), failed, total(tally, ["pending"]), names))


def _mocha_names(lines: list[str], failed: int) -> Iterator[str]:
    """Yield names of failing tests: a numbered title has a line for each suite, up to a line that ends with a colon."""
    expected = 1
    for number, title in matching(_MOCHA_TITLE, lines):
        if expected <= failed and int(title[1]) == expected:
            expected += 1
            title_lines = [title[2], *lines[number + 1 : number + _MOCHA_DEPTH]]
            suites = list(takewhile(lambda line: line and not line.endswith(":"), title_lines))
            yield " ".join(part.strip() for part in title_lines[: len(suites) + 1]).removesuffix(":")


# node --test ----------------------------------------------------------------------------------------------------------

_NODE_TOTALS = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms")
_NODE_TOTAL = re.compile(r"(?:ℹ|#) ([a-z_]+) ([0-9]{1,9})(?:\.[0-9]++)?")  # noqa: RUF001 - as node prints it
_TAP_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?: *#.*)?")
_TAP_RESULT = re.compile(r"( *)(not )?ok ([0-9]{1,9})(?: -)?(?: (?!# )(.*?))?(?: # ((?i:SKIP|TODO))\b.*)?")
_NODE_FAILING_TESTS = "✖ failing tests:"
_NODE_PLACE = re.compile(r"test at (.+?):[0-9]++:[0-9]++")
_NODE_FAILED = re.compile(r"✖ (.+) \([0-9.]++ms\)")
_NODE_FILE = re.compile(r"(?:✔|ok [0-9]++ -) (?:/|[A-Za-z]:[\\/]).+\.[cm]?[jt]sx?(?: \([0-9.]++ms\))?")
"""Node counts a file that loads and has no tests as one passing test."""


def read_node(lines: list[str]) -> Iterator[Run]:
    """Read runs of Node.js's own runner by its eight final totals. Todos prove nothing, and node does not count them.

    In TAP the totals follow the plan: tests' output is in comments as well, but tests cannot print a plan.
    """
    start = 0
    for number, line in enumerate(lines):
        totals, tap = _node_totals(lines[number : number + len(_NODE_TOTALS)]), line.startswith("#")
        if not totals or (tap and not _TAP_PLAN.fullmatch(line_at(lines, number - 1))):
            continue
        last, above = number + len(_NODE_TOTALS) - 1, lines[start:number]
        failed, empty = total(totals, ["fail", "cancelled"]), sum(bool(_NODE_FILE.fullmatch(line)) for line in above)
        names = (_tap_failing(above) if tap else _node_failing(lines[last + 1 :])) if failed else ()
        yield Run(number, run_counts(totals["pass"] - empty, failed, total(totals, ["skipped", "todo"]), names))
        start = last + 1


def _node_totals(lines: list[str]) -> Tally:
    """Return the totals; empty if the lines are something else."""
    totals = [match for line in lines if (match := _NODE_TOTAL.fullmatch(line))]
    return {match[1]: int(match[2]) for match in totals} if tuple(match[1] for match in totals) == _NODE_TOTALS else {}


def _node_failing(lines: list[str]) -> Iterator[str]:
    """Yield names below the heading, prefixed with their file. A failing todo has a remark after its time."""
    if _NODE_FAILING_TESTS not in lines[:2]:
        return
    for number, place in matching(_NODE_PLACE, lines):
        if failed := _NODE_FAILED.fullmatch(line_at(lines, number + 1)):
            yield failed[1] if _NODE_FILE.fullmatch(f"ok 1 - {failed[1]}") else f"{place[1]} > {failed[1]}"


# TAP ------------------------------------------------------------------------------------------------------------------


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

    Node.js also counts subtests, in totals after the plan, which `read_node` reads.
    """
    for document in _tap_documents(lines):
        planned, results = document.planned, document.results
        if planned is None or not (results or not planned):
            continue
        following = lines[document.place + 1 : document.place + 1 + len(_NODE_TOTALS)]
        if _TAP_PLAN.fullmatch(lines[document.place]) and _node_totals(following):
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


def _tap_failing(lines: list[str]) -> Iterator[str]:
    """Yield names of failing tests, including subtests."""
    results = (match for line in lines if (match := _TAP_RESULT.fullmatch(line)))
    return (result[4] or "" for result in results if result[2] and not result[5])
