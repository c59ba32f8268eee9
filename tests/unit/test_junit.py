"""JUnit XML is read as numbers; broken or hostile XML is not read at all."""

from pathlib import Path

import pytest

from helmsman.parsers.runs import NAME_LENGTH, NAMES_KEPT
from helmsman.parsers.test_report import files_of, read_junit
from helmsman.records.checks import CheckResult, TestCounts
from helmsman.verify.rerun import find_required, merge_rerun, suspected_flaky
from tests.unit.builders import check, report

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


def test_junit_names_are_distinct_bounded_and_at_most_fifty() -> None:
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


# A test that fails and then passes on the same tree is flaky, which is neither


def failing(*names: str, failed: int = 0, **fields: object) -> CheckResult:
    return check(passed=False, counts=TestCounts(failed=failed or len(names), failing=names), **fields)


PASSES = check(passed=True, counts=TestCounts(passed=3))


@pytest.mark.parametrize(
    ("result", "again"),
    [
        (failing("a"), True),
        (failing(*"abcde"), True),
        (failing(*"abcdef"), False),
        (failing("a", failed=60), False),
        (failing("a", timed_out=True), False),
        (failing("a", error="no such command"), False),
        (check(passed=False), False),
        (PASSES, False),
    ],
    ids=["one", "five", "too many", "more than are named", "timeout", "not started", "unnamed", "passes"],
)
def test_only_a_small_set_of_named_failures_is_worth_running_again(result: CheckResult, again: bool) -> None:
    assert suspected_flaky([PASSES, result]) == ([1] if again else [])


def test_what_failed_on_the_tree_before_as_well_is_broken_and_not_run_twice() -> None:
    assert suspected_flaky([failing("a", "b")], report(failing("a"), failing("b"))) == []
    assert suspected_flaky([failing("a", "c")], report(failing("a"), failing("b"))) == [0]
    assert suspected_flaky([failing("a")], report(PASSES)) == [0]


def test_what_passes_the_second_time_is_flaky_and_still_no_pass() -> None:
    found = merge_rerun(failing("a", "b"), PASSES, tolerate=False)
    assert (found.flaky, found.passed, found.seconds) == (("a", "b"), False, 2)


def test_an_operator_may_tolerate_it() -> None:
    assert merge_rerun(failing("a"), PASSES, tolerate=True).passed


def test_a_second_run_that_breaks_altogether_proves_nothing() -> None:
    found = merge_rerun(failing("a"), check(passed=False, error="no such command"), tolerate=True)
    assert (found.flaky, found.passed) == ((), False)


# Required tests count only where they were seen to run


RECORDINGS = Path(__file__).parent.parent / "recordings" / "summaries"


XML = """<testsuites><testsuite>
<testcase classname="tests.test_shop.TestTotal" name="test_a"/>
<testcase classname="tests.test_shop" name="test_param[1-2]"/>
<testcase classname="tests.test_shop" name="test_b"><skipped/></testcase>
<testcase classname="tests.test_shop" name="test_c"><failure/></testcase>
</testsuite></testsuites>"""


@pytest.mark.feature("V10")
def test_a_report_names_what_ran_whether_it_passed_or_not() -> None:
    seen = ("test_a", "TestTotal::test_a", "tests.test_shop.TestTotal::test_a", "test_c", "test_param")
    assert find_required([*seen, "test_b", "est_a", "test_missing"], read_junit(XML).ran, "") == seen


@pytest.mark.feature("V10")
@pytest.mark.parametrize("reporter", ["spec", "tap"])
def test_a_test_that_node_skipped_or_has_as_a_todo_did_not_run(reporter: str) -> None:
    names = {
        "passing": ["adds them"],
        "failing": ["child fails"],
        "skipped": ["adds", "not yet", "with a reason"],
        "todo": ["adds", "planned", "planned and failing", "planned and passing"],
    }
    seen = {
        kind: find_required(named, (), (RECORDINGS / f"node_{kind}_{reporter}.txt").read_text(encoding="utf-8"))
        for kind, named in names.items()
    }
    assert seen == {"passing": ("adds them",), "failing": ("child fails",), "skipped": ("adds",), "todo": ("adds",)}


RAN = [
    "tests/test_shop.py::test_a PASSED",
    "--- PASS: test_a (0.00s)",
    "test_a_longer, then test_a ok",
    "--- PASS: TestOrders/pending/test_a (0.00s)",
    " \u2713 a mark (skip) ahead > test_a",
    " \u2715 todo list > test_a",
    "skips.test.js > test_a ok",
    "[WARNING] Tests run: 15, Failures: 0, Errors: 0, Skipped: 5, Time elapsed: 0.01 s - in com.acme.test_a",
    "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in com.acme.test_a",
]


SKIPPED = [
    "tests/test_shop.py::test_a SKIPPED (later)",
    "tests/test_shop.py::test_a XFAIL",
    "my_test_a ok",
    "SKIPPED [1] tests/test_shop.py::test_a - later",
    "--- SKIP: test_a (0.00s)",
    "  \u25cb \x1b[33mskipped\x1b[39m test_a",
    "test shop::test_a ... ignored, not yet",
    " 2/3 Test #2: test_a ...........***Not Run (Disabled)",
    "test_a (PENDING: later)",
    "ok 2 - test_a # TODO",
    "test_a SKIPPED: see test_a",
    "(skip) math > test_a",
    "  - [skip] math \u203a test_a",
    "  \u270e todo math test_a",
    " \u2193 src/math.test.ts > math > test_a",
    "  skipping math > test_a",
    "math > todo (skip) a.test.ts:test_a",
    "[WARNING] Tests run: 5, Failures: 0, Errors: 0, Skipped: 5, Time elapsed: 0.01 s - in com.acme.test_a",
    "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.01 s -- in com.acme.test_a",
    "",
]


@pytest.mark.feature("V10")
def test_a_line_of_output_names_what_ran_unless_it_says_skipped() -> None:
    assert [line for line in RAN if not find_required(["test_a"], (), line)] == []
    assert [line for line in SKIPPED if find_required(["test_a"], (), line)] == []


@pytest.mark.feature("V10")
@pytest.mark.parametrize("name", ["marks a todo as done", "TestOrders/disabled"])
def test_a_name_that_speaks_of_skipping_is_seen_to_run(name: str) -> None:
    assert find_required([name], (), f"  \u2713 {name} (3 ms)") == (name,)
    assert find_required([name], (), f"  \u25cb skipped {name}") == ()


@pytest.mark.feature("V10")
@pytest.mark.parametrize(
    ("start", "skipped", "passed"),
    [
        ("=== RUN   test_a", "--- SKIP: test_a (0.00s)", "--- PASS: test_a (0.00s)"),
        ("[ RUN      ] Shop.test_a", "[  SKIPPED ] Shop.test_a (0 ms)", "[       OK ] Shop.test_a (0 ms)"),
        ("[INFO] Running com.acme.test_a", "Tests run: 2, Skipped: 2 - in com.acme.test_a", "Tests run: 2, Skipped: 0"),
    ],
)
def test_the_start_of_a_test_counts_unless_it_was_skipped_thereafter(start: str, skipped: str, passed: str) -> None:
    assert find_required(["test_a"], (), f"{start}\n{skipped}\n") == ()
    assert find_required(["test_a"], (), f"{start}\n{passed}\n") == ("test_a",)
