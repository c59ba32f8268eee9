"""The run with other values in tests that turned green: which tests it alters, and what their results show."""

import pytest

from helmsman.parsers.source import Source
from helmsman.records.checks import CheckResult, TestCounts
from helmsman.records.verification import Case
from helmsman.verify.altered_tests import (
    Seen,
    alter_expectations,
    alter_values,
    describe_unseen,
    find_moved,
    names_in_file,
    what_stays_green,
)

pytestmark = pytest.mark.feature("V16")

PYTHON = (
    "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\ndef test_other():\n    assert calc.add(7, 7) == 14\n"
)


# --- which tests -----------------------------------------------------------------------------------------------------------


def test_other_tests_are_unchanged_unless_all_are_requested() -> None:
    source = Source("t.py", PYTHON)
    some, everything = alter_expectations(source, ["t.py::test_add"]), alter_expectations(source, None)
    assert some
    assert everything
    assert "calc.add(7, 7) == 14" in some.text
    assert "calc.add(7, 7) == 14" not in everything.text


def test_a_class_does_not_stand_for_its_tests() -> None:
    text = "class T:\n    def test_a(self):\n        assert f() == 1\n\n    def test_b(self):\n        assert f() == 2\n"
    found = alter_expectations(Source("t.py", text), ["test_a (t.T.test_a)"])
    assert found
    assert found.rows == {"t.py": None, "test_a": None}
    assert "f() == 2" in found.text


def test_titles_with_values_are_titles_of_every_row() -> None:
    text = "test.each([[1, 2], [2, 4]])('twice %i is $w', (n, w) => { expect(f(n)).toBe(w); });\n"
    assert alter_expectations(Source("a.test.js", text), ["twice > twice 1 is 2"])
    assert not alter_expectations(Source("a.test.js", text), ["twice > half of 1"])


def test_two_tests_of_one_name_are_only_known_together() -> None:
    text = "class A:\n    def test_a(self):\n        main()\n\n\nclass B:\n    def test_a(self):\n        assert f() == 1\n"
    found = alter_expectations(Source("t.py", text), None)
    assert found
    assert found.rows == {"t.py": None}


@pytest.mark.parametrize(
    "text", ['test "$(cat answer)" = 2\n', "def test_it():\n    check(0x10, 0b1, 1_000)\n", "def test_it():\n    sleep(5)\n"]
)
def test_nothing_is_altered_without_values_that_matter(text: str) -> None:
    path = "t.sh" if text.startswith("test") else "t.py"
    assert alter_expectations(Source(path, text), None) is None
    assert alter_values(Source(path, text)) is None


@pytest.mark.parametrize(
    ("text", "altered"),
    [
        (
            "for a, b in [(1, 1)]:\n    if f(a) != b:\n        sys.exit(1)\n",
            "in [(2, 5)]:\n    if f(a) != b:\n        sys.exit(1)",
        ),
        ("bad = 0\nif f(7) != 3 or f(8) != 4:\n    bad += 1\n", "bad = 0\nif f(7) != 4 or f(8) != 8:\n    bad += 1"),
        ("def same(a, b): ...\n\nsame(f('a'), 'A')\nsame(f('b'), 'B')\n", "same(f('a'), 'A~')\nsame(f('b'), 'B~~~~')"),
        ("bad = [p for p in Path('cases').glob('*.in') if f(p) != read(p, '.out')]\nsys.exit(len(bad) > 0)\n", ""),
        ("if __name__ == '__main__' and check([1]) == 0:\n    print('fine')\n", ""),
        ("run(['make', 'clean'])\nif f() != 3:\n    print('failed', 4)\n    sys.exit(1)\n", ""),
    ],
)
def test_of_a_program_without_tests_only_values_that_may_be_expected_are_altered(text: str, altered: str) -> None:
    found = alter_values(Source("run_tests.py", text))
    assert altered in found if altered and found else found is None and not altered


def test_without_an_expectation_every_value_of_a_nameless_check_is_altered() -> None:
    table = "ROWS = [(1, 1)]\n\n\ndef test_it():\n    check(ROWS)\n"
    assert "[(2, 5)]" in (alter_values(Source("t.py", table)) or "")
    module = "test('a', () => {\n  require('./calc');\n  check('a', '1h');\n});\n"
    altered = alter_values(Source("a.test.js", module)) or ""
    assert "require('./calc');\n  check('a~~~~', '1h~~');" in altered


@pytest.mark.parametrize(
    "case",
    [
        "tests/a.py::T::test_it[1-a/b]",
        "test_it (tests.a.T.test_it)",
        "suite > inner > test_it",
        "tests::test_it",
        "test_it/sub",
        "a.T.test_it",
    ],
)
def test_tests_are_found_by_the_names_of_any_runner(case: str) -> None:
    assert "test_it" in names_in_file([case])


# --- what the run shows ----------------------------------------------------------------------------------------------------


def result(passed: int, *failing: str, failed: int | None = None, ok: bool | None = None, **more: object) -> CheckResult:
    failures = len(failing) if failed is None else failed
    counts = TestCounts(passed=passed, failed=failures, failing=failing)
    is_green = not failures if ok is None else ok
    own = {"name": "check", "command": "check", "passed": is_green, "exit_code": int(not is_green), "seconds": 1}
    return CheckResult.model_validate({**own, "counts": counts, **more})


def seen(cases: list[str], head: CheckResult, altered: CheckResult, rows: dict[str, int | None] | None = None) -> Seen:
    proofs = [Case(name=case, check="check", outcome="FAIL_TO_PASS", consequence="proves", why="") for case in cases]
    known = dict.fromkeys((name for case in cases for name in names_in_file([case])), None)
    return what_stays_green(proofs, head, altered, known if rows is None else rows)


def test_a_solved_test_does_not_hide_one_that_stays_green() -> None:
    assert seen(["t::a", "t::b"], result(2), result(1, "t::a")) == Seen(("t::b",))
    assert seen(["t::a", "t::b"], result(2), result(0, "t::a", "t::b")) == Seen()


def test_a_case_that_a_report_names_as_passing_stays_green_although_the_run_ended_early() -> None:
    altered = result(1, "t::c", passing=("t::a",))
    assert seen(["t::a", "t::b"], result(9), altered) == Seen(("t::a",), ("t::b",))


def test_a_case_that_the_output_names_stays_green_although_the_run_ended_early() -> None:
    assert seen(["a", "b"], result(9), result(1, "c", ran=("a",))) == Seen(("a",), ("b",))


def test_a_test_fails_if_its_subtests_do() -> None:
    assert seen(["test_a (t.T.test_a)"], result(1), result(0, "test_a (t.T.test_a) (n=1)", failed=1), {"test_a": None}) == Seen()
    assert seen(["test_a (t.T.test_a)"], result(1), result(0, "test_a (t.T.test_a) [x]", failed=1), {"test_a": None}) == Seen()


def test_nothing_is_known_of_a_moved_test_unless_its_name_is_seen() -> None:
    def stays(altered: CheckResult) -> Seen:
        proofs = [Case(name="tests/test_t.py::a", check="check", outcome="FAIL_TO_PASS", consequence="proves", why="")]
        return what_stays_green(proofs, result(2), altered, {"a": None}, moved=frozenset(["tests/test_t.py::a"]))

    assert stays(result(1, "tests/unit/test_t.py::a")) == Seen(unseen=("tests/test_t.py::a",))
    assert stays(result(1, "tests/unit/test_t.py::a", passing=("tests/test_t.py::a",))) == Seen(("tests/test_t.py::a",))
    assert stays(result(1, "tests/test_t.py::a")) == Seen()


def test_a_test_was_moved_if_its_file_lacks_it_or_is_removed() -> None:
    sources = [Source("tests/test_t.py", "def test_a():\n    assert f() == 1\n"), Source("t.test.js", "test('b', () => {});\n")]
    there = {"tests/test_t.py::test_a[1]", "tests.test_t::test_a", "suite > test_b", "old/tests/test_t.py::test_b"}
    moved = {"tests/test_t.py::test_b", "test_b (tests.test_t.T.test_b)", "tests/old.py::test_a", "tests.old.T::test_a"}
    assert find_moved([*there, *moved], sources, ["tests/old.py"]) == moved


def test_a_python_test_was_moved_if_its_class_lacks_it() -> None:
    sources = [Source("tests/test_t.py", "class New:\n    def test_a(self):\n        assert f() == 1\n")]
    there = {
        "tests/test_t.py::New::test_a[1]",
        "tests.test_t.New::test_a",
        "test_a (test_t.New.test_a) (n=1)",
        "test_a (tests.test_t.New)",
    }
    moved = {"tests/test_t.py::T::test_a", "tests.test_t.T::test_a", "tests/test_t.py::test_a", "test_a (test_t.T.test_a) [x]"}
    assert find_moved([*there, *moved], sources, []) == moved


def test_nothing_is_known_of_cases_after_a_broken_build_or_without_a_summary() -> None:
    assert seen(["t::a"], result(2), result(0, "t.py", failed=1)) == Seen(unseen=("t::a",))
    assert seen(["t::a"], result(2), result(0, ok=False, counts=None)) == Seen(unseen=("t::a",))
    assert seen(["t::a"], result(2), result(2, timed_out=True, ok=False)) == Seen(unseen=("t::a",))


def test_nothing_is_known_of_cases_if_a_runner_lists_only_some_failures() -> None:
    assert seen(["t::a", "t::b"], result(9), result(0, "t::a", failed=9)) == Seen(unseen=("t::b",))


def test_a_test_in_which_nothing_was_altered_is_not_accused() -> None:
    assert seen(["t::a", "t::b"], result(2), result(2), {"a": None}) == Seen(("t::a",), ("t::b",))


@pytest.mark.parametrize("case", ["tests/test_a.py", "tests.test_a", "test_a (unittest.loader._FailedTest.tests.test_a)"])
def test_a_file_that_did_not_load_before_stands_for_all_its_tests(case: str) -> None:
    source = Source("tests/test_a.py", "def test_a():\n    assert f() == 1\n")
    found = alter_expectations(source, [case])
    assert found
    assert seen([case], result(1), result(1), dict(found.rows)) == Seen((case,))
    assert seen([case], result(1), result(0, "tests.test_a::test_a"), dict(found.rows)) == Seen()
    conditional = alter_expectations(Source(source.path, f"@pytest.mark.skipif(not SPEEDUPS, reason='')\n{source.text}"), [case])
    assert conditional
    assert seen([case], result(1), result(1), dict(conditional.rows)) == Seen(unseen=(case,))


def test_a_check_that_names_no_test_has_to_fail_as_a_whole() -> None:
    assert seen(["check"], result(2), result(2)) == Seen(("check",))
    assert seen(["check"], result(2), result(1, "t::a")) == Seen()


def test_a_linter_is_not_accused_of_passing_whatever_the_tests_expect() -> None:
    lint = Case(name="check", check="check", outcome="FAIL_TO_PASS", consequence="proves", why="")
    head = result(0, counts=None)
    assert what_stays_green([lint], head, head, {}, runs_tests=False) == Seen(unseen=("check",))
    assert what_stays_green([lint], head, head, {}, runs_tests=True) == Seen(("check",))


def test_a_program_that_a_check_runs_is_one_test() -> None:
    found = alter_expectations(
        Source("check.js", "const { total } = require('./total');\nassert.strictEqual(total(2), 20);\n"), None
    )
    assert found
    assert "total(2), 20" not in found.text
    assert "require('./total')" in found.text


ROWS = ["t::a[1-2]", "t::a[2-3]"]


def test_cases_of_a_table_are_counted_as_their_names_change_with_their_values() -> None:
    assert seen(ROWS, result(2), result(0, "t::a[1-3]", "t::a[2-2]")) == Seen()
    assert seen(ROWS, result(2), result(1, "t::a[1-3]")) == Seen(("t::a",))
    assert seen(ROWS, result(2), result(1, "t::a[1-3]", passing=("t::a[2-2]",))) == Seen(("t::a[2-2]",))


def test_rows_that_could_not_be_altered_may_stay_green() -> None:
    altered = result(1, "t::a[1-3]", passing=("t::a[2-3]",))
    assert seen(ROWS, result(2), altered, {"a": 1}) == Seen()
    assert seen(ROWS, result(2), altered, {"a": 2}) == Seen(("t::a",))


def test_what_was_not_seen_is_named() -> None:
    assert describe_unseen((), ()) == ""
    assert describe_unseen((), ("t::a",)).endswith("can fail: t::a")
    assert "no value in them could be changed" in describe_unseen(None, ())
