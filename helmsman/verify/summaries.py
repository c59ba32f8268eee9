"""Test numbers from what a runner prints at its end, for checks that write no report."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from helmsman.records.checks import TestCounts
from helmsman.verify.failing import failing_names
from helmsman.verify.runners import (
    read_cargo,
    read_go,
    read_jest,
    read_maven,
    read_mocha,
    read_phpunit,
    read_pytest,
    read_rspec,
    read_unittest,
    read_vitest,
)
from helmsman.verify.runs import Run, matching
from helmsman.verify.tap import read_node, read_tap

Reader = Callable[[list[str]], Iterable[Run]]


class Dialect(NamedTuple):
    """How one runner tells what it did."""

    runner: str
    read: Reader
    nothing: re.Pattern[str] | None = None
    """What it prints instead of a summary where it found no test."""
    begins: re.Pattern[str] | None = None
    """How it announces itself. Where no summary follows, it was cut off or left by a test: nothing says that a test ran."""


DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "pytest",
        read_pytest,
        nothing=re.compile(r"(?:=++ )?[0-9]++ tests? collected in [0-9.]++s(?: =++)?"),
        begins=re.compile("=++ test session starts =++"),
    ),
    Dialect("unittest", read_unittest, begins=re.compile(r"test\w*+ \([\w.]++\) \.\.\. .*")),
    Dialect(
        "jest",
        read_jest,
        nothing=re.compile("No tests found, exiting with code [01]"),
        begins=re.compile(r"  ●  process\.exit called with \"[0-9]++\""),
    ),
    Dialect(
        "vitest",
        read_vitest,
        nothing=re.compile("No test files found, exiting with code [01]"),
        begins=re.compile(r" RUN  v[0-9]++\.\S++ .+"),
    ),
    Dialect("go", read_go),
    Dialect("cargo", read_cargo, begins=re.compile("running [1-9][0-9]*+ tests?")),
    Dialect(
        "maven",
        read_maven,
        nothing=re.compile(r"\[INFO\] (?:No tests to run|Tests are skipped)\."),
        begins=re.compile(r"\[INFO\] --- (?:maven-)?(?:surefire|failsafe)(?:-plugin)?:\S++ .+"),
    ),
    Dialect("mocha", read_mocha, nothing=re.compile("Error: No test files found: .+")),
    Dialect("rspec", read_rspec),
    Dialect(
        "phpunit",
        read_phpunit,
        nothing=re.compile("No tests executed!"),
        begins=re.compile(r"PHPUnit [0-9]++\.\S++ by Sebastian Bergmann and contributors\."),
    ),
    Dialect("node", read_node),
    Dialect("tap", read_tap),
)

_LINE_LENGTH = 1000
"""No summary line is longer; the bound keeps every pattern cheap on hostile output."""

# Control sequences, operating system commands (titles, links), character sets, single letters; none can backtrack.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])")


def read_summary(output: str) -> TestCounts | None:
    """Add up the runs of all known runners. None when there is no summary line that we know.

    The output may be the head and the tail of a longer one.
    """
    lines = clean_lines(output)
    runs = _unquoted(run for dialect in DIALECTS for run in runs_in(dialect, lines))
    if not runs:
        return None
    return TestCounts(
        passed=sum(run.counts.passed for run in runs),
        failed=sum(run.counts.failed for run in runs),
        skipped=sum(run.counts.skipped for run in runs),
        failing=failing_names(name for run in runs for name in run.counts.failing),
    )


def runs_in(dialect: Dialect, lines: list[str]) -> list[Run]:
    """The runs of one runner. One that began and has no summary is a run of no test."""
    found = [*dialect.read(lines), *_empty(dialect.nothing, lines)]
    return found or _empty(dialect.begins, lines)[:1]


def _empty(pattern: re.Pattern[str] | None, lines: list[str]) -> list[Run]:
    return [Run(number, number, TestCounts()) for number, _ in matching(pattern, lines)] if pattern else []


def clean_lines(output: str) -> list[str]:
    """Take colours and trailing blanks away and cut lines that are too long."""
    return [line[:_LINE_LENGTH].rstrip() for line in _ESCAPE.sub("", output).splitlines()]


def _unquoted(runs: Iterable[Run]) -> list[Run]:
    """Drop a run that lies inside the session of another: a test printed it."""
    kept: list[Run] = []
    end = -1
    for run in sorted(runs, key=lambda run: (run.first, -run.last)):
        if run.last > end:
            kept.append(run)
            end = run.last
    return kept
