"""JUnit XML, the test report that nearly every runner can write."""

from collections import Counter
from typing import TYPE_CHECKING, Literal

from defusedxml.ElementTree import ParseError, fromstring

from helmsman.records.checks import TestCounts
from helmsman.verify.failing import failing_names

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # only the type; defusedxml does the parsing

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
