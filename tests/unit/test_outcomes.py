"""Which tests run as they were at the start, what their outcomes mean, and how sources are parsed for tests."""

import pytest

from helmsman.config import CheckConfig
from helmsman.config.goals import InvariantsConfig
from helmsman.oversee.decide import decide
from helmsman.parsers.source import Source
from helmsman.records.checks import CheckResult, TestCounts, TrustedRun, Weight
from helmsman.records.proof import SinceStart
from helmsman.verify import outcomes as of_tests
from helmsman.verify.new_tests import NO_NEW_TEST
from helmsman.verify.touched import classify_changes
from tests.unit.builders import ASKED, check, config, report, situation, state

pytestmark = pytest.mark.feature("V5")

BASE = frozenset({"app.py", "tests/test_app.py", "tests/data/rows.json", "src/lib.rs", "check_it.py"})
ASK = InvariantsConfig()
A, B = "tests/test_app.py::test_a", "tests/test_app.py::test_b"


def ran(*failing: str, **fields: object) -> CheckResult:
    counts = TestCounts(passed=3 - len(failing), failed=len(failing), failing=failing)
    return check(passed=not failing, counts=counts, exit_code=1 if failing else 0, **fields)


def put_back(*changed: str, command: str = "pytest", config: InvariantsConfig = ASK) -> tuple[str, ...]:
    kinds = classify_changes(changed, [command], lambda _: "", lambda _: "")
    return of_tests.tests_of_start(kinds, BASE, [CheckConfig(command=command)], config)


def weigh(
    trusted: CheckResult, *red: str, goal: str = "Make it work.", known: bool = True, config: InvariantsConfig = ASK
) -> tuple[list[str], tuple[str, ...]]:
    copy = TrustedRun(put_back=("tests/test_app.py",), report=report(trusted))
    found = of_tests.outcomes(report(ran()), copy, red if known else None, goal, config)
    return [one.message.partition(" ")[0] for one in found.findings], found.changed


@pytest.mark.parametrize(
    ("changed", "command", "expected"),
    [
        (("app.py", "tests/test_new.py"), "pytest", ()),
        (("app.py", "tests/test_app.py", "tests/test_new.py"), "pytest", ("tests/test_app.py", "tests/test_new.py")),
        (("tests/conftest.py", "app.py"), "pytest", ("tests/conftest.py",)),
        (("pytest.ini",), "pytest", ("pytest.ini",)),
        (("tests/test_app.py", "tests/test_new.py"), "pytest tests/test_new.py", ("tests/test_app.py",)),
        (("src/lib.rs",), "cargo test", ()),
        (("check_it.py",), "python check_it.py", ("check_it.py",)),
    ],
)
def test_tests_of_the_start_are_restored_if_one_or_its_settings_changed(
    changed: tuple[str, ...], command: str, expected: tuple[str, ...]
) -> None:
    assert put_back(*changed, command=command) == expected


@pytest.mark.feature("V5")
def test_the_start_s_tests_run_without_a_new_test_file_of_go_that_the_source_may_need() -> None:
    def restored(text: str) -> tuple[str, ...]:
        kinds = classify_changes(["it.go", "it_new_test.go"], ["go test ./..."], lambda _: "", lambda _: text)
        return of_tests.tests_of_start(kinds, {"it.go", "it_test.go"}, [CheckConfig(command="go test ./...")], ASK)

    of_tests_only = "package it\n\nfunc TestStars(t *testing.T) {\n\tvar n = 1\n}\n"
    assert restored(of_tests_only) == ()
    for moved in ("func Stars(n int) string {\n", "func (s Stars) String() string {\n", "var table = 1\n", "func Testify() {\n"):
        assert restored(f"{of_tests_only}\n{moved}") == ("it_new_test.go",)


@pytest.mark.feature("V13")
def test_trusted_files_are_restored_and_allowed_files_are_not() -> None:
    named = InvariantsConfig(protect=("app.py",), trusted=("data/*",), allow=("tests/**",))
    assert put_back("app.py", "other.py", "data/new", "tests/test_app.py", config=named) == ("app.py", "data/new")
    assert put_back("data/new", command="pytest data/new", config=named) == ()


@pytest.mark.feature("V13")
@pytest.mark.parametrize("named", [("tests/**",), ("other.py",), ()])
def test_a_failing_trusted_test_blocks_whatever_the_goal_says(named: tuple[str, ...]) -> None:
    config, goal = InvariantsConfig(trusted=named, changed_expectations="allow"), "Update test_a."
    blocks = "tests/**" in named
    assert weigh(ran(A), goal=goal, config=config) == ([A] if blocks else [], ())
    copy = TrustedRun(put_back=("tests/test_app.py",), report=report(ran()))
    (fewer,) = of_tests.fewer_tests(report(check(passed=True, counts=TestCounts(passed=1))), copy, config)
    assert fewer.weight is (Weight.BLOCK if blocks else Weight.HINT)


def test_a_count_of_packages_does_not_show_that_failing_tests_did_not_run() -> None:
    base = report(check(passed=False, exit_code=1, counts=TestCounts(failed=2, failing=("TestA", "TestB"))))
    for partial, outcome in ((True, "FAIL_TO_PASS"), (False, "GONE")):
        head = report(check(passed=True, counts=TestCounts(passed=1, partial=partial)))
        assert {case.outcome for case in of_tests.outcome_table(head, base).cases} == {outcome}


def test_tests_of_a_check_that_fails_because_it_runs_none_did_not_pass() -> None:
    base = report(check(passed=False, exit_code=1, counts=TestCounts(failed=1, failing=(A,))))
    head = report(check(passed=False, exit_code=5, counts=TestCounts(skipped=1)))
    assert {(case.name, case.outcome) for case in of_tests.outcome_table(head, base).cases} == {
        (A, "GONE"),
        ("pytest", "PASS_TO_FAIL"),
    }


def test_tests_that_a_cut_output_of_go_does_not_name_have_no_state() -> None:
    for partial, expected in ((True, "unknown"), (False, "green")):
        counts = TestCounts(failed=1, failing=("TestA",), partial=partial)
        cut = check(passed=False, exit_code=1, counts=counts, head="--- FAIL: TestA (0.00s)", tail="FAIL")
        assert of_tests.run_cases(cut, "go").state_of("TestB") == expected


def test_a_failing_test_that_was_changed_to_pass_blocks() -> None:
    assert weigh(ran(A), A) == ([A], ())


def test_a_passing_test_whose_original_fails_is_a_question() -> None:
    assert weigh(ran(A, B), B) == ([B], (A,))
    assert weigh(ran(A), known=False) == ([], (A,))


@pytest.mark.parametrize(
    ("restored", "name", "why"),
    [
        (("Makefile",), A, "passes only with the new version of Makefile"),
        (("pytest.ini", "tox.ini"), A, "passes only with the new version of pytest.ini, tox.ini"),
        (("src/lib.rs",), A, "failed on the start and passes only because the test was changed"),  # with tests inside
        (("run_tests.py",), "python3 run_tests.py", "passes only with the new version of run_tests.py"),
        (("Makefile", "tests/test_app.py"), A, "failed on the start and passes only because the test was changed"),
        (("tests/test_app.py",), "tests/test_app.py", "does not load on the new source in its original form"),
    ],
)
def test_the_reason_names_what_was_restored_unless_it_is_the_test(restored: tuple[str, ...], name: str, why: str) -> None:
    program = name.startswith("python3")
    start = check(passed=False, exit_code=1, name=name) if program else ran(name)
    copy = TrustedRun(put_back=restored, report=report(start))
    head = check(passed=True, name=name) if program else ran()
    found = of_tests.outcomes(report(head), copy, (name,), "Make it work.", ASK)
    assert [case.why.partition(":")[0] for case in found.table.cases if case.name == name] == [why]


@pytest.mark.parametrize(
    ("goal", "also", "asked"),
    [
        ("Make it work.", (), True),
        ("Correct the totals in rows.json.", (), False),
        ("Correct the totals in rows.json.", ("tests/test_app.py",), True),  # which of them made it pass is not known
    ],
)
def test_a_failing_test_that_passes_with_other_data_is_a_question_unless_the_goal_names_the_data(
    goal: str, also: tuple[str, ...], asked: bool
) -> None:
    copy = TrustedRun(put_back=("rows.json", *also), data=("rows.json",), report=report(ran(A)))
    found = of_tests.outcomes(report(ran()), copy, (A,), goal, ASK)
    assert (found.findings, found.changed) == ((), (A,) if asked else ())
    (case,) = [case for case in found.table.cases if case.name == A]
    assert case.why.startswith("fails with the original rows.json, which only checks or set-up seem to read")


def test_removed_tests_that_would_pass_are_a_hint() -> None:
    copy = TrustedRun(put_back=("tests/test_app.py",), report=report(ran()))
    few = check(passed=True, counts=TestCounts(passed=1), name="pytest")
    (found,) = of_tests.outcomes(report(few), copy, (), "Make it work.", ASK).findings
    assert (found.rule, found.weight) == ("trusted.fewer", Weight.HINT)
    assert found.message == "pytest runs 1 test, but 3 with the tests of the start"


@pytest.mark.parametrize(
    ("goal", "asked"),
    [
        ("Update test_a to expect kilometres.", False),
        ("Rename total to sum and adapt tests/test_app.py.", False),
        ("Remove app.total and its test test_a; keep the rest.", False),
        ("Fix test_a.", True),
        ("Make app.py do what tests/test_app.py says.", True),
        ("Update test_ab.", True),
    ],
)
def test_tests_that_the_goal_asks_to_change_may_change(goal: str, asked: bool) -> None:
    assert weigh(ran(A), goal=goal) == ([], (A,) if asked else ())


def test_allowed_expectations_do_not_allow_tests_changed_to_pass() -> None:
    assert weigh(ran(A, B), B, config=InvariantsConfig(changed_expectations="allow")) == ([B], ())


@pytest.mark.parametrize(("goal", "blocked", "asked"), [("Add tests for words.", [], ("pytest",)), ("Fix it.", ["pytest"], ())])
def test_a_check_that_needs_the_tests_that_the_goal_asks_for_is_a_question(
    goal: str, blocked: list[str], asked: tuple[str, ...]
) -> None:
    """It may count tests, or measure what they cover."""
    assert weigh(check(passed=False), "pytest", goal=goal) == (blocked, asked)


@pytest.mark.feature("V13")
@pytest.mark.parametrize(
    ("tail", "failed", "asked"),
    [
        ("FAIL Required test coverage of 90% not reached. Total coverage: 80.00%", 0, ()),
        ('Jest: "global" coverage threshold for lines (90%) not met: 80%', 0, ()),
        ("ERROR: Coverage for lines (80%) does not meet global threshold (90%)", 0, ()),
        ("Required test coverage of 90% reached. Total coverage: 95.00%", 0, ("pytest",)),
        ("FAIL Required test coverage of 90% not reached.", 1, ("pytest",)),
    ],
)
def test_a_check_that_only_misses_its_coverage_without_the_new_tests_is_no_question(
    tail: str, failed: int, asked: tuple[str, ...]
) -> None:
    result = check(passed=False, tail=tail, counts=TestCounts(passed=3, failed=failed))
    assert weigh(result) == ([], asked)
    assert weigh(result, "pytest") == (["pytest"], ())  # it failed before as well


@pytest.mark.feature("V16")
def test_a_check_that_needs_the_tests_that_the_goal_asks_for_is_one_question_in_its_own_words() -> None:
    of = config(goal="Add tests until count.sh passes.")
    counted = report(check(passed=False, name="sh count.sh"))
    own, copy = report(check(passed=True, name="sh count.sh")), TrustedRun(put_back=("tests/test_a.py",), report=counted)
    found = of_tests.outcomes(own, copy, {"sh count.sh"}, of.goal, of.invariants)
    since = SinceStart(needs_test=True, changed_expectations=found.changed, table=found.table)
    decided = decide(situation(state=state(config=of), checks=own, claims=ASKED, since_start=since))
    expected = "the agent claimed completion, but the check sh count.sh fails without the added or changed tests: the goal asks"
    assert decided.reason.startswith(expected)
    assert NO_NEW_TEST not in decided.reason
    several = since.model_copy(update={"changed_expectations": ("sh count.sh", "test_a")})
    decided = decide(situation(state=state(config=of), checks=own, claims=ASKED, since_start=several))
    assert "no longer run: test_a; the check sh count.sh fails" in decided.reason


PYTHON = """\
import pytest

@pytest.mark.skipif(True, reason="later")
def test_a():
    assert f(1) == 2  # noqa: E501

class TestB:
    def test_c(self):
        self.assertEqual(f("text"), 7)
        assert True

    def helper(self):
        def test_d(): ...
"""
JAVASCRIPT = """\
describe('add', () => {
  it.skip('one', () => { expect(add(1)).toBe(2); });
  test.each([1])('two', (n) => { assert.equal(add(n), 3); /* eslint-disable-line */ });
});
jest.mock('../src/add');
"""
RUST = """\
fn add(a: i32) -> i32 { a } // #[test]

#[cfg(test)]
mod tests {
    #[test]
    #[ignore]
    fn one() { assert_eq!(add(1), 2); }
}
"""


@pytest.mark.parametrize(
    ("path", "text", "tests"),
    [
        ("a.py", PYTHON, [("test_a", True, 1), ("TestB.test_c", False, 2)]),
        ("a.ts", JAVASCRIPT, [("add > one", True, 1), ("add > two", False, 1)]),
        ("a.rs", RUST, [("tests.one", True, 1)]),
        ("a_test.go", 'func TestA(t *testing.T) {\n\tif f() != 2 {\n\t\tt.Errorf("no")\n\t}\n}\n', [("TestA", False, 1)]),
        ("ATest.java", "class ATest { @Test @Disabled void a() { assertEquals(2, f(1)); } }", [("ATest.a", True, 1)]),
        ("ATest.kt", "class ATest { @Test fun a() { assertEquals(2, f(1)) } }", [("ATest.a", False, 1)]),
        ("a_spec.rb", "describe 'x' do\n  xit 'a' do\n    expect(f).to eq(2)\n  end\nend\n", [("x > a", True, 1)]),
        ("ATest.php", "<?php class ATest { function testA() { $this->assertSame(2, f(1)); } }", [("ATest.testA", False, 1)]),
        ("a.cpp", "TEST(Suite, name) { EXPECT_EQ(2, f(1)); }", [("Suite, name", False, 1)]),
        ("a.c", "TEST(Suite, name) { ASSERT_EQ(2, f(1)); }", [("Suite, name", False, 1)]),
        ("A.cs", 'class A { [Fact(Skip="x")] public void B() { Assert.Equal(2, F(1)); } }', [("A.B", True, 1)]),
        ("a.exs", 'defmodule T do\n  @tag :skip\n  test "a" do\n    assert f(1) == 2\n  end\nend\n', [("T > a", True, 1)]),
    ],
)
def test_tests_are_found_with_their_names_whether_they_are_skipped_and_how_much_they_assert(
    path: str, text: str, tests: list[tuple[str, bool, int]]
) -> None:
    assert [(one.name, one.skipped, one.assertions) for one in Source(path, text).tests] == tests


def test_suppressions_doubles_and_idle_assertions_are_located() -> None:
    python, script = Source("a.py", PYTHON), Source("a.js", JAVASCRIPT)
    assert [(one.line, one.text) for one in python.suppressions] == [(5, "# noqa: E501")]
    assert [one.line for one in script.suppressions] == [3]
    assert [(one.line, one.text) for one in python.places("idle")] == [(10, "assert True")]
    assert [one.text for one in script.doubles] == ["('../src/add')"]
    assert {"text", "7", "2"} <= {one.text for one in python.places("literal")}


def test_a_focus_mark_excludes_all_other_tests() -> None:
    text = "it('a', () => {});\nit.only('b', () => {});\n"
    assert [(one.name, one.skipped) for one in Source("a.js", text).tests] == [("a", True), ("b", False)]
