"""Numbers and names of tests: from JUnit XML, which nearly every runner can write, else from what a runner prints at its end."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from defusedxml.ElementTree import ParseError, fromstring

from helmsman.parsers.runner_sessions import Run, failing_names
from helmsman.parsers.runner_tables import runners, runs_in
from helmsman.records.checks import TestCounts

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # only the type; defusedxml does the parsing

_LINE_LENGTH = 1000  # no summary line is longer; the bound keeps every pattern cheap on hostile output
# Control sequences, operating system commands (titles, links), character sets, single letters; none can backtrack.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])")

# --- what a runner prints -------------------------------------------------------------------------------------------


def read_summary(output: str) -> TestCounts | None:
    """Add up the runs of all known runners. None when there is no summary line that we know.

    The output may be the head and the tail of a longer one.
    """
    lines, runs, end = clean_lines(output), list[Run](), -1
    every = (run for runner in runners() for run in runs_in(runner, lines))
    for run in sorted(every, key=lambda run: (run.first, -run.last)):
        if run.last > end:  # any other lies inside the session of another: a test printed it
            runs.append(run)
            end = run.last
    if not runs:
        return None
    return TestCounts(
        passed=sum(run.counts.passed for run in runs),
        failed=sum(run.counts.failed for run in runs),
        skipped=sum(run.counts.skipped for run in runs),
        failing=failing_names(name for run in runs for name in run.counts.failing),
    )


def clean_lines(output: str) -> list[str]:
    """Take colours and trailing blanks away and cut lines that are too long."""
    return [line[:_LINE_LENGTH].rstrip() for line in _ESCAPE.sub("", output).splitlines()]


# --- JUnit XML ------------------------------------------------------------------------------------------------------

LONGEST_PLACE = 250  # bytes; no file has a longer name
Outcome = Literal["passed", "failed", "skipped"]

_OUTCOME_OF_CHILD: dict[str, Outcome] = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_OUTCOME_OF_STATUS: dict[str, Outcome] = {"notrun": "skipped", "disabled": "skipped"}
"""GoogleTest and CTest say in an attribute that a test was switched off; without this it would look passed."""


class JUnit(NamedTuple):
    """What a report says of its test cases; nothing where it is broken, hostile or some other XML."""

    counts: TestCounts | None = None
    ran: frozenset[str] = frozenset()  # names of those that ran, passed or not; skipped ones did not
    passing: tuple[str, ...] = ()  # each once
    places: tuple[str, ...] = ()  # where they stand, as it names that, each once: paths and dotted names


def read_junit(xml: str) -> JUnit:
    """Count the test cases themselves, because the totals in a suite's attributes differ from writer to writer.

    Entities and everything else that makes a parser work for an attacker are refused.
    """
    try:
        root = fromstring(xml)
    except (ParseError, ValueError):  # ValueError: what defusedxml forbids, and a lone surrogate that cannot be encoded
        return JUnit()
    if _tag(root) not in {"testsuites", "testsuite"}:
        return JUnit()
    names: dict[Outcome, list[str]] = {"passed": [], "failed": [], "skipped": []}
    places = dict[str, None]()
    for case in (one for one in root.iter() if _tag(one) == "testcase"):
        group, name = case.get("classname", ""), case.get("name", "")
        names[_outcome(case)].append(f"{group}::{name}" if group and group != name else name)
        place = case.get("file") or group
        if 0 < len(place.encode()) < LONGEST_PLACE and not name.startswith(f"{group}."):  # which is an example in a source
            places[place] = None
    passed, failed, skipped = names.values()
    counts = TestCounts(passed=len(passed), failed=len(failed), skipped=len(skipped), failing=failing_names(failed))
    return JUnit(counts, frozenset((*passed, *failed)), tuple(dict.fromkeys(passed)), tuple(places))


def files_of(place: str) -> Iterator[str]:
    """Files that such a place may mean; `checks.sums.TestAdd` is a class in `checks/sums.py`."""
    yield place
    words = place.split(".")
    yield from (f"{'/'.join(words[:last])}.py" for last in range(len(words), 0, -1) if all(words))


def _tag(element: "Element") -> str:
    """Drop the namespace that some writers add."""
    return str(element.tag).rpartition("}")[2]


def _outcome(case: "Element") -> Outcome:
    found = {_OUTCOME_OF_CHILD.get(_tag(child)) for child in case}
    if "failed" in found:
        return "failed"
    return "skipped" if "skipped" in found else _OUTCOME_OF_STATUS.get(case.get("status", ""), "passed")
