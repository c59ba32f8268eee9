"""Sources as trees: which tests stand in a file, what skips, mutes or fakes something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.source import GRAMMARS, Source, with_inline_tests

pytestmark = pytest.mark.feature("V5")

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


def test_inline_tests_of_the_start_replace_those_of_the_source() -> None:
    cases = {
        "only the source": (RUST.replace("a }", "a + 1 }"), None),
        "an assertion is gone": (RUST.replace("assert_eq!(add(1), 2);", ""), True),
        "all tests are gone": (RUST.partition("#[cfg(test)]")[0], True),
    }
    for case, (now, expected) in cases.items():
        found = with_inline_tests(Source("a.rs", now), Source("a.rs", RUST))
        assert (found and "assert_eq!(add(1), 2);" in found and found.startswith("fn add")) == expected, case


@given(st.sampled_from(sorted(GRAMMARS)), st.text())
def test_any_text_parses_and_places_are_within_it(suffix: str, text: str) -> None:
    source = Source(f"a.{suffix}", text)
    for places in (
        source.tests,
        source.skips,
        source.suppressions,
        source.places("literal"),
        source.doubles,
        source.places("idle"),
    ):
        assert all(1 <= one.line <= text.count("\n") + 1 for one in places)
