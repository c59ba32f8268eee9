"""Runs of test runners: their counts, and readers of output that runners.toml cannot describe."""

import re
from collections.abc import Iterable, Iterator, Mapping
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
_GO_PANIC = re.compile(r"panic: .*")
_GO_BEGINS = re.compile(r"=== RUN   \S.*")
_GO_COMPILED = re.compile(r"# (?:\S+ )?\[?(\S+?)(?:\.test)?\]?")
_GO_ERROR = re.compile(r"(?:vet: )?(?:\./)?([^\s:]+\.go):[0-9]+:.*")


def read_go(lines: list[str]) -> Iterator[Run]:
    """Read runs of go test, including subtests; a package without named tests counts as one test."""
    start, broken = 0, _test_files_with_errors(lines)
    for number, package in matching(_GO_PACKAGE, lines):
        section = lines[start:number]
        tests = [(match[1], match[2]) for _, match in matching(_GO_TEST, section)]
        status, outcomes = package[1].strip(), [outcome for outcome, _ in tests]
        failing = [test for outcome, test in tests if outcome == "FAIL"]
        if status == "FAIL":
            failing = failing or broken.get(package[2]) or [package[2]]  # it did not compile, panicked or timed out
        is_unnamed = status == "ok" and not tests and "[no tests to run]" not in package[3]
        lost = any(matching(_GO_PANIC, section))  # the tests after it did not run: at least one failure has no name
        counts = run_counts(outcomes.count("PASS") + is_unnamed, len(failing) + lost, outcomes.count("SKIP"), failing)
        begun = sum(1 for _ in matching(_GO_BEGINS, section))
        yield Run(number, counts.model_copy(update={"partial": is_unnamed or (begun > 0 and begun != len(tests))}))
        start = number + 1


def _test_files_with_errors(lines: list[str]) -> Mapping[str, list[str]]:
    """Return the test files that do not compile, by package; without a package whose errors are also in its source."""
    errors, package = dict[str, dict[str, None]](), ""
    for line in lines:
        if head := _GO_COMPILED.fullmatch(line):
            package = head[1]
        elif package and (error := _GO_ERROR.fullmatch(line)):
            errors.setdefault(package, {})[error[1]] = None
        elif not line.startswith(("\t", "too many errors")):
            package = ""
    return {package: [*files] for package, files in errors.items() if all(file.endswith("_test.go") for file in files)}


# TAP ------------------------------------------------------------------------------------------------------------------


_TAP_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?: *#.*)?")
_TAP_RESULT = re.compile(r"( *)(not )?ok ([0-9]{1,9})(?: -)?(?: (?!# )(.*?))?(?: # ((?i:SKIP|TODO))\b.*)?")
_TAP_TITLE = re.compile(r"# (?:(Subtest: ).*|(.+))")  # of a test, above its results: of its assertions in tape


class TapResult(NamedTuple):
    """A top-level result."""

    number: int
    outcome: str
    name: str
    title: str = ""  # in tape's output the title of its test, else empty


def read_tap(lines: list[str]) -> Iterator[Run]:
    """Read top-level results of the Test Anything Protocol; plan and results may come in either order.

    A version line, a second plan, or a result outside of the plan starts a new document. Node.js also counts subtests, in totals
    after the plan, which runners.toml describes.
    """
    planned: int | None = None
    place, title, results = 0, "", list[TapResult]()
    for number, line in enumerate((*lines, "TAP version ")):  # the last line ends the last document
        plan, found = _TAP_PLAN.fullmatch(line), _TAP_RESULT.fullmatch(line)
        if (heading := _TAP_TITLE.fullmatch(line)) and (title or line_at(lines, number - 1).startswith("TAP version ")):
            title = heading[2] or ""
        if found and found[1]:  # of a subtest
            continue
        last = results[-1].number if results else 0
        is_misplaced = found and planned is not None and not last < int(found[3]) <= planned
        if planned is not None and (plan or is_misplaced or line.startswith("TAP version ")):
            if (results or not planned) and not line_at(lines, place + 2).startswith("# suites "):
                yield Run(place, _tap_counts(results, max(0, planned - last)))
            planned, title, results = None, "", []
        if plan:
            planned = int(plan[1])
        if found:
            outcome = "skipped" if found[5] else "failed" if found[2] else "passed"
            results.append(TapResult(int(found[3]), outcome, found[4] or "", title))
        if plan or found:
            place = number


def _tap_counts(results: list[TapResult], missing: int) -> TestCounts:
    """Count results; planned tests after the last result did not run, and count as failed.

    The results of tape are those of assertions: there a test with its title counts once.
    """
    unseen = 0
    if results and all(one.title for one in results):
        unseen = results[-1].number - len(results)
        results = list(_tests_of_tape(results))
    outcomes = [one.outcome for one in results]
    names = (one.name for one in results if one.outcome == "failed")
    counts = run_counts(outcomes.count("passed"), outcomes.count("failed") + missing, outcomes.count("skipped"), names)
    return counts.model_copy(update={"partial": unseen > 0})


def _tests_of_tape(results: list[TapResult]) -> Iterator[TapResult]:
    by_title = dict[str, list[str]]()
    for one in results:
        by_title.setdefault(one.title, []).append(one.outcome)
    for title, found in by_title.items():
        outcome = next((outcome for outcome in ("failed", "passed") if outcome in found), "skipped")
        yield TapResult(0, outcome, title, title)
