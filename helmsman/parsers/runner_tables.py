"""What a test runner printed, read as the table of `runners.toml` says.

A summary is recognised by the shape of its own line and of the lines beside it, so that one runner's output is never
taken for another's. A test that is expected to fail counts as skipped: it proves nothing about the goal.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from helmsman.parsers.runner_formats import read_go, read_mocha, read_node, read_tap
from helmsman.parsers.runner_sessions import Mark, Run, Span, between, line_at, matching, outermost, run_counts, tally_of, total
from helmsman.records.checks import TestCounts

_READERS: Mapping[str, Callable[[list[str]], Iterable[Run]]] = {
    "go": read_go,
    "mocha": read_mocha,
    "node": read_node,
    "tap": read_tap,
}
Words = tuple[str, ...]


class Names(NamedTuple):
    """Where the names of failing tests stand."""

    pattern: str
    always: bool = False  # also where nothing is counted as failed
    below: bool = False
    after: str = ""
    """Below the last of these lines; everywhere, where it is in the part of the output that was not kept."""
    block: bool = False  # they follow each other without another line
    behind: str = ""  # the line before one
    section: str = ""
    within: str = ".*"  # A line that names what follows, and what it has to name
    as_section: str = ""  # what stands for a name where the whole section failed
    message: bool = False  # A message follows behind a dash


class Runner(NamedTuple):
    """How one runner tells what it did."""

    name: str
    reader: str = ""
    nothing: str = ""
    begins: str = ""
    session: Mapping[Mark, str] = {}
    ends: str = ""
    beside: Mapping[int, str] = {}
    read: tuple[int, ...] = (0,)
    last: int = 0  # lines from the first of the summary to its last
    labels: bool = False
    passed: Words = ()
    ran: Words = ()
    not_run: str = ""
    failed: Words = ()
    failed_outside: Words = ()  # not counted among those that ran
    more_failed: str = ""
    below_failed: str = ""
    else_failed: int = 0  # the line whose number counts where no test failed
    skipped: Words = ()
    names: tuple[Names, ...] = ()


@cache
def runners() -> tuple[Runner, ...]:
    table: Any = tomllib.loads(files("helmsman.parsers").joinpath("runners.toml").read_text("utf-8"))["runner"]
    return TypeAdapter(tuple[Runner, ...]).validate_python(table)


def runs_in(runner: Runner, lines: list[str]) -> list[Run]:
    """The runs of one runner. One that began and has no summary is a run of no test."""

    def empty(pattern: str) -> list[Run]:
        return [Run(number, number, run_counts(0, 0, 0, ())) for number, _ in matching(pattern, lines)] if pattern else []

    found = list(_READERS[runner.reader](lines) if runner.reader else _summaries(runner, lines))
    return [*found, *empty(runner.nothing)] or empty(runner.begins)[:1]


def _summaries(runner: Runner, lines: list[str]) -> Iterator[Run]:
    """What stands in each session; else around each summary: above it up to the one before, below it up to the next."""
    if runner.session:
        marks: list[tuple[Mark, re.Pattern[str]]] = [(mark, re.compile(pattern)) for mark, pattern in runner.session.items()]
        # of several marks on a line the first of the table counts
        seen: dict[int, Mark] = {
            number: mark for number, line in enumerate(lines) for mark, one in reversed(marks) if one.fullmatch(line)
        }
        for first, last in outermost(seen.items()):
            yield Run(first, last, _counts(runner, last, lines, lines[first:last], []))
        return
    spans: list[Span] = [
        (number, number + runner.last)
        for number, _ in matching(runner.ends, lines)
        if all(re.fullmatch(pattern, line_at(lines, number + at)) for at, pattern in runner.beside.items())
    ]
    start = 0
    for (first, last), below in zip(spans, between(spans, lines), strict=True):
        yield Run(first, last, _counts(runner, first, lines, lines[start:first], below))
        start = first


def _counts(runner: Runner, number: int, lines: list[str], above: list[str], below: list[str]) -> TestCounts:
    tally = tally_of(" ".join(line_at(lines, number + at) for at in runner.read), labels=runner.labels)
    named = [(rule, *found) for rule in runner.names for found in _names(rule, below if rule.below else above)]
    broken = {section for rule, section, name in named if name == rule.as_section}
    of_tests, skipped = total(tally, runner.failed), total(tally, runner.skipped)
    failed = of_tests + total(tally, runner.failed_outside) + len(broken) + _numbers(runner.more_failed, above)
    failed += _numbers(runner.below_failed, [line_at(lines, number + 1)])
    if not failed and runner.else_failed:
        failed = total(tally_of(line_at(lines, number + runner.else_failed)), runner.failed)
    passed = total(tally, runner.passed)
    if not runner.passed:
        match = re.fullmatch(runner.ends, lines[number])
        ran = int(match["ran"]) if match and "ran" in match.groupdict() else total(tally, runner.ran)
        not_run = sum(1 for _ in matching(runner.not_run, above)) if runner.not_run else 0
        passed = ran - not_run - of_tests - skipped
    shown = list[str]()
    for rule, section, name in named:
        if failed or rule.always:
            whole = rule.as_section and name == rule.as_section
            # Behind a dash stands a message; one inside the brackets belongs to the test's parameters.
            ends = (name[: dash.start()] for dash in re.finditer(" - ", name) if rule.message)
            shown.append(section if whole else next((end for end in ends if "[" not in end or end.endswith("]")), name))
    return run_counts(passed, failed, skipped, shown)


def _numbers(pattern: str, lines: list[str]) -> int:
    return sum(int(match[1]) for _, match in matching(pattern, lines)) if pattern else 0


def _names(rule: Names, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Section and name of each failing test."""
    if rule.after:
        heading = re.compile(rule.after)
        lines = list(takewhile(lambda line: not heading.fullmatch(line), reversed(lines)))[::-1]
    pattern, heads, behind = re.compile(rule.pattern), re.compile(rule.section or r"(?!)"), re.compile(rule.behind or ".*")
    section = ""
    for number, line in enumerate(lines):
        if head := heads.fullmatch(line):
            section = head[1] or ""
        elif (match := pattern.fullmatch(line)) and behind.fullmatch(line_at(lines, number - 1)):
            if not rule.section or re.fullmatch(rule.within, section):
                yield section, match[1]
        elif rule.block:
            return
