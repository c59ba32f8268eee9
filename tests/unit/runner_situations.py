"""What each runner's suites come to, recorded from the real runner in tests/recordings/summaries: exit status, and what is read.

pytest 9.2, unittest of Python 3.11, jest 30.5, vitest 4.1, mocha 12, `node --test` of Node.js 20, go 1.19, cargo 1.95, Maven 3.8
with Surefire 2.22 and JUnit 5.9, RSpec 3.12, PHPUnit 9.6. The suites:

- passing, failing (passing ones beside), skipped, todo (with what is expected to fail)
- empty: a file without tests; none: no such file; filtered: a filter that no test matches, or tests that are switched off
- broken: a file that cannot be loaded or built; crashing: the process dies in a test; exiting: a test ends it with status 0
- of some: setup: the suite's own start runs no test; leaving: an exit that the runner catches; risky: a test asserts nothing;
  ignored: failures that an option forgives
"""

from typing import NamedTuple

from helmsman.records.checks import TestCounts


class Situation(NamedTuple):
    exit: int
    counts: TestCounts | None
    also: tuple[str, ...] = ()
    """Other forms of the output in which the same is read."""


def expect(
    exit_code: int, passed: int, failed: int, skipped: int, *failing: str, also: str = "", partial: bool = False
) -> Situation:
    counts = TestCounts(passed=passed, failed=failed, skipped=skipped, failing=failing, partial=partial)
    return Situation(exit_code, counts, tuple(also.split()))


def unread(exit_code: int) -> Situation:
    """No number can be read of it."""
    return Situation(exit_code, None)


JEST_FAILING = ("calc › subtracts", "calc › is positive: -1", "throws")  # noqa: RUF001 - as jest prints it
NODE_FAILING = {
    "spec": tuple(f"failing/calc.test.js > {name}" for name in ("subtracts", "fails # with a hash", "child fails")),
    "tap": ("subtracts", "fails \\# with a hash", "inner", "calc", "child fails", "parent"),
}
"""Node.js counts a test of failing subtests as failing; its own reporter names only those."""

SITUATIONS: dict[str, Situation] = {
    # pytest
    "pytest_passing": expect(0, 2, 0, 0, also="quiet verbose"),
    "pytest_failing": expect(
        1,
        2,
        3,
        0,
        "test_calc.py::test_table[-1]",
        "test_calc.py::TestDivision::test_divides",
        "test_calc.py::test_stores",
        also="quiet verbose",
    ),
    "pytest_skipped": expect(0, 0, 0, 2, also="quiet"),
    "pytest_todo": expect(0, 0, 0, 2, also="quiet"),
    "pytest_empty": expect(5, 0, 0, 0),
    "pytest_none": expect(5, 0, 0, 0, also="quiet"),
    "pytest_broken": expect(2, 0, 1, 0, "test_calc.py"),
    "pytest_crashing": expect(134, 0, 0, 0),
    "pytest_exiting": expect(0, 0, 0, 0),
    # unittest
    "unittest_passing": expect(0, 2, 0, 0, also="verbose"),
    "unittest_failing": expect(
        1,
        1,
        3,
        0,
        "test_divides (test_calc.CalcTest.test_divides)",
        "test_subtracts (test_calc.CalcTest.test_subtracts)",
        "test_table (test_calc.CalcTest.test_table) (n=-1)",
        also="verbose",
    ),
    "unittest_skipped": expect(0, 0, 0, 2, also="verbose"),
    "unittest_todo": expect(0, 0, 0, 1),
    "unittest_empty": expect(0, 0, 0, 0),
    "unittest_none": expect(0, 0, 0, 0),
    "unittest_broken": expect(1, 0, 1, 0, "test_calc (unittest.loader._FailedTest.test_calc)"),
    "unittest_crashing_verbose": expect(134, 0, 0, 0),
    "unittest_exiting_verbose": expect(0, 0, 0, 0),
    # jest
    "jest_passing": expect(0, 2, 0, 0),
    "jest_failing": expect(1, 2, 3, 0, *JEST_FAILING, also="verbose"),
    "jest_skipped": expect(0, 0, 0, 2),
    "jest_todo": expect(0, 0, 0, 2),
    "jest_empty": expect(1, 0, 1, 0, "./calc.test.js"),
    "jest_none": expect(1, 0, 0, 0),
    "jest_none_allowed": expect(0, 0, 0, 0),
    "jest_broken": expect(1, 0, 1, 0, "./calc.test.js"),
    "jest_crashing": unread(139),
    "jest_exiting": expect(0, 0, 0, 0),
    "jest_filtered": expect(0, 0, 0, 2),
    # vitest
    "vitest_passing": expect(0, 2, 0, 0, also="verbose"),
    "vitest_failing": expect(
        1,
        2,
        3,
        0,
        "calc.test.js > calc > subtracts",
        "calc.test.js > calc > is positive: -1",
        "calc.test.js > throws",
        also="verbose",
    ),
    "vitest_skipped": expect(0, 0, 0, 2),
    "vitest_todo": expect(0, 0, 0, 2, also="verbose"),
    "vitest_xfail": expect(0, 0, 0, 1),
    "vitest_empty": expect(1, 0, 1, 0, "calc.test.js"),
    "vitest_none": expect(1, 0, 0, 0),
    "vitest_none_allowed": expect(0, 0, 0, 0),
    "vitest_broken": expect(1, 0, 1, 0, "calc.test.js"),
    "vitest_crashing": expect(1, 0, 1, 0),
    "vitest_exiting": expect(1, 1, 1, 0, "calc.test.js > leaves"),
    "vitest_filtered": expect(0, 0, 0, 2),
    # mocha
    "mocha_passing": expect(0, 2, 0, 0),
    "mocha_failing": expect(2, 1, 2, 0, "calc subtracts", 'hooked "before all" hook: opens for "never runs"', also="dots"),
    "mocha_allfailing": expect(1, 0, 1, 0, "subtracts"),
    "mocha_skipped": expect(0, 0, 0, 2, also="dots"),
    "mocha_todo": expect(0, 0, 0, 2),
    "mocha_empty": expect(0, 0, 0, 0),
    "mocha_none": expect(1, 0, 0, 0),
    "mocha_broken": unread(1),
    "mocha_crashing": unread(139),
    "mocha_exiting": unread(0),
    "mocha_filtered": expect(0, 0, 0, 0),
    # node
    **{
        f"node_{suite}_{reporter}": situation
        for reporter, names in NODE_FAILING.items()
        for suite, situation in {
            "passing": expect(0, 2, 0, 0),
            "failing": expect(1, 3, 4, 0, *names),
            "skipped": expect(0, 1, 0, 2),
            "todo": expect(0, 1, 0, 3),
            "empty": expect(0, 0, 0, 0),
            "none": expect(0, 0, 0, 0),
            "crashing": expect(1, 0, 1, 0, "/workspace/crashing/calc.test.js"),
            "mixed": expect(1, 2, 2, 0, "/workspace/mixed/a.test.js", "/workspace/mixed/b.test.js"),
        }.items()
    },
    # go
    "go_passing": expect(0, 1, 0, 0, partial=True),
    "go_passing_verbose": expect(0, 2, 0, 0),
    "go_failing": expect(1, 0, 3, 0, "TestSub", "TestTable", "TestTable/minus_one"),
    "go_failing_verbose": expect(1, 2, 3, 0, "TestSub", "TestTable", "TestTable/minus_one"),
    "go_skipped": expect(0, 1, 0, 0, partial=True),
    "go_skipped_verbose": expect(0, 0, 0, 2),
    "go_empty": expect(0, 0, 0, 0),
    "go_none": expect(0, 0, 0, 0),
    "go_filtered": expect(0, 0, 0, 0),
    "go_broken": expect(2, 0, 1, 0, "calc_test.go"),
    "go_crashing": expect(1, 0, 2, 0, "TestDies"),
    "go_crashing_verbose": expect(1, 1, 2, 0, "TestDies"),
    "go_exiting": expect(1, 0, 2, 0, "TestLeaves"),
    "go_exiting_verbose": expect(1, 1, 2, 0, "TestLeaves"),
    "go_setup": expect(0, 1, 0, 0, partial=True),
    # cargo
    "cargo_passing": expect(0, 2, 0, 0, also="quiet"),
    "cargo_failing": expect(101, 1, 2, 0, "tests::panics", "tests::subtracts", also="quiet"),
    "cargo_skipped": expect(0, 0, 0, 2, also="quiet"),
    "cargo_empty": expect(0, 0, 0, 0),
    "cargo_filtered": expect(0, 0, 0, 0),
    "cargo_broken": unread(101),
    "cargo_crashing": expect(101, 0, 0, 0),
    "cargo_exiting": expect(0, 0, 0, 0),
    # maven
    "maven_passing": expect(0, 2, 0, 0),
    "maven_passing_quiet": unread(0),
    "maven_failing": expect(
        1, 1, 4, 0, "CalcTest$Inner.deep", "CalcTest.negates", "CalcTest.subtracts", "CalcTest.divides", also="quiet"
    ),
    "maven_skipped": expect(0, 0, 0, 2),
    "maven_empty": expect(0, 0, 0, 0),
    "maven_none": expect(0, 0, 0, 0),
    "maven_broken": unread(1),
    "maven_crashing": expect(1, 0, 0, 0),
    "maven_exiting": expect(1, 0, 0, 0),
    "maven_filtered": expect(0, 0, 0, 0, also="allowed"),
    "maven_ignored": expect(0, 0, 1, 0, "CalcTest.subtracts"),
    "maven_junit4": expect(1, 1, 1, 1, "CalcTest.subtracts"),
    # rspec
    "rspec_passing": expect(0, 2, 0, 0),
    "rspec_failing": expect(
        1,
        2,
        3,
        0,
        "./spec/calc_spec.rb:3 # calc subtracts",
        "./spec/calc_spec.rb:5 # calc throws",
        "'./spec/calc_spec.rb[1:3:2]' # calc with numbers is positive",
        also="documented",
    ),
    "rspec_skipped": expect(0, 0, 0, 2, also="documented"),
    "rspec_todo": expect(0, 0, 0, 2, also="documented"),
    "rspec_empty": expect(0, 0, 0, 0),
    "rspec_none": expect(0, 0, 0, 0),
    "rspec_broken": expect(1, 0, 1, 0, "./spec/calc_spec.rb"),
    "rspec_crashing": unread(137),
    "rspec_exiting": unread(0),
    "rspec_leaving": expect(0, 2, 0, 0),
    "rspec_filtered": expect(0, 0, 0, 0),
    # phpunit
    "phpunit_passing": expect(0, 2, 0, 0, also="named"),
    "phpunit_failing": expect(
        2, 2, 3, 0, "CalcTest::testDivides", "CalcTest::testSubtracts", 'CalcTest::testTable with data set "minus one" (-1)'
    ),
    "phpunit_failing_named": expect(2, 2, 3, 0),
    "phpunit_skipped": expect(0, 0, 0, 2, also="named"),
    "phpunit_todo": expect(0, 0, 0, 1, also="named"),
    "phpunit_risky": expect(0, 1, 0, 0),
    "phpunit_empty": expect(0, 0, 0, 0, also="named"),
    "phpunit_none": expect(0, 0, 0, 0),
    "phpunit_broken": unread(255),
    "phpunit_crashing": expect(137, 0, 0, 0),
    "phpunit_exiting": expect(0, 0, 0, 0),
    "phpunit_filtered": expect(0, 0, 0, 0),
}

RECORDED: dict[str, Situation] = {
    name: situation
    for first, situation in SITUATIONS.items()
    for name in (first, *(f"{first}_{form}" for form in situation.also))
}
"""By the name of the recording."""
