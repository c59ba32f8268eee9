"""Test counts and names: from JUnit XML, which nearly every runner can write, else from a runner's final summary."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from defusedxml.ElementTree import ParseError, fromstring
from pydantic import TypeAdapter

from helmsman.parsers.runs import Run, failing_names, line_at, matching, read_go, read_tap, run_counts, tally_of, total
from helmsman.records.checks import TestCounts
from helmsman.toml_text import load_bundled

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # only the type; defusedxml does the parsing

_LINE_LENGTH = 1000  # no summary line is longer; bounds the cost of patterns on hostile output
# Control sequences, operating system commands (titles, links), character sets, single letters; without backtracking.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])")

_REPORTS = (
    (re.compile(r"=++ (?:ERRORS|FAILURES|PASSES|XFAILURES|XPASSES) =++"), re.compile("=++ short test summary info =++")),
    (re.compile("---- .+ stdout ----"), re.compile("failures:")),
)
"""First line of the failure report in pytest and cargo, and the line after it."""

# --- output of runners ----------------------------------------------------------------------------------------------


def read_summary(output: str, *, cut: bool = False) -> TestCounts | None:
    """Add up the runs of all known runners; None without a known summary line.

    `cut`: whether the output is the head and tail of a longer one.
    """
    lines = _without_reports(clean_lines(output))
    runs = sorted((run for runner in runners() for run in find_runs(runner, lines)), key=lambda run: run.line)
    if not runs:
        return None
    return TestCounts(
        passed=sum(run.counts.passed for run in runs),
        failed=sum(run.counts.failed for run in runs),
        skipped=sum(run.counts.skipped for run in runs),
        failing=failing_names(name for run in runs for name in run.counts.failing),
        partial=any(run.counts.partial for run in runs) or (cut and any(read_go(lines))),  # no line has the totals of go test
    )


def _without_reports(lines: list[str]) -> list[str]:
    """Remove reports of failing tests: their output may contain summaries of other runs."""
    lines_kept, report, end_pattern = list[str](), list[str](), None
    for line in lines:
        if end_pattern is None or end_pattern.fullmatch(line):
            lines_kept.append(line)
            report, end_pattern = [], next((end for begin, end in _REPORTS if begin.fullmatch(line)), None)
        else:
            report.append(line)
    return lines_kept + report


def clean_lines(output: str) -> list[str]:
    """Remove colours and trailing blanks, and truncate long lines."""
    return [line[:_LINE_LENGTH].rstrip() for line in _ESCAPE.sub("", output).splitlines()]


# --- JUnit XML ------------------------------------------------------------------------------------------------------

LONGEST_PLACE = 250  # bytes; no file name is longer
Outcome = Literal["passed", "failed", "skipped"]

_OUTCOME_OF_CHILD: dict[str, Outcome] = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_OUTCOME_OF_STATUS: dict[str, Outcome] = {"notrun": "skipped", "disabled": "skipped"}
"""GoogleTest and CTest mark disabled tests with an attribute; without this they would look passed."""


class JUnit(NamedTuple):
    """Test cases of a report; empty if it is broken, hostile or other XML."""

    counts: TestCounts | None = None
    ran: frozenset[str] = frozenset()  # names of cases that ran, passed or failed, but not skipped
    passing: tuple[str, ...] = ()  # distinct names
    places: tuple[str, ...] = ()  # distinct locations in the report: paths and dotted names


def read_junit(xml: str) -> JUnit:
    """Count the test cases themselves, because the totals in a suite's attributes differ between writers.

    Entities and other XML features that attackers can exploit are rejected.
    """
    try:
        root = fromstring(xml)
    except (ParseError, ValueError):  # ValueError: features that defusedxml forbids, and lone surrogates
        return JUnit()
    if _tag(root) not in {"testsuites", "testsuite"}:
        return JUnit()
    names: dict[Outcome, list[str]] = {"passed": [], "failed": [], "skipped": []}
    places = dict[str, None]()
    for case in (element for element in root.iter() if _tag(element) == "testcase"):
        group, name = case.get("classname", ""), case.get("name", "")
        names[_outcome(case)].append(f"{group}::{name}" if group and group != name else name)
        place = case.get("file") or group
        if 0 < len(place.encode()) < LONGEST_PLACE and not name.startswith(f"{group}."):  # such a name is a doctest in a source
            places[place] = None
    passed, failed, skipped = names.values()
    counts = TestCounts(passed=len(passed), failed=len(failed), skipped=len(skipped), failing=failing_names(failed))
    return JUnit(counts, frozenset((*passed, *failed)), tuple(dict.fromkeys(passed)), tuple(places))


def files_of(place: str) -> Iterator[str]:
    """Yield files that a place may refer to; `checks.sums.TestAdd` is a class in `checks/sums.py`."""
    yield place
    words = place.split(".")
    yield from (f"{'/'.join(words[:last])}.py" for last in range(len(words), 0, -1) if all(words))


def _tag(element: "Element") -> str:
    """Return the tag without the namespace that some writers add."""
    return str(element.tag).rpartition("}")[2]


def _outcome(case: "Element") -> Outcome:
    found = {_OUTCOME_OF_CHILD.get(_tag(child)) for child in case}
    if "failed" in found:
        return "failed"
    return "skipped" if "skipped" in found else _OUTCOME_OF_STATUS.get(case.get("status", ""), "passed")


# --- runners.toml -----------------------------------------------------------------------------------------------------

_READERS: Mapping[str, Callable[[list[str]], Iterable[Run]]] = {
    "go": read_go,
    "tap": read_tap,
}
Words = tuple[str, ...]


_DEEPEST_SUITE = 20  # maximum lines of a name


class Names(NamedTuple):
    """Where a runner prints the names of failing tests."""

    pattern: str
    always: bool = False  # also if nothing is counted as failed
    below: bool = False
    after: str = ""
    """Names are below the last of these lines; anywhere, if the line is in the truncated part of the output."""
    block: bool = False  # names follow each other without other lines
    behind: str = ""  # line before a name; its group, if any, is the file
    until_colon: bool = False  # a name continues up to a line that ends with a colon: one line for each suite
    section: str = ""
    within: str = ".*"  # pattern of a section heading, and of the title that it must have
    as_section: str = ""  # text in place of a name if the whole section failed
    message: bool = False  # a message follows after a dash


class Runner(NamedTuple):
    """Output format of one runner."""

    name: str
    reader: str = ""
    nothing: str = ""
    begins: str = ""
    ends: str = ""
    beside: Mapping[int, str] = {}
    read: tuple[int, ...] = (0,)
    labels: bool = False
    passed: Words = ()
    ran: Words = ()
    not_run: str = ""
    failed: Words = ()
    failed_outside: Words = ()  # not counted among those that ran
    more_failed: str = ""
    else_failed: int = 0  # offset of the line whose number counts if no test failed
    skipped: Words = ()
    names: tuple[Names, ...] = ()


@cache
def runners() -> tuple[Runner, ...]:
    return TypeAdapter(tuple[Runner, ...]).validate_python(load_bundled("helmsman.parsers", "runners.toml")["runner"])


def find_runs(runner: Runner, lines: list[str]) -> list[Run]:
    """Return the runs of one runner. A run without a summary counts as a run of no test."""
    runs = list(_READERS[runner.reader](lines) if runner.reader else _summaries(runner, lines))
    nothing = TestCounts()
    runs += [Run(number, nothing) for number, _ in matching(runner.nothing, lines)] if runner.nothing else []
    return runs or ([Run(number, nothing) for number, _ in matching(runner.begins, lines)][:1] if runner.begins else [])


def _summaries(runner: Runner, lines: list[str]) -> Iterator[Run]:
    """Yield a run for each summary, with the lines since the previous one and up to the next one."""
    places = [
        number
        for number, _ in matching(runner.ends, lines)
        if all(re.fullmatch(pattern, line_at(lines, number + at)) for at, pattern in runner.beside.items())
    ]
    for before, place, after in zip([0, *places], places, [*places[1:], len(lines)], strict=False):
        yield Run(place, _read_counts(runner, place, lines, lines[before:place], lines[place:after]))


def _read_counts(runner: Runner, number: int, lines: list[str], above: list[str], below: list[str]) -> TestCounts:
    tally = tally_of(" ".join(line_at(lines, number + at) for at in runner.read), labels=runner.labels)
    found_names = [(rule, *found) for rule in runner.names for found in _failing_names(rule, below if rule.below else above)]
    broken = {section for rule, section, name in found_names if name == rule.as_section}
    of_tests, skipped = total(tally, runner.failed), total(tally, runner.skipped)
    failed = of_tests + total(tally, runner.failed_outside) + len(broken) + _sum_numbers(runner.more_failed, above)
    if not failed and runner.else_failed:
        failed = total(tally_of(line_at(lines, number + runner.else_failed)), runner.failed)
    passed = total(tally, runner.passed)
    if not runner.passed:
        match = re.fullmatch(runner.ends, lines[number])
        ran = total(tally, runner.ran)
        if match and "ran" in match.groupdict():
            ran = int(match["ran"])
            twice = len(found_names) - len(set(found_names))  # a test and its tear-down
            of_tests, failed = of_tests - twice, failed - twice
        not_run = sum(1 for _ in matching(runner.not_run, above)) if runner.not_run else 0
        passed = ran - not_run - of_tests - skipped
    failing = list[str]()
    for rule, section, name in found_names:
        is_beyond = rule.below and len(failing) >= failed  # below are also the names of the next run
        if (failed or rule.always) and not is_beyond:
            is_section = rule.as_section and name == rule.as_section
            # A message follows after a dash; a dash inside brackets belongs to the test's parameters.
            ends = (name[: dash.start()] for dash in re.finditer(" - ", name) if rule.message)
            failing.append(section if is_section else next((end for end in ends if "[" not in end or end.endswith("]")), name))
    return run_counts(passed, failed, skipped, failing)


def _sum_numbers(pattern: str, lines: list[str]) -> int:
    return sum(int(match[1]) for _, match in matching(pattern, lines)) if pattern else 0


def _failing_names(rule: Names, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield section and name of each failing test."""
    if rule.after:
        heading = re.compile(rule.after)
        lines = list(takewhile(lambda line: not heading.fullmatch(line), reversed(lines)))[::-1]
    pattern, heads, behind = re.compile(rule.pattern), re.compile(rule.section or r"(?!)"), re.compile(rule.behind or ".*")
    section = ""
    for number, line in enumerate(lines):
        if head := heads.fullmatch(line):
            section = head[1] or ""
        elif (match := pattern.fullmatch(line)) and (before := behind.fullmatch(line_at(lines, number - 1))):
            more = lines[number + 1 : number + _DEEPEST_SUITE] if rule.until_colon else []
            name = match[1] if not more else _join_suites([match[1], *more])
            if not rule.section or re.fullmatch(rule.within, section):
                yield section, f"{before[1]} > {name}" if behind.groups else name
        elif rule.block:
            return


def _join_suites(lines: list[str]) -> str:
    suites = list(takewhile(lambda line: line and not line.endswith(":"), lines))
    return " ".join(part.strip() for part in lines[: len(suites) + 1]).removesuffix(":")
