"""Which changes make a test say less, and which do not."""

import pytest

from helmsman.records.checks import CheckReport, CheckResult, TestCounts
from helmsman.records.findings import Finding, Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.assertions_weakened import assertions_weakened
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.tests_fewer import tests_fewer as fewer
from helmsman.verify.invariants.tests_uncollected import tests_uncollected as uncollected

pytestmark = pytest.mark.feature("V5")
BLOCK, WARN = Weight.BLOCK, Weight.HINT
PATH = "tests/test_order.py"
HEAD = "import pytest\nfrom app import total\n\n\ndef test_totals():\n"
STATEMENT = "assert total([1, 2]) == 3"
SOURCE = FileDiff("app.py", "def total(x):\n    return 0\n", "def total(x):\n    return sum(x)\n")


def weakened(before: str, after: str, *others: FileDiff, tests: dict[str, str] | None = None) -> list[Finding]:
    diff = TreeDiff((FileDiff(PATH, HEAD + _indented(before), HEAD + _indented(after)), *others))
    return list(assertions_weakened(Scene(diff, tests=tests or {})))


def _indented(lines: str) -> str:
    return "".join(f"    {line}\n" for line in lines.split("\n"))


def weights(before: str, after: str, *others: FileDiff) -> list[Weight]:
    return [finding.weight for finding in weakened(before, after, *others)]


@pytest.mark.parametrize("source", [(), (SOURCE,)], ids=["only-tests", "with-source"])
@pytest.mark.parametrize(
    "after",
    [
        "pass",
        "print(total([1, 2]))",
        "assert True",
        "assert 1",
        "assert total",
        "assert total([1, 2])",
        "assert total([1, 2]) is not None",
        "assert total([1, 2]) in (3, 4)",
        "assert total([1, 2]) >= 3",
        "assert isinstance(total([1, 2]), int)",
        "assert total([1, 2]) == 3 or True",
        "assert total([1, 2]) == 3 or total([1, 2]) == 4",
        "assert 3 == 3",
        "assert (total([1, 2]) == 3, 'wrong')",
        "try:\n    assert total([1, 2]) == 3\nexcept AssertionError:\n    pass",
        "try:\n    assert total([1, 2]) == 3\nexcept Exception as error:\n    print(error)",
        "with contextlib.suppress(AssertionError):\n    assert total([1, 2]) == 3",
        "return\nassert total([1, 2]) == 3",
        "if False:\n    assert total([1, 2]) == 3",
        "result = total([1, 2])\nassert result",
        "assert total([1, 2]) != 4",
    ],
)
def test_an_assertion_that_says_less_blocks_whatever_else_changed(after: str, source: tuple[FileDiff, ...]) -> None:
    if after == "assert total":
        assert weights(STATEMENT, after, *source) != []
    else:
        assert BLOCK in weights(STATEMENT, after, *source)


@pytest.mark.parametrize(
    "after",
    [
        "assert 3 == total([1, 2])",
        "assert (total([1, 2]) == 3)",
        "assert total([1,2]) == 3, 'wrong'",
        "assert total([1, 2]) == 3\nassert total([]) == 0",
        "result = total([1, 2])\nassert result == 3",
        "numbers = [1, 2]\nassert total(numbers) == 3",
        "for _ in range(2):\n    assert total([1, 2]) == 3",
        "with subtests.test():\n    assert total([1, 2]) == 3",
        "try:\n    assert total([1, 2]) == 3\nfinally:\n    close()",
        "check_total([1, 2], 3)",
    ],
)
def test_the_same_in_other_words_is_not_told(after: str) -> None:
    assert weights(STATEMENT, after) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert a == True", "assert a"),
        ("assert len(a) == 0", "assert not a"),
        ("assert a", "assert a == 3"),
        ("assert a is not None", "assert a == 3"),
        ("assert a is not None\nassert a.total == 3", "assert a.total == 3"),
        ("assert a and b", "assert a\nassert b"),
        ("assert a.x == 1\nassert a.y == 2", "assert (a.x, a.y) == (1, 2)"),
        ("self.assertEqual(a, 3)", "assert a == 3"),
        ("self.assertIn('x', a)", "assert 'x' in a"),
        ("self.assertIsNone(a)", "assert a is None"),
        ("self.assertTrue(a == 3)", "self.assertEqual(a, 3)"),
        ("with pytest.raises(Exception):\n    f()", "with pytest.raises(ValueError):\n    f()"),
        ("with self.assertRaises(ValueError):\n    f()", "with pytest.raises(ValueError):\n    f()"),
        ("assert a == pytest.approx(3, abs=0.1)", "assert a == pytest.approx(3, abs=0.01)"),
        ("assert a == pytest.approx(3)", "assert a == 3"),
        ("assert True", "assert a == 3"),
        ("assert a == 3", "assert a == 3\n# assert b == 4"),
    ],
)
def test_a_stricter_or_reworded_assertion_is_not_told(before: str, after: str) -> None:
    assert weights(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("with pytest.raises(ValueError):\n    f()", "with pytest.raises(Exception):\n    f()", BLOCK),
        ("with pytest.raises(ValueError):\n    f()", "with pytest.raises((ValueError, Exception)):\n    f()", BLOCK),
        ("with pytest.raises(ValueError):\n    f()", "f()", BLOCK),
        ("with pytest.raises(ValueError, match='x'):\n    f()", "with pytest.raises(ValueError):\n    f()", WARN),
        ("assert a == pytest.approx(3, abs=0.01)", "assert a == pytest.approx(3, abs=1)", BLOCK),
        ("self.assertAlmostEqual(a, b, places=5)", "self.assertAlmostEqual(a, b, places=1)", BLOCK),
        ("assert a == b", "assert a == pytest.approx(b)", WARN),
        ("if_ready()\nassert a == 3", "if_ready()\nif a:\n    assert a == 3", WARN),
        ("assert a == 3\nassert b == 4", "assert a == 3", BLOCK),
        ("assert a == 3", "assert other(thing).kind == 'x'", WARN),
        ("mock.assert_called_with(1)", "mock.assert_called()", BLOCK),
        ("assert a == a_list", "assert a", BLOCK),
        ("check_total(a)", "pass", BLOCK),
    ],
)
def test_each_loss_has_its_weight(before: str, after: str, expected: Weight) -> None:
    assert weights(before, after) == [expected]


def test_another_expected_value_blocks_where_only_tests_changed() -> None:
    (alone,) = weakened(STATEMENT, "assert total([1, 2]) == 4")
    (with_source,) = weakened(STATEMENT, "assert total([1, 2]) == 4", SOURCE)
    assert (alone.weight, with_source.weight) == (BLOCK, WARN)
    assert (alone.before, alone.after, alone.line) == (STATEMENT, "assert total([1, 2]) == 4", 6)


@pytest.mark.parametrize(
    "other",
    [
        FileDiff("app.py", "x = 1\n", "x = 1  # a remark\n"),
        FileDiff("app.py", "x = 1\n", "x  =  1\n\n"),
        FileDiff("README.md", "a", "b"),
        FileDiff("tests/helpers.py", "x = 1", "x = 2"),
    ],
)
def test_remarks_documents_and_helpers_do_not_excuse_a_fitted_test(other: FileDiff) -> None:
    assert weights(STATEMENT, "assert total([1, 2]) == 4", other) == [BLOCK]


def test_another_input_with_another_result_is_no_loss() -> None:
    assert weights(STATEMENT, "assert total([1, 3]) == 4") == []


def test_a_test_that_does_something_else_now_may_expect_something_else() -> None:
    before, after = "a = basket()\na.add(1)\nassert a.total == 1", "a = basket()\na.add(1)\na.add(2)\nassert a.total == 3"
    assert weights(before, after) == [WARN]


def test_losses_of_one_kind_are_told_once_for_each_test() -> None:
    (finding,) = weakened("\n".join(f"assert a{n} == {n}" for n in range(50)), "pass")
    assert "(49 more like it)" in finding.message


ROWS = "@pytest.mark.parametrize(('a', 'b'), [(1, 2), (3, 4), (5, 6)])\ndef test_doubles(a, b):\n    assert double(a) == b\n"


@pytest.mark.parametrize(
    ("after", "only_tests", "with_source"),
    [
        (ROWS.replace("(3, 4), ", ""), [BLOCK], [BLOCK]),
        (ROWS.replace("(3, 4)", "(3, 5)"), [BLOCK], [WARN]),
        (ROWS.replace("(3, 4)", "(3, 4), (7, 8)"), [], []),
        (ROWS.replace("(1, 2), (3, 4)", "(3, 4), (1, 2)"), [], []),
        (ROWS.replace("(3, 4)", "pytest.param(3, 4, id='three')"), [], []),
    ],
)
def test_the_rows_of_a_parametrised_test_are_assertions(after: str, only_tests: list[Weight], with_source: list[Weight]) -> None:
    file = FileDiff(PATH, ROWS, after)
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file,))))] == only_tests
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file, SOURCE))))] == with_source


def test_a_helper_that_asserts_takes_an_assertion_over() -> None:
    helper = FileDiff("tests/helpers.py", None, "def totals(numbers, expected):\n    assert total(numbers) == expected\n", "A")
    assert weights(STATEMENT, "totals([1, 2], 3)", helper) == []


def test_a_helper_that_did_not_change_takes_an_assertion_over() -> None:
    tests = {"tests/helpers.py": "def totals(numbers, expected):\n    assert total(numbers) == expected\n"}
    assert weakened(STATEMENT, "totals([1, 2], 3)", tests=tests) == []


def test_a_helper_that_asserts_nothing_takes_nothing_over() -> None:
    helper = FileDiff("tests/helpers.py", None, "def check_total(numbers, expected):\n    print(numbers)\n", "A")
    assert weights(STATEMENT, "check_total([1, 2], 3)", helper) == [BLOCK]


def test_a_helper_is_watched_like_a_test() -> None:
    before = "def check(a):\n    assert a == 3\n\n\ndef test_a():\n    check(f())\n"
    file = FileDiff(PATH, before, before.replace("a == 3", "a"))
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file,))))] == [BLOCK]


def test_a_renamed_test_is_compared_with_what_it_was() -> None:
    before = HEAD + "    basket = fill('apple', 'pear')\n    assert basket.count == 2\n"
    after = before.replace("test_totals", "test_counts").replace("basket.count == 2", "basket.count")
    (finding,) = assertions_weakened(Scene(TreeDiff((FileDiff(PATH, before, after),))))
    assert (finding.weight, finding.message) == (BLOCK, "test_counts compares less strictly")


def test_a_change_in_a_long_file_is_found_where_it_is() -> None:
    rest = "".join(f"\n\ndef test_{n}():\n    assert f({n}) == {n + 1}\n" for n in range(200))
    before = "import pytest\n" + rest
    (finding,) = assertions_weakened(Scene(TreeDiff((FileDiff(PATH, before, before.replace("f(100) == 101", "f(100)")),))))
    assert finding.line == before[: before.index("f(100)")].count("\n") + 1


def test_a_long_file_that_becomes_a_string_has_no_tests_left() -> None:
    from helmsman.verify.invariants.tests_deleted import tests_deleted as deleted

    rest = "".join(f"\n\ndef test_{n}():\n    assert f({n}) == {n + 1}\n" for n in range(100))
    scene = Scene(TreeDiff((FileDiff(PATH, "import pytest\n" + rest, f'import pytest\n"""{rest}"""\n'),)))
    assert len(list(deleted(scene))) == 30


def test_a_second_definition_below_hides_the_first() -> None:
    rest = "".join(f"\n\ndef test_{n}():\n    assert f({n}) == {n + 1}\n" for n in range(100))
    before = "import pytest\n" + rest
    scene = Scene(TreeDiff((FileDiff(PATH, before, before + "\n\ndef test_50():\n    pass\n"),)))
    (finding,) = (*assertions_weakened(scene), *uncollected(scene))
    assert (finding.weight, finding.message) == (BLOCK, "test_50 will not run: a later test has its name")


TABLE = "GOOD = ['a', 'b']\n\n\ndef test_good():\n    for text in GOOD:\n        assert valid(text)\n"


def test_the_table_that_a_test_goes_through_is_part_of_it() -> None:
    file = FileDiff(PATH, TABLE, TABLE.replace("['a', 'b']", "[]"))
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file, SOURCE))))] == [BLOCK]


def test_a_table_may_grow() -> None:
    file = FileDiff(PATH, TABLE, TABLE.replace("'b'", "'b', 'c'"))
    assert list(assertions_weakened(Scene(TreeDiff((file,))))) == []


GO_TABLE = (
    'package a\n\nfunc TestSize(t *testing.T) {\n\tcases := map[int]string{\n\t\t999: "999 B",\n\t\t1000: "1.0 kB",\n\t}\n'
    '\tfor n, want := range cases {\n\t\tif got := Size(n); got != want {\n\t\t\tt.Errorf("got %q", got)\n\t\t}\n\t}\n}\n'
)


@pytest.mark.parametrize(("new", "expected"), [('1000: "1000 B"', [BLOCK]), ('1000: "1.0 kB",\n\t\t1: "1 B"', [])])
def test_the_rows_of_a_go_table_are_assertions(new: str, expected: list[Weight]) -> None:
    file = FileDiff("a_test.go", GO_TABLE, GO_TABLE.replace('1000: "1.0 kB"', new))
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file,))))] == expected


def test_a_rewritten_snapshot_blocks_where_no_source_changed() -> None:
    file = FileDiff("__snapshots__/card.test.tsx.snap", "<h2>\n  Title\n</h2>\n", "<h2 />\n")
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file,))))] == [BLOCK]
    assert [finding.weight for finding in assertions_weakened(Scene(TreeDiff((file, SOURCE))))] == [WARN]


def test_a_comparison_with_itself_is_seen_through_a_variable() -> None:
    assert weights(STATEMENT, "expected = total([1, 2])\nassert total([1, 2]) == expected") == [BLOCK]


FIXTURE = "@pytest.fixture\ndef place():\n    found = connect()\n    yield found\n\n\n"
FIXED = "def test_a(place):\n    assert place.is_open\n    assert place.x == 'a'\n"


def test_an_assertion_may_move_into_a_fixture() -> None:
    after = FIXTURE.replace("    yield", "    assert found.is_open\n    yield") + FIXED.replace("    assert place.is_open\n", "")
    assert list(assertions_weakened(Scene(TreeDiff((FileDiff(PATH, FIXTURE + FIXED, after),))))) == []


# fewer ----------------------------------------------------------------------------------------------------------------


def ran(passed: int, *, ok: bool = True, counted: bool = True, **fields: object) -> CheckReport:
    counts = TestCounts(passed=passed, failed=0 if ok else 1, skipped=1) if counted else None
    result = {"name": "tests", "command": "pytest -q", "passed": ok, "exit_code": 0, "seconds": 1.0, "counts": counts}
    return CheckReport(tree="a" * 40, results=(CheckResult.model_validate({**result, **fields}),))


def fewer_in(report: CheckReport, *files: FileDiff, most: int = 10) -> list[Weight]:
    scene = Scene(TreeDiff(files), report=report, most_tests={"pytest -q": most})
    return [finding.weight for finding in fewer(scene)]


EDITED = FileDiff(PATH, "a", "b")


def test_fewer_tests_than_before_block_where_no_test_changed() -> None:
    assert fewer_in(ran(8)) == fewer_in(ran(8), SOURCE) == [BLOCK]


def test_fewer_tests_are_told_where_tests_changed() -> None:
    assert fewer_in(ran(8), EDITED) == [WARN]


def test_as_many_tests_as_before_or_more_are_not_told() -> None:
    assert fewer_in(ran(10)) == fewer_in(ran(20)) == fewer_in(ran(0), most=0) == []


def test_a_skipped_test_did_not_run() -> None:
    assert fewer_in(ran(9)) == [BLOCK]  # and one that is skipped


def test_a_check_that_failed_may_have_stopped_early() -> None:
    assert fewer_in(ran(3, ok=False)) == [WARN]


def test_a_check_that_was_ended_tells_nothing() -> None:
    assert fewer_in(ran(3, timed_out=True)) == fewer_in(ran(3, error="not found")) == []


def test_a_run_that_can_no_longer_be_counted_is_told() -> None:
    assert fewer_in(ran(0, counted=False)) == [WARN]


def test_without_a_report_nothing_is_known() -> None:
    assert list(fewer(Scene(TreeDiff(), most_tests={"pytest -q": 10}))) == []


def test_another_command_is_not_compared() -> None:
    assert list(fewer(Scene(TreeDiff(), report=ran(1), most_tests={"make test": 10}))) == []


def test_the_numbers_are_told() -> None:
    (finding,) = fewer(Scene(TreeDiff(), report=ran(8), most_tests={"pytest -q": 10}))
    assert (finding.rule, finding.before, finding.after) == ("tests.fewer", "10 tests", "8 tests")
