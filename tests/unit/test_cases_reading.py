"""Tests as they are read out of sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.cases import Case, Guard, Kind, SkipKind, cases_in, is_source, is_test_file, is_test_support, reading_of

pytestmark = pytest.mark.feature("V5")


def only(path: str, text: str) -> Case:
    (case,) = cases_in(path, text)
    return case


def python(*lines: str) -> Case:
    return only("test_a.py", "def test_a():\n" + "".join(f"    {line}\n" for line in lines))


def typescript(*lines: str) -> Case:
    return only("a.test.ts", "it('works', () => {\n" + "".join(f"  {line}\n" for line in lines) + "});\n")


@pytest.mark.parametrize(
    "path",
    [
        "test_a.py",
        "tests/unit/a_test.py",
        "tests.py",
        "src/add.test.ts",
        "src/add.spec.jsx",
        "src/__tests__/add.js",
        "pkg/add_test.go",
        "tests/add.rs",
        "src/test/java/a/Add.kt",
        "a/AddTest.java",
        "spec/add_spec.rb",
        "test/add_test.rb",
        "tests/AddTest.php",
    ],
)
def test_files_that_runners_collect_are_test_files(path: str) -> None:
    assert is_test_file(path)
    assert not is_source(path)


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        "attest.py",
        "test_a.py.bak",
        "src/add.ts",
        "testing.go",
        "src/lib.rs",
        "Latest.txt",
        "build/test_a.py",
        ".old/test_a.py",
        "",
    ],
)
def test_files_that_runners_pass_over_are_no_test_files(path: str) -> None:
    assert not is_test_file(path)


def test_a_rust_source_with_a_test_module_is_a_test_file_by_its_text() -> None:
    assert is_test_file("src/lib.rs", "#[cfg(test)]\nmod tests {}")


@pytest.mark.parametrize("line", ["describe('add', () => {", "test.only('adds', () => {", "suite(`add`, function () {"])
def test_a_script_in_the_folder_of_mocha_and_node_is_a_test_file_where_it_begins_a_test(line: str) -> None:
    assert is_test_file("test/unit/add.mjs", f"import assert from 'assert';\n\n{line}\n")
    assert not is_test_file("src/add.mjs", line)
    assert not is_test_file("test/helpers.mjs", "export function behaves() {\n  it('adds', () => {});\n}\n")


@pytest.mark.parametrize("path", ["tests/helpers.py", "conftest.py", "spec/fixtures/a.json"])
def test_what_serves_tests_is_no_source(path: str) -> None:
    assert is_test_support(path)
    assert not is_source(path)


@pytest.mark.parametrize(
    ("statement", "kind", "subject", "expected"),
    [
        ("assert add(1, 2) == 3", Kind.EQUAL, "add(1,2)", "3"),
        ("assert 3 == add(1, 2)", Kind.EQUAL, "add(1,2)", "3"),
        ("self.assertEqual(3, add(1, 2))", Kind.EQUAL, "add(1,2)", "3"),
        ("assert a != 3", Kind.NOT_EQUAL, "a", "3"),
        ("assert not a == 3", Kind.NOT_EQUAL, "a", "3"),
        ("assert a is None", Kind.IDENTITY, "a", "None"),
        ("assert a is not None", Kind.PRESENT, "a", "None"),
        ("self.assertIsNotNone(a)", Kind.PRESENT, "a", "None"),
        ("assert a", Kind.TRUTHY, "a", ""),
        ("assert a == True", Kind.TRUTHY, "a", ""),
        ("assert a == []", Kind.FALSY, "a", ""),
        ("assert not a", Kind.FALSY, "a", ""),
        ("assert len(a) == 0", Kind.FALSY, "a", ""),
        ("assert len(a) > 0", Kind.TRUTHY, "a", ""),
        ("assert a >= 3", Kind.ORDER, "a", ">=3"),
        ("assert 'x' in a", Kind.CONTAINS, "a", '"x"'),
        ("assert a in (1, 2)", Kind.CONTAINS, "a", "(1,2)"),
        ("self.assertIn('x', a)", Kind.CONTAINS, "a", '"x"'),
        ("assert isinstance(a, int)", Kind.TYPE, "a", "int"),
        ("assert a == 1 or a == 2", Kind.EITHER, "a==1ora==2", ""),
        ("assert a == pytest.approx(3)", Kind.APPROX, "a", "3"),
        ("assert abs(a - b) < 0.1", Kind.APPROX, "a", "b"),
        ("assert True", Kind.TRIVIAL, "True", ""),
        ("assert a == a", Kind.TRIVIAL, "a==a", ""),
        ("assert a == 3 or True", Kind.TRIVIAL, "a==3orTrue", ""),
        ("assert (a == 3, 'message')", Kind.TRIVIAL, '(a==3,"message")', ""),
        ("assert len(a) >= 0", Kind.TRIVIAL, "len(a)>=0", ""),
        ("self.assertTrue(a == 3)", Kind.EQUAL, "a", "3"),
        ("self.assertTrue(True)", Kind.TRIVIAL, "True", ""),
        ("with pytest.raises(ValueError): f()", Kind.RAISES, "", "ValueError"),
        ("with pytest.raises(Exception): f()", Kind.RAISES_BROAD, "", "Exception"),
        ("self.assertRaises(KeyError, f)", Kind.RAISES, "", "KeyError"),
        ("mock.assert_called_with(1, b=2)", Kind.EQUAL, "mock", "1,2"),
        ("check_sum(a, 3)", Kind.CALL, "check_sum(a,3)", ""),
    ],
)
def test_a_python_assertion_has_its_kind_and_its_sides(statement: str, kind: Kind, subject: str, expected: str) -> None:
    (found,) = python(statement).assertions
    assert (found.kind, found.subject, found.expected) == (kind, subject, expected)


@pytest.mark.parametrize(
    ("statement", "tolerance"),
    [
        ("assert a == pytest.approx(3, abs=0.5)", 0.5),
        ("self.assertAlmostEqual(a, 3, delta=0.25)", 0.25),
        ("self.assertAlmostEqual(a, 3, places=2)", 0.01),
        ("assert abs(a - 3) <= 2", 2),
        ("assert math.isclose(a, 3, rel_tol=0.1)", 0.1),
    ],
)
def test_a_tolerance_is_read_as_a_number(statement: str, tolerance: float) -> None:
    assert python(statement).assertions[0].tolerance == tolerance


@pytest.mark.parametrize(
    ("lines", "guard"),
    [
        (["assert a == 1"], Guard.PLAIN),
        (["if a:", "    assert a == 1"], Guard.CONDITIONAL),
        (["if b: return", "assert a == 1"], Guard.CONDITIONAL),
        (["try:", "    assert a == 1", "except AssertionError:", "    pass"], Guard.SWALLOWED),
        (["try:", "    assert a == 1", "except Exception:", "    raise"], Guard.PLAIN),
        (["try:", "    assert a == 1", "except ValueError:", "    pass"], Guard.PLAIN),
        (["with contextlib.suppress(Exception):", "    assert a == 1"], Guard.SWALLOWED),
        (["if False:", "    assert a == 1"], Guard.UNREACHABLE),
        (["return", "assert a == 1"], Guard.UNREACHABLE),
        (["for a in []:", "    assert a == 1"], Guard.UNREACHABLE),
        (["for a in values:", "    assert a == 1"], Guard.PLAIN),
        (["def never():", "    assert a == 1"], Guard.UNREACHABLE),
        (["def now():", "    assert a == 1", "now()"], Guard.PLAIN),
    ],
)
def test_what_stands_between_a_test_and_its_assertion_is_seen(lines: list[str], guard: Guard) -> None:
    assert python(*lines).assertions[-1].guard is guard


def test_a_conjunction_makes_two_assertions() -> None:
    assert [item.expected for item in python("assert a == 1 and b == 2").assertions] == ["1", "2"]


def test_a_parametrised_test_is_one_case_with_its_rows() -> None:
    text = "@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_a(a, b):\n    assert f(a) == b\n"
    assert [item.kind for item in only("test_a.py", text).assertions] == [Kind.ROW, Kind.ROW, Kind.EQUAL]


@pytest.mark.parametrize(
    "text",
    [
        "def _test_a():\n    assert a\n",
        "if False:\n    def test_a():\n        assert a\n",
        "def outer():\n    def test_a():\n        assert a\n",
        "def test_a():\n    assert a\n__test__ = False\n",
        "def test_a():\n    assert a\ndel test_a\n",
        "def test_a():\n    assert a\ntest_a.__test__ = False\n",
        "class Checks:\n    def test_a(self):\n        assert a\n",
        "class TestA:\n    __test__ = False\n    def test_a(self):\n        assert a\n",
        "@pytest.fixture\ndef test_a():\n    assert a\n",
    ],
)
def test_a_function_that_no_runner_collects_is_no_case(text: str) -> None:
    reading = reading_of("test_a.py", text)
    assert not reading.cases
    assert reading.others


def test_a_class_that_is_put_out_from_outside_leaves_the_rest_of_the_file_alone() -> None:
    text = "class TestBase:\n    def test_a(self):\n        assert a\nTestBase.__test__ = False\ndef test_b():\n    assert b\n"
    read = reading_of("test_a.py", text)
    assert ([case.name for case in read.cases], [case.name for case in read.others]) == (["test_b"], ["TestBase.test_a"])


def test_a_mixin_is_collected_through_the_class_that_inherits_it() -> None:
    text = "class Common:\n    def test_a(self):\n        assert a\nclass TestReal(Common):\n    pass\n"
    assert [case.name for case in cases_in("test_a.py", text)] == ["Common.test_a"]


def test_of_two_python_tests_of_one_name_the_later_counts() -> None:
    assert only("test_a.py", "def test_a():\n    assert a == 1\n\ndef test_a():\n    pass\n").assertions == ()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("@pytest.mark.skip", SkipKind.ALWAYS),
        ("@pytest.mark.xfail(reason='x')", SkipKind.ALWAYS),
        ("@pytest.mark.skipif(True, reason='x')", SkipKind.ALWAYS),
        ("@pytest.mark.skipif('True')", SkipKind.ALWAYS),
        ("@pytest.mark.skipif(sys.version_info >= (3, 0), reason='x')", SkipKind.ALWAYS),
        ("@pytest.mark.skipif(sys.version_info < (3, 12), reason='x')", SkipKind.CONDITION),
        ("@pytest.mark.skipif(sys.platform == 'win32', reason='x')", SkipKind.CONDITION),
        ("@unittest.skipUnless(False, 'x')", SkipKind.ALWAYS),
        ("@unittest.skipUnless(HAS_GPU, 'x')", SkipKind.CONDITION),
        ("@unittest.expectedFailure", SkipKind.ALWAYS),
    ],
)
def test_a_mark_skips_always_or_on_a_condition(line: str, kind: SkipKind) -> None:
    (skip,) = reading_of("test_a.py", f"{line}\ndef test_a():\n    assert a\n").skips
    assert (skip.kind, skip.holder) == (kind, "test_a")


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["pytest.skip('later')"], SkipKind.ALWAYS),
        (["self.skipTest('later')"], SkipKind.ALWAYS),
        (["raise unittest.SkipTest('later')"], SkipKind.ALWAYS),
        (["if True:", "    pytest.skip('later')"], SkipKind.ALWAYS),
        (["if sys.platform == 'win32':", "    pytest.skip('no')"], SkipKind.CONDITION),
        (["np = pytest.importorskip('numpy')"], SkipKind.CONDITION),
    ],
)
def test_a_statement_skips_always_or_on_a_condition(lines: list[str], kind: SkipKind) -> None:
    text = "def test_a(self):\n" + "".join(f"    {line}\n" for line in lines)
    assert [skip.kind for skip in reading_of("test_a.py", text).skips] == [kind]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("expect(add(1, 2)).toBe(3);", Kind.EQUAL),
        ("expect(a).not.toBe(3);", Kind.NOT_EQUAL),
        ("expect(a).toBeTruthy();", Kind.TRUTHY),
        ("expect(a).toBeDefined();", Kind.PRESENT),
        ("expect(a).toBeNull();", Kind.IDENTITY),
        ("expect(a).toContain('x');", Kind.CONTAINS),
        ("expect(a).toBeCloseTo(3.1, 5);", Kind.APPROX),
        ("expect(() => f()).toThrow(TypeError);", Kind.RAISES),
        ("expect(() => f()).toThrow();", Kind.RAISES_BROAD),
        ("expect(true).toBe(true);", Kind.TRIVIAL),
        ("expect(a).to.deep.equal(3);", Kind.EQUAL),
        ("assert.strictEqual(a, 3);", Kind.EQUAL),
        ("await expect(f()).resolves.toEqual({a: 1});", Kind.EQUAL),
    ],
)
def test_a_javascript_assertion_has_its_kind(statement: str, kind: Kind) -> None:
    assert [item.kind for item in typescript(statement).assertions] == [kind]


def test_what_stands_in_strings_and_comments_is_no_test_and_no_assertion() -> None:
    case = typescript("// expect(a).toBe(1);", "log(\"it('no', () => { expect(a).toBe(1) })\");", "/* it('x', f) */")
    assert case.assertions == ()


@pytest.mark.parametrize(
    ("condition", "kind", "expected"),
    [
        ("got != 3", Kind.EQUAL, "3"),
        ("err != nil", Kind.IDENTITY, "None"),
        ('!strings.Contains(got, "x")', Kind.CONTAINS, '"x"'),
        ("got == 3", Kind.NOT_EQUAL, "3"),
        ("!ok", Kind.TRUTHY, ""),
        ("!reflect.DeepEqual(got, want)", Kind.EQUAL, "want"),
    ],
)
def test_a_go_test_asserts_the_opposite_of_what_it_complains_of(condition: str, kind: Kind, expected: str) -> None:
    text = f"func TestA(t *testing.T) {{\n\tif {condition} {{\n\t\tt.Fatal(got)\n\t}}\n}}\n"
    (found,) = only("a_test.go", text).assertions
    assert (found.kind, found.expected, found.guard) == (kind, expected, Guard.PLAIN)


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("tests/a.rs", "#[test]\nfn adds() { assert_eq!(add(1), 1); }\nfn helper() {}\n", ["adds"]),
        ("ATest.java", "class ATest {\n  @Test\n  void adds() { assertEquals(3, add()); }\n  void helper() {}\n}", ["adds"]),
        ("ATest.kt", "class ATest {\n  @Test\n  fun `adds two`() { assertEquals(3, add()) }\n}", ["adds two"]),
        ("a_spec.rb", "describe 'x' do\n  it 'adds' do\n    expect(add).to eq(3)\n  end\nend\n", ["adds"]),
        ("a_test.rb", "class T\n  def test_adds\n    assert_equal 3, add\n  end\n\n  def helper\n  end\nend\n", ["test_adds"]),
        ("ATest.php", "<?php\nclass ATest {\n  function testAdds() { $this->assertSame(3, add()); }\n}", ["testAdds"]),
        ("a_test.go", "func TestAdds(t *testing.T) { assert.Equal(t, 3, add()) }\nfunc Testify() {}", ["TestAdds"]),
    ],
)
def test_other_languages_are_read_by_their_lines(path: str, text: str, names: list[str]) -> None:
    cases = cases_in(path, text)
    assert [case.name for case in cases] == names
    assert [item.kind for case in cases for item in case.assertions] == [Kind.EQUAL]


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.test.js", "it.skip('a', () => {});", SkipKind.ALWAYS),
        ("a.test.js", "xit('a', () => {});", SkipKind.ALWAYS),
        ("a.test.js", "describe.skip('a', () => {});", SkipKind.ALWAYS),
        ("a.test.js", "it.only('a', () => {});", SkipKind.FOCUS),
        ("a.test.js", "fdescribe('a', () => {});", SkipKind.FOCUS),
        ("a_test.go", 'func TestA(t *testing.T) {\n\tt.Skip("x")\n}', SkipKind.ALWAYS),
        ("a_test.go", 'func TestA(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip("x")\n\t}\n}', SkipKind.CONDITION),
        ("tests/a.rs", "#[test]\n#[ignore]\nfn a() {}", SkipKind.ALWAYS),
        ("ATest.java", '@Disabled("x")\n@Test\nvoid a() {}', SkipKind.ALWAYS),
        ("ATest.java", "@EnabledOnOs(OS.LINUX)\n@Test\nvoid a() {}", SkipKind.CONDITION),
        ("a_spec.rb", "xit 'a' do\nend\n", SkipKind.ALWAYS),
        ("a_spec.rb", "it 'a' do\n  skip 'x' if windows?\nend\n", SkipKind.CONDITION),
        ("ATest.php", "function testA() { $this->markTestSkipped('x'); }", SkipKind.ALWAYS),
    ],
)
def test_a_skip_is_found_in_every_language(path: str, text: str, kind: SkipKind) -> None:
    assert [skip.kind for skip in reading_of(path, text).skips] == [kind]


def test_python_that_does_not_parse_is_read_by_its_lines() -> None:
    case = only("test_a.py", "def broken(:\n\ndef test_a():\n    assert add(1) == 3\n")
    assert (case.name, [item.kind for item in case.assertions]) == ("test_a", [Kind.EQUAL])


PATHS = ("test_a.py", "a.test.ts", "a_test.go", "tests/a.rs", "ATest.java", "a_spec.rb", "ATest.php")
NOISE = [
    "def test_a():\n",
    "  assert ",
    "it('",
    "expect(",
    ")",
    "{",
    "}",
    "'",
    '"',
    "`",
    "#",
    "//",
    "/*",
    "\n",
    "fn a(",
    "#[test]",
    "not ",
    "if ",
]


@pytest.mark.parametrize("path", PATHS)
@given(st.lists(st.sampled_from(NOISE) | st.text(max_size=5), max_size=40).map("".join))
def test_no_text_is_too_broken_to_be_read(path: str, text: str) -> None:
    reading = reading_of(path, text)
    assert all(1 <= case.line <= text.count("\n") + text.count("\r") + 1 for case in (*reading.cases, *reading.others))


@pytest.mark.timeout(60)  # each takes a part of a second; looked at with everything before it, hours
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "piece", ["{", "(", "'", "it('a', () => {\n", "expect(", "not ", "fn a(\n", "/*", "assert a\n", '"""', "a.b."]
)
def test_noise_is_read_in_linear_time(path: str, piece: str) -> None:
    text = "def test_a():\n" + piece * (50_000 // len(piece))
    assert len(reading_of(path, text).cases) <= text.count("\n") + 1


@pytest.mark.parametrize(("negations", "kind"), [(0, Kind.TRUTHY), (1, Kind.FALSY), (2, Kind.TRUTHY), (1501, Kind.FALSY)])
def test_of_many_negations_every_two_say_nothing(negations: int, kind: Kind) -> None:
    case = only("tests/a.rs", f"#[test]\nfn adds() {{\n    assert!({'!' * negations}done);\n}}\n")
    assert [item.kind for item in case.assertions] == [kind]


@pytest.mark.parametrize("setting", ["__test__", "pytestmark"])
@pytest.mark.parametrize("value", ["not " * 1500 + "x", "+".join("x" * 3000), "x" + ".a" * 3000])
def test_a_setting_of_a_deep_tree_hides_no_test(setting: str, value: str) -> None:
    assert only("test_a.py", f"{setting} = {value}\n\n\ndef test_a():\n    assert add(1) == 3\n").name == "test_a"


@pytest.mark.parametrize("text", ["assert '\\d'", "x = 1 is 1", "def f(): return 1if 1else 2"])
def test_what_the_parser_warns_of_is_no_error(text: str) -> None:
    assert reading_of("test_a.py", text).cases == ()
