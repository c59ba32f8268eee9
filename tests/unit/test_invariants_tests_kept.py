"""Which changes to tests take tests away, and which do not."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.records.findings import SHOWN, Finding, Weight
from helmsman.verify.diff import FileDiff, TreeDiff
from helmsman.verify.invariants.assertions_weakened import assertions_weakened
from helmsman.verify.invariants.scene import Scene
from helmsman.verify.invariants.tests_deleted import tests_deleted as deleted
from helmsman.verify.invariants.tests_skipped import tests_skipped as skipped
from helmsman.verify.invariants.tests_uncollected import tests_uncollected as uncollected

pytestmark = pytest.mark.feature("V5")
BLOCK, WARN = Weight.BLOCK, Weight.HINT
PATH = "tests/test_add.py"
HEAD = "import pytest\nfrom app import add\n\n\n"
SUMS = "def test_sums():\n    assert add(1, 2) == 3\n\n\n"
NEGATES = "def test_negates():\n    assert add(-1, -2) == -3\n    assert add(-5, 0) == -5\n"
LONG = " + ".join(["x"] * 400)
BEFORE = HEAD + SUMS + NEGATES
RULES: tuple[Callable[[Scene], Iterable[Finding]], ...] = (deleted, uncollected, skipped, assertions_weakened)


def changed(before: str | None, after: str | None, path: str = PATH, old_path: str = "") -> FileDiff:
    status = "A" if before is None else "D" if after is None else "R" if old_path else "M"
    return FileDiff(path, before, after, status, old_path)


def found(*files: FileDiff, tests: dict[str, str] | None = None) -> list[Finding]:
    scene = Scene(TreeDiff(files), tests=tests or {})
    return [finding for rule in RULES for finding in rule(scene)]


def told(*files: FileDiff, tests: dict[str, str] | None = None) -> list[tuple[str, Weight]]:
    return [(finding.rule, finding.weight) for finding in found(*files, tests=tests)]


PARAMETRISED = HEAD + (
    "@pytest.mark.parametrize(('a', 'b', 'total'), [(1, 2, 3), (-1, -2, -3), (-5, 0, -5)])\n"
    "def test_adds(a, b, total):\n    assert add(a, b) == total\n"
)
SPLIT = (
    HEAD
    + SUMS
    + ("def test_negates_both():\n    assert add(-1, -2) == -3\n\n\ndef test_negates_one():\n    assert add(-5, 0) == -5\n")
)
MERGED = HEAD + "def test_all():\n    assert add(1, 2) == 3\n    assert add(-1, -2) == -3\n    assert add(-5, 0) == -5\n"
IN_A_CLASS = (
    HEAD
    + "class TestAdd:\n    def test_sums(self):\n        assert add(1, 2) == 3\n\n    def test_negates(self):\n"
    + ("        assert add(-1, -2) == -3\n        assert add(-5, 0) == -5\n")
)
HELPED = (
    HEAD
    + "def compare(a, b, total):\n    assert add(a, b) == total\n\n\n"
    + ("def test_sums():\n    compare(1, 2, 3)\n\n\ndef test_negates():\n    compare(-1, -2, -3)\n    compare(-5, 0, -5)\n")
)
UNITTEST = (
    "import unittest\nfrom app import add\n\n\nclass Adding(unittest.TestCase):\n    def test_sums(self):\n"
    "        self.assertEqual(add(1, 2), 3)\n\n    def test_negates(self):\n        self.assertEqual(-3, add(-1, -2))\n"
    "        self.assertEqual(-5, add(-5, 0))\n"
)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE + "\n# a remark\n",
        BEFORE.replace("test_negates", "test_adds_negative_numbers"),
        HEAD + NEGATES + "\n\n" + SUMS,
        BEFORE + "\n\ndef test_more():\n    assert add(2, 2) == 4\n",
        BEFORE.replace("== 3", "== 3\n    assert add(2, 1) == 3"),
        BEFORE.replace("    assert add(1, 2) == 3", "    result = add(1, 2)\n    assert result == 3"),
        BEFORE.replace("add(1, 2) == 3", "3 == add(1, 2)"),
        BEFORE.replace("add(1, 2) == 3", "add(1, 2) == 3, 'one and two'"),
        BEFORE.replace(
            "    assert add(-1, -2) == -3\n    assert add(-5, 0) == -5", "    assert add(-1, -2) == -3 and add(-5, 0) == -5"
        ),
        PARAMETRISED,
        SPLIT,
        MERGED,
        IN_A_CLASS,
        HELPED,
        UNITTEST,
        BEFORE.replace(
            "    assert add(1, 2) == 3", "    with pytest.raises(ValueError):\n        add('a', 2)\n    assert add(1, 2) == 3"
        ),
    ],
)
def test_an_honest_refactoring_is_not_told(after: str) -> None:
    assert told(changed(BEFORE, after)) == []


@pytest.mark.parametrize("after", [BEFORE, PARAMETRISED, SPLIT, MERGED, IN_A_CLASS])
def test_tests_may_move_to_another_file_in_any_form(after: str) -> None:
    assert told(changed(BEFORE, None), changed(None, after, "tests/test_other.py")) == []


def test_a_renamed_file_is_not_a_deleted_one() -> None:
    assert told(changed(BEFORE, BEFORE, "tests/test_sum.py", PATH)) == []


def test_a_copy_that_stays_elsewhere_makes_a_deletion_harmless() -> None:
    assert told(changed(BEFORE, None), tests={"tests/test_copy.py": BEFORE}) == []


def test_new_tests_and_sources_are_not_told() -> None:
    assert told(changed(None, BEFORE), changed("def add(): pass\n", "def add(): return 1\n", "app.py")) == []


def test_a_deleted_test_is_told_with_what_it_asserted() -> None:
    (finding,) = found(changed(BEFORE, HEAD + SUMS))
    assert (finding.rule, finding.weight, finding.where) == ("tests.deleted", BLOCK, f"{PATH}:9")
    assert (finding.message, finding.before) == ("test_negates was deleted", "assert add(-1, -2) == -3")
    assert finding.honest


def test_a_deleted_file_is_told_once() -> None:
    (finding,) = found(changed(BEFORE, None))
    assert (finding.rule, finding.weight, finding.message) == ("tests.deleted", BLOCK, "the file was deleted with 2 tests")


def test_a_test_replaced_by_another_is_deleted() -> None:
    other = "def test_greets():\n    assert greet('Ada') == 'Hello Ada'\n"
    assert told(changed(BEFORE, HEAD + SUMS + other)) == [("tests.deleted", BLOCK)]


def test_a_merge_that_loses_an_assertion_is_told() -> None:
    lossy = MERGED.replace("    assert add(-5, 0) == -5\n", "")
    assert told(changed(BEFORE, lossy)) != []


def test_a_test_that_went_with_its_code_is_left_to_the_reader_of_the_goal() -> None:
    source = changed("def add(a, b):\n    return a + b\n", "", "app.py")
    assert told(changed(BEFORE, None), source) == [("tests.deleted", WARN)]


def test_a_deleted_test_file_that_was_not_read_is_told() -> None:
    assert told(FileDiff(PATH, None, None, "D")) == [("tests.deleted", WARN)]


def test_a_test_file_that_can_no_longer_be_read_is_told_with_its_tests() -> None:
    (finding,) = found(FileDiff(PATH, BEFORE, None, "M"))
    assert (finding.rule, finding.weight, finding.path) == ("tests.deleted", BLOCK, PATH)
    assert "2 tests" in finding.message


def test_no_number_of_warnings_hides_what_blocks() -> None:
    test, condition = (
        "def test_{0}():\n    assert f({0}) == {0}\n\n\n",
        "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n",
    )
    before = "".join(test.format(number) for number in range(40))
    after = "".join(condition + test.format(number) for number in range(39)) + "@pytest.mark.skip\n" + test.format(39)
    weights = [weight for _, weight in told(changed(before, after))]
    assert (weights[0], len(weights)) == (BLOCK, 30)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("test_negates", "_test_negates"),
        BEFORE.replace("test_negates", "disabled_test_negates"),
        BEFORE.replace("test_negates", "check_negates"),
        HEAD + SUMS + "if False:\n    " + NEGATES.replace("\n", "\n    "),
        HEAD + SUMS + "def never():\n    return\n    " + NEGATES.replace("\n", "\n    "),
        HEAD + SUMS + "".join(f"# {line}\n" for line in NEGATES.splitlines()),
        BEFORE + "test_negates.__test__ = False\n",
        BEFORE + "del test_negates\n",
    ],
)
def test_a_test_that_is_put_out_of_the_runners_way_is_told(after: str) -> None:
    assert told(changed(BEFORE, after)) == [("tests.uncollected", BLOCK)]


@pytest.mark.parametrize("name", ["AddChecks", "Add", "_TestAdd"])
def test_a_class_that_loses_its_name_takes_its_tests_along_in_one_finding(name: str) -> None:
    (finding,) = found(changed(IN_A_CLASS, IN_A_CLASS.replace("TestAdd", name)))
    assert (finding.rule, finding.weight) == ("tests.uncollected", BLOCK)
    assert "and 1 more" in finding.message


def test_a_whole_file_can_be_put_out_of_the_way() -> None:
    assert told(changed(BEFORE, "__test__ = False\n" + BEFORE)) == [("tests.uncollected", BLOCK)]


@pytest.mark.parametrize("path", ["tests/add_checks.py", "tests/test_add.py.bak", "tests/.old/test_add.py", "old_add.py"])
def test_a_file_that_is_renamed_out_of_the_patterns_is_told(path: str) -> None:
    assert told(changed(BEFORE, BEFORE, path, PATH)) == [("tests.uncollected", BLOCK)]


def test_a_file_that_a_check_names_is_collected_whatever_it_is_called() -> None:
    scene = Scene(TreeDiff((changed(BEFORE, BEFORE, "tests/add_checks.py", PATH),)), commands=("pytest tests/add_checks.py",))
    assert [finding for rule in RULES for finding in rule(scene)] == []


GO = 'package a\n\nfunc TestAdd(t *testing.T) {\n\tgot := Add(1, 2)\n\tif got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n'
RUST_SOURCE = "fn add(a: i32) -> i32 {\n    a\n}\n\n"
RUST = f"{RUST_SOURCE}#[cfg(test)]\nmod tests {{\n    #[test]\n    fn adds() {{\n        assert_eq!(add(1), 1);\n    }}\n}}\n"
JS = "it('sums', () => {\n  expect(add(1, 2)).toBe(3);\n});\n\nit('negates', () => {\n  expect(add(-1, -2)).toEqual(-3);\n});\n"
JAVA = "class AddTest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n}\n"
RUBY = "describe 'add' do\n  it 'sums' do\n    expect(add(1, 2)).to eq(3)\n  end\nend\n"
TEXTS = {
    "a_test.go": GO, "src/lib.rs": RUST, "src/a.test.js": JS, "test/a.js": JS, "AddTest.java": JAVA, "spec/add_spec.rb": RUBY
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("a_test.go", "TestAdd", "testAdd", ("tests.uncollected", BLOCK)),
        ("a_test.go", "package a", "//go:build ignore\n\npackage a", ("tests.uncollected", BLOCK)),
        ("a_test.go", "package a", "//go:build linux\n\npackage a", ("tests.uncollected", WARN)),
        ("a_test.go", "package a", "//go:build go1.21\n\npackage a", ("tests.uncollected", WARN)),
        ("a_test.go", "package a", "// +build linux,amd64\n\npackage a", ("tests.uncollected", WARN)),
        ("a_test.go", "\tgot :=", '\tt.Skip("later")\n\tgot :=', ("tests.skipped", BLOCK)),
        ("a_test.go", "t.Errorf", "t.Logf", ("assertions.weakened", BLOCK)),
        ("a_test.go", "got != 3", "false", ("assertions.weakened", BLOCK)),
        ("a_test.go", "got != 3", "got != 4", ("assertions.weakened", BLOCK)),
        ("src/lib.rs", "    #[test]\n", "", ("tests.uncollected", BLOCK)),
        ("src/lib.rs", "#[test]", "#[test]\n    #[ignore]", ("tests.skipped", BLOCK)),
        ("src/lib.rs", "assert_eq!(add(1), 1)", "assert!(true)", ("assertions.weakened", BLOCK)),
        ("src/lib.rs", RUST[RUST.index("#[cfg") :], "", ("tests.deleted", BLOCK)),
        ("src/a.test.js", "it('negates'", "it.skip('negates'", ("tests.skipped", BLOCK)),
        ("src/a.test.js", "it('negates'", "it.only('negates'", ("tests.skipped", BLOCK)),
        ("src/a.test.js", "it('negates'", "xit('negates'", ("tests.skipped", BLOCK)),
        ("src/a.test.js", ".toEqual(-3)", ".toBeTruthy()", ("assertions.weakened", BLOCK)),
        ("src/a.test.js", ".toEqual(-3)", ".toBeDefined()", ("assertions.weakened", BLOCK)),
        ("src/a.test.js", JS[JS.index("it('neg") :], "", ("tests.deleted", BLOCK)),
        ("test/a.js", JS[JS.index("it('neg") :], "", ("tests.deleted", BLOCK)),
        ("src/a.test.js", "  expect(add(-1", "  return;\n  expect(add(-1", ("assertions.weakened", BLOCK)),
        ("AddTest.java", "@Test", '@Disabled("later")\n  @Test', ("tests.skipped", BLOCK)),
        ("AddTest.java", "  @Test\n", "", ("tests.uncollected", BLOCK)),
        ("AddTest.java", "assertEquals(3, add(1, 2))", "assertNotNull(add(1, 2))", ("assertions.weakened", BLOCK)),
        ("spec/add_spec.rb", "it 'sums'", "xit 'sums'", ("tests.skipped", BLOCK)),
        ("spec/add_spec.rb", ".to eq(3)", ".to be_truthy", ("assertions.weakened", BLOCK)),
    ],
)
def test_the_same_ways_are_seen_in_other_languages(path: str, old: str, new: str, expected: tuple[str, Weight]) -> None:
    assert told(changed(TEXTS[path], TEXTS[path].replace(old, new), path)) == [expected]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a_test.go", "t.Errorf", "t.Fatalf"),
        ("a_test.go", 'if got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}', "assert.Equal(t, 3, got)"),
        ("src/lib.rs", "assert_eq!(add(1), 1)", "assert!(add(1) == 1)"),
        ("src/a.test.js", ".toEqual(-3)", ".toStrictEqual(-3)"),
        ("src/a.test.js", JS, "it.each([[1, 2, 3], [-1, -2, -3]])('sums', (a, b, c) => {\n  expect(add(a, b)).toBe(c);\n});\n"),
        ("AddTest.java", "assertEquals(3, add(1, 2))", "assertThat(add(1, 2)).isEqualTo(3)"),
        ("spec/add_spec.rb", "eq(3)", "eq 3"),
    ],
)
def test_rewording_is_not_told_in_other_languages(path: str, old: str, new: str) -> None:
    assert told(changed(TEXTS[path], TEXTS[path].replace(old, new), path)) == []


@pytest.mark.parametrize(
    ("mark", "weight"),
    [
        ("@pytest.mark.skip", BLOCK),
        ("@pytest.mark.skip(reason='flaky')", BLOCK),
        ("@pytest.mark.xfail", BLOCK),
        ("@pytest.mark.skipif(True, reason='x')", BLOCK),
        ("@pytest.mark.skipif(sys.version_info >= (3,), reason='x')", BLOCK),
        ("@pytest.mark.skipif(sys.platform == 'win32', reason='x')", WARN),
        (f"@pytest.mark.skipif({LONG} == {LONG}, reason='x')", BLOCK),
        (f"@pytest.mark.skipif({LONG} == {LONG} + 1, reason='x')", WARN),
    ],
)
def test_a_mark_that_skips_is_told(mark: str, weight: Weight) -> None:
    marked = BEFORE.replace("def test_negates", f"{mark}\ndef test_negates")
    assert told(changed(BEFORE, marked)) == [("tests.skipped", weight)]
    assert told(changed(marked, BEFORE)) == []
    assert told(changed(marked, marked + "\n# a remark\n")) == []


@pytest.mark.parametrize("statement", ["pytest.skip('x')", "pytest.xfail('x')", "raise unittest.SkipTest"])
def test_a_statement_that_skips_is_told(statement: str) -> None:
    after = BEFORE.replace("    assert add(1, 2)", f"    {statement}\n    assert add(1, 2)")
    assert ("tests.skipped", BLOCK) in told(changed(BEFORE, after))


def test_a_file_can_be_skipped_as_a_whole() -> None:
    assert told(changed(BEFORE, BEFORE.replace("\n\n\n", "\n\n\npytestmark = pytest.mark.skip\n", 1))) == [
        ("tests.skipped", BLOCK)
    ]


def test_a_skip_may_move_with_its_test_and_not_to_another() -> None:
    marked = BEFORE.replace("def test_negates", "@pytest.mark.skip\ndef test_negates")
    assert told(changed(marked, None), changed(None, marked, "tests/test_other.py")) == []
    assert told(changed(marked, marked.replace("test_negates", "test_negative"))) == []
    assert told(changed(marked, BEFORE.replace("def test_sums", "@pytest.mark.skip\ndef test_sums"))) == [
        ("tests.skipped", BLOCK)
    ]


def test_a_new_test_that_is_skipped_takes_nothing_away() -> None:
    new = "\n\n@pytest.mark.skip\ndef test_greets():\n    assert greet('Ada') == 'Hi'\n"
    assert told(changed(BEFORE, BEFORE + new)) == [("tests.skipped", WARN)]


@pytest.mark.parametrize(
    ("condition", "weight"),
    [
        ("result != 3", BLOCK),
        ("sys.platform == 'win32'", WARN),
        ("request.node.name == 'a'", BLOCK),
        ("not has_gpu()", WARN),
    ],
)
def test_a_skip_that_looks_at_the_result_hides_a_failure(condition: str, weight: Weight) -> None:
    before = HEAD + "def test_sums():\n    result = add(1, 2)\n    assert result == 3\n"
    after = before.replace("    assert", f"    if {condition}:\n        pytest.skip('x')\n    assert")
    assert told(changed(before, after)) == [("tests.skipped", weight)]


@pytest.mark.parametrize(("use", "weight"), [("", BLOCK), ("import numpy\n", WARN)])
def test_tests_that_ran_may_not_wait_for_a_module_that_nothing_uses(use: str, weight: Weight) -> None:
    after = BEFORE.replace("from app", "pytest.importorskip('numpy')\nfrom app")
    assert told(changed(BEFORE, after), changed("x = 1\n", use + "x = 2\n", "app.py")) == [("tests.skipped", weight)]


def test_a_condition_that_becomes_unconditional_is_told() -> None:
    before = BEFORE.replace("def test_negates", "@pytest.mark.skipif(WINDOWS, reason='x')\ndef test_negates")
    after = BEFORE.replace("def test_negates", "@pytest.mark.skip\ndef test_negates")
    assert told(changed(before, after)) == [("tests.skipped", BLOCK)]


FILLING = "".join(f"it('fills {n}', () => {{\n  expect(f({n})).toBe({n});\n}});\n\n" for n in range(40))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("toEqual(-3)", "toBeDefined()"),
        ("it('negates'", "it.skip('negates'"),
        (JS[JS.index("it('neg") :], ""),
        ("it('negates'", "// it('negates'"),
    ],
)
def test_what_stays_around_a_change_does_not_matter(old: str, new: str) -> None:
    near = found(changed(JS, JS.replace(old, new), "a.test.js"))
    far = found(changed(f"{FILLING}{JS}\n{FILLING}", f"{FILLING}{JS.replace(old, new)}\n{FILLING}", "a.test.js"))
    lines = FILLING.count("\n")
    assert near
    assert [(item.rule, item.message, item.line) for item in far] == [
        (item.rule, item.message, (item.line or 0) + lines) for item in near
    ]


def test_a_comment_that_opens_above_hides_all_below() -> None:
    hidden = f"{FILLING}/*\n{JS}\n{FILLING}*/\n"
    assert len(found(changed(f"{FILLING}{JS}\n{FILLING}", hidden, "a.test.js"))) == 30


LINES = [f"def test_{n}():\n    assert add({n}, {n + 100}) == {2 * n + 100}\n\n\n" for n in range(30)]


@given(st.permutations(LINES))
def test_the_order_of_tests_is_nothing(lines: list[str]) -> None:
    assert told(changed(HEAD + "".join(LINES), HEAD + "".join(lines))) == []


@given(st.sets(st.integers(0, 29), min_size=1, max_size=29))
def test_every_deleted_test_is_told_and_no_other(gone: set[int]) -> None:
    after = HEAD + "".join(text for number, text in enumerate(LINES) if number not in gone)
    assert [finding.message for finding in found(changed(HEAD + "".join(LINES), after))] == [
        f"test_{n} was deleted" for n in sorted(gone)
    ]


@given(st.sets(st.integers(0, 29)))
def test_tests_may_be_spread_over_files(moved: set[int]) -> None:
    stayed = HEAD + "".join(text for number, text in enumerate(LINES) if number not in moved)
    went = HEAD + "".join(text for number, text in enumerate(LINES) if number in moved)
    assert told(changed(HEAD + "".join(LINES), stayed), changed(None, went, "tests/test_other.py")) == []


@given(st.text(), st.text())
def test_no_text_is_too_odd_for_the_rules(before: str, after: str) -> None:
    assert all(
        finding.message and finding.honest for finding in found(changed(before, after), changed(after, before, "a.test.js"))
    )


@pytest.mark.timeout(30)
def test_what_is_told_is_bounded() -> None:
    many = HEAD + "".join(f"def test_{n}():\n    assert f({n}) == '{'x' * 300}{n}'\n" for n in range(500))
    told_of_all = found(changed(many, HEAD))
    assert len(told_of_all) == 30
    assert all(len(finding.before) <= SHOWN and len(finding.message) <= SHOWN for finding in told_of_all)
