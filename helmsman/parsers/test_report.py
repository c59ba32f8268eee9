"""Numbers and names of tests: from JUnit XML, which nearly every runner can write, else from what a runner prints at its end."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from defusedxml.ElementTree import ParseError, fromstring

from helmsman.parsers.runner_sessions import Run, failing_names
from helmsman.parsers.runner_tables import runners, runs_in
from helmsman.records.checks import TestCounts

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # only the type; defusedxml does the parsing

_LINE_LENGTH = 1000
"""No summary line is longer; the bound keeps every pattern cheap on hostile output."""
# Control sequences, operating system commands (titles, links), character sets, single letters; none can backtrack.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])")

# --- what a runner prints -------------------------------------------------------------------------------------------


def read_summary(output: str) -> TestCounts | None:
    """Add up the runs of all known runners. None when there is no summary line that we know.

    The output may be the head and the tail of a longer one.
    """
    lines = clean_lines(output)
    runs = _unquoted(run for runner in runners() for run in runs_in(runner, lines))
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


def _unquoted(runs: Iterable[Run]) -> list[Run]:
    """Drop a run that lies inside the session of another: a test printed it."""
    kept: list[Run] = []
    end = -1
    for run in sorted(runs, key=lambda run: (run.first, -run.last)):
        if run.last > end:
            kept.append(run)
            end = run.last
    return kept


# --- JUnit XML ------------------------------------------------------------------------------------------------------

LONGEST_PLACE = 250
"""Bytes; no file has a longer name."""
Outcome = Literal["passed", "failed", "skipped"]

_OUTCOME_OF_CHILD: dict[str, Outcome] = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_OUTCOME_OF_STATUS: dict[str, Outcome] = {"notrun": "skipped", "disabled": "skipped"}
"""GoogleTest and CTest say in an attribute that a test was switched off; without this it would look passed."""


def read_junit(xml: str) -> TestCounts | None:
    """Count the test cases themselves, because the totals in a suite's attributes differ from writer to writer.

    None when the text is broken, hostile or some other XML.
    """
    cases = _cases(xml)
    if cases is None:
        return None
    totals = Counter(outcome for _, outcome in cases)
    return TestCounts(
        passed=totals["passed"],
        failed=totals["failed"],
        skipped=totals["skipped"],
        failing=failing_names(_name(case) for case, outcome in cases if outcome == "failed"),
    )


def read_ran(xml: str) -> frozenset[str]:
    """Names of the test cases that ran, passed or not; skipped ones did not."""
    return frozenset(_name(case) for case, outcome in _cases(xml) or () if outcome != "skipped")


def read_passing(xml: str) -> tuple[str, ...]:
    """Names of the test cases that passed, each once."""
    return tuple(dict.fromkeys(_name(case) for case, outcome in _cases(xml) or () if outcome == "passed"))


def read_places(xml: str) -> tuple[str, ...]:
    """Where its test cases stand, as it names that, each once: paths and dotted names. No example in a source is one."""
    cases = (case for case, _ in _cases(xml) or () if not case.get("name", "").startswith(f"{case.get('classname', '')}."))
    named = (case.get("file") or case.get("classname", "") for case in cases)
    return tuple(dict.fromkeys(place for place in named if 0 < len(place.encode()) < LONGEST_PLACE))


def files_of(place: str) -> Iterator[str]:
    """Files that such a place may mean; `checks.sums.TestAdd` is a class in `checks/sums.py`."""
    yield place
    words = place.split(".")
    yield from (f"{'/'.join(words[:last])}.py" for last in range(len(words), 0, -1) if all(words))


def _cases(xml: str) -> "list[tuple[Element, Outcome]] | None":
    root = _parse(xml) if xml else None
    if root is None or _tag(root) not in {"testsuites", "testsuite"}:
        return None
    return [(case, _outcome(case)) for case in root.iter() if _tag(case) == "testcase"]


def _parse(xml: str) -> "Element | None":
    """Refuse entities and everything else that makes a parser work for an attacker."""
    try:
        return fromstring(xml)
    except (ParseError, ValueError):  # ValueError: what defusedxml forbids, and a lone surrogate that cannot be encoded
        return None


def _tag(element: "Element") -> str:
    """Drop the namespace that some writers add."""
    return str(element.tag).rpartition("}")[2]


def _outcome(case: "Element") -> Outcome:
    found = {_OUTCOME_OF_CHILD.get(_tag(child)) for child in case}
    if "failed" in found:
        return "failed"
    return "skipped" if "skipped" in found else _OUTCOME_OF_STATUS.get(case.get("status", ""), "passed")


def _name(case: "Element") -> str:
    group, name = case.get("classname", ""), case.get("name", "")
    return f"{group}::{name}" if group and group != name else name
