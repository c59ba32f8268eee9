"""JUnit XML is read as numbers; broken or hostile XML is not read at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.runner_formats import NAME_LENGTH, NAMES_KEPT
from helmsman.parsers.test_report import files_of, read_junit
from helmsman.records.checks import TestCounts

pytestmark = pytest.mark.feature("V3")

PYTEST_REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="6" time="0.126">
<testcase classname="test_calc" name="test_add" time="0.001" />
<testcase classname="test_calc.TestGroup" name="test_bad[x y]">
<failure message="assert 1 == 5">&gt; assert a == 5</failure></testcase>
<testcase classname="test_calc" name="test_err"><error message="failed on setup">RuntimeError: no</error></testcase>
<testcase classname="test_calc" name="test_skip"><skipped type="pytest.skip" message="later">here</skipped></testcase>
<testcase classname="test_calc" name="test_xf"><skipped type="pytest.xfail" message="" /></testcase>
<testcase classname="test_calc" name="test_xp"><system-out>&lt;failure/&gt;</system-out></testcase>
</testsuite></testsuites>"""

BILLION_LAUGHS = """<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;">]>
<testsuites><testsuite><testcase name="&c;"/></testsuite></testsuites>"""
FOREIGN_FILE = """<!DOCTYPE t [<!ENTITY file SYSTEM "file:///etc/hostname">]>
<testsuites><testcase name="&file;"><failure/></testcase></testsuites>"""


def counts_of(xml: str) -> TestCounts | None:
    return read_junit(xml).counts


def test_failures_and_errors_are_failed_and_expected_failures_are_skipped() -> None:
    assert counts_of(PYTEST_REPORT) == TestCounts(
        passed=2, failed=2, skipped=2, failing=("test_calc.TestGroup::test_bad[x y]", "test_calc::test_err")
    )


def test_a_namespace_does_not_hide_the_tests() -> None:
    xml = '<testsuites xmlns="urn:junit"><testsuite><testcase name="a"><error/></testcase></testsuite></testsuites>'
    assert counts_of(xml) == TestCounts(failed=1, failing=("a",))


def test_test_cases_count_and_not_the_totals_that_a_suite_claims() -> None:
    assert counts_of('<testsuite tests="9" failures="0"><testcase name="a"><failure/></testcase></testsuite>') == (
        TestCounts(failed=1, failing=("a",))
    )


def test_a_case_with_a_failure_and_an_error_is_one_failed_test() -> None:
    xml = '<testsuite><testcase name="a"><failure/><error/></testcase></testsuite>'
    assert counts_of(xml) == TestCounts(failed=1, failing=("a",))


def test_what_is_no_junit_report_gives_nothing() -> None:
    cases = {
        "empty": "",
        "prose": "not xml",
        "cut off": "<testsuites>",
        "other XML": "<html><testcase/></html>",
        "null byte": "<testsuites>\0</testsuites>",
        "lone surrogate": "<testsuites>\ud800</testsuites>",
    }
    for case, text in cases.items():
        assert counts_of(text) is None, case


@pytest.mark.parametrize("xml", [BILLION_LAUGHS, FOREIGN_FILE], ids=["entity expansion", "foreign file"])
def test_entities_are_refused(xml: str) -> None:
    assert counts_of(xml) is None


def test_very_deep_nesting_is_survived() -> None:
    depth = 20_000
    assert counts_of("<testsuites>" + "<a>" * depth + "<testcase/>" + "</a>" * depth + "</testsuites>") == TestCounts(passed=1)


def test_the_first_fifty_names_are_kept_each_once_and_short() -> None:
    names = ["same", "same", "x" * 1000, *(f"test {n}" for n in range(100))]
    cases = "".join(f'<testcase name="{name}"><failure/></testcase>' for name in names)
    counts = counts_of(f"<testsuite>{cases}</testsuite>")
    assert counts is not None
    assert counts.failed == len(names)
    assert counts.failing == ("same", "x" * NAME_LENGTH, *(f"test {n}" for n in range(NAMES_KEPT - 2)))


@pytest.mark.parametrize(
    ("attributes", "file"),
    [
        ('classname="checks.sums" name="test_a"', "checks/sums.py"),
        ('classname="checks.sums.TestAdd" name="test_a"', "checks/sums.py"),
        ('classname="test" name="adds" file="checks/sums.mjs"', "checks/sums.mjs"),
        ('classname="src.sums" name="src.sums.add"', None),
        ('name="alone"', None),
    ],
)
def test_a_report_tells_in_which_files_its_tests_stand(attributes: str, file: str | None) -> None:
    places = read_junit(f"<testsuite><testcase {attributes}/></testsuite>").places
    assert [file] == [path for place in places for path in files_of(place) if path == file] or not (file or places)


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    counts = counts_of(text)
    assert counts is None or counts == TestCounts()


@given(st.lists(st.sampled_from(["", "<failure/>", "<error/>", "<skipped/>", "<system-out>x</system-out>"])))
def test_each_case_is_counted_exactly_once(children: list[str]) -> None:
    cases = "".join(f'<testcase name="{number}">{child}</testcase>' for number, child in enumerate(children))
    counts = counts_of(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert counts is not None
    assert counts.passed + counts.failed + counts.skipped == len(children)
    assert counts.failed == sum(child in {"<failure/>", "<error/>"} for child in children)
    assert counts.skipped == children.count("<skipped/>")
