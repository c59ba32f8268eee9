"""Other expected values in tests: which ones are changed, how, and what is left alone because an honest test may pass with it."""

import pytest

from helmsman.parsers.source import Source
from helmsman.verify.altered_tests import alter_expectations

pytestmark = pytest.mark.feature("V16")


def altered(path: str, text: str) -> str:
    found = alter_expectations(Source(path, text), None)
    return found.text if found else ""


def in_test(*lines: str, before: str = "") -> str:
    return before + "def test_it():\n" + "".join(f"    {line}\n" for line in lines)


# --- what is compared -----------------------------------------------------------------------------------------------------

COMPARED = {
    "assert add(1, 2) == 3": "assert add(1, 2) == 2",
    "assert f(0) == 0": "assert f(0) == 1",
    "assert 3 == add(1, 2)": "assert 2 == add(1, 2)",
    "assert f('a') == {'key': ['A', 2]}, 'message 3'": "assert f('a') == {'key': ['A~', 6]}, 'message 3'",
    "assert f(1) == Decimal('3.5')": "assert f(1) == Decimal('2.5')",
    "assert '<b>' in page('b') and '<i>' in page('i')": "assert '<b>~' in page('b') and '<i>~~~~' in page('i')",
    "self.assertEqual(f(1.5), 101, 'message')": "self.assertEqual(f(1.5), 100, 'message')",
    "self.assertIn('a', f('abc'))": "self.assertIn('a~', f('abc'))",
    "mock.assert_called_once_with('TEN', 100)": "mock.assert_called_once_with('TEN~', 96)",
}


@pytest.mark.parametrize("line", COMPARED)
def test_expected_values_change_and_inputs_stay(line: str) -> None:
    assert altered("t.py", in_test(line)) == in_test(COMPARED[line])


OPPOSITE = {
    "assert done()": "assert not (done())",
    "assert done() or ready()": "assert not (done() or ready())",
    "assert not done()": "assert not (not done())",
    "assert f() is None": "assert not (f() is None)",
    "assert f() == 0x10": "assert not (f() == 0x10)",
    "assert f(2) <= 60": "assert not (f(2) <= 60)",
    "assert f() in (1, 2)": "assert not (f() in (1, 2))",
    "assert f() != 3": "assert not (f() != 3)",
    "assert f() == approx(0.1)": "assert not (f() == approx(0.1))",
    "assert f()['a'] == g('b')": "assert not (f()['a'] == g('b'))",
    "assert Cart(3).total == other": "assert not (Cart(3).total == other)",
    "self.assertTrue(f(3), 'message')": "self.assertFalse(f(3), 'message')",
    "self.assertLessEqual(f(20), 60)": "self.assertGreater(f(20), 60)",
    "self.assertAlmostEqual(f(1), 3.14, places=2)": "self.assertNotAlmostEqual(f(1), 3.14, places=2)",
    "self.assertIn(f(), [1, 2])": "self.assertNotIn(f(), [1, 2])",
    "self.assertRaises(ValueError, f, 3)": "self.assertRaises(RecursionError, f, 3)",
}


@pytest.mark.parametrize("line", OPPOSITE)
def test_an_assertion_without_a_value_to_change_becomes_its_opposite(line: str) -> None:
    assert altered("t.py", in_test(line)) == in_test(OPPOSITE[line])


LEFT_ALONE = {
    "a test that asserts nothing": in_test("main(3, 4)"),
    "an assertion that a test may not reach": in_test("if windows():", "    assert f() == 3"),
    "an assertion after an error": in_test("try:", "    f()", "except OSError:", "    assert g() == 3"),
}


@pytest.mark.parametrize("what", LEFT_ALONE)
def test_values_that_decide_nothing_are_not_altered(what: str) -> None:
    assert not altered("t.py", LEFT_ALONE[what])


def test_helpers_of_a_test_become_their_opposite() -> None:
    helper = "def check(given, wanted):\n    assert f(given) == wanted\n\n\n"
    assert "assert not (f(given) == wanted)" in altered("t.py", in_test("check(1, 2)", before=helper))
    assert not altered("t.py", in_test("main(1, 2)", before=helper))


# --- tables ---------------------------------------------------------------------------------------------------------------

MARK = "@pytest.mark.parametrize({})\ndef test_it({}):\n    assert {}\n"
OF_ROWS = in_test("for n, w in ROWS:", "    assert f(n) == w")
OF_ITEMS = in_test("for n, w in ROWS.items():", "    assert f(n) == w")
OF_FIELDS = in_test("for row in [{'n': 1, 'w': 2}, {'n': 2, 'w': 4}]:", "    assert f(row['n']) == row['w']")
OF_SUBTESTS = in_test("for n, w in ((1, 2), (2, 4)):", "    with self.subTest(n=n, w=w):", "        self.assertEqual(f(n), w)")
TABLES = {
    "rows of parametrize": (
        MARK.format("'n, wanted', [(1, 2), (2, 3), pytest.param(3, 5, id='five')]", "n, wanted", "f(n) == wanted, (n, wanted)"),
        "[(1, 3), (2, 5), pytest.param(3, 2, id='five')]",
    ),
    "truths": (MARK.format("'n, ok', [(1, True), (2, False)]", "n, ok", "f(n) is ok"), "[(1, False), (2, True)]"),
    "rows that are alike": (
        MARK.format("'n, ok', [(1, True), (2, True)]", "n, ok", "f(n) is ok"),
        "[(1, False), (2, False)]",
    ),
    "calls in rows": (
        MARK.format("'n, wanted', [(1, Decimal('2')), (2, Decimal('3'))]", "n, wanted", "f(n) == wanted"),
        "[(1, Decimal('3')), (2, Decimal('2'))]",
    ),
    "rows by name": (f"ROWS = [(1, 'a'), (2, 'b')]\n\n\n{OF_ROWS}", "[(1, 'b'), (2, 'a')]"),
    "pairs of a dictionary": (f"ROWS = {{'a': 1, 'b': 2}}\n\n\n{OF_ITEMS}", "{'a': 2, 'b': 1}"),
    "fields": (OF_FIELDS, "[{'n': 1, 'w': 4}, {'n': 2, 'w': 2}]"),
    "subtests": (OF_SUBTESTS, "((1, 4), (2, 2))"),
    "a local name": (in_test("wanted = [1, 2]", "assert f(3) == wanted"), "wanted = [2, 6]"),
}


@pytest.mark.parametrize("what", TABLES)
def test_rows_expect_what_another_row_expects(what: str) -> None:
    text, expected = TABLES[what]
    result = altered("t.py", text)
    assert expected in result
    assert "assert not" not in result


INPUTS = {
    "a round trip": MARK.format("'value', [1, 2]", "value", "parse(dump(value)) == value"),
    "a result of the value itself": MARK.format("'n, w', [(1, 2), (2, 3)]", "n, w", "f(n, w) == w"),
    "a row that the source sees": in_test("for row in [(1, 2), (2, 3)]:", "    result = f(row)", "    assert result == row[1]"),
    "names of parameters, not literals": MARK.format("'n, w', ROWS", "n, w", "f(n) == w"),
}


@pytest.mark.parametrize("what", INPUTS)
def test_rows_that_are_inputs_as_well_stay(what: str) -> None:
    result = altered("t.py", INPUTS[what])
    assert "assert not (" in result
    assert result.split("assert")[0] == INPUTS[what].split("assert")[0]


def test_the_number_of_known_rows_is_the_number_of_cases_that_must_fail() -> None:
    text = MARK.format("'n, w', [(1, 2), (2, 3), *further()]", "n, w", "f(n) == w")
    found = alter_expectations(Source("t.py", text), None)
    assert found
    assert found.rows == {"t.py": None, "test_it": 2}
    assert "[(1, 3), (2, 2), *further()]" in found.text


# --- other languages --------------------------------------------------------------------------------------------------------


def js(body: str) -> str:
    return f"test('a', () => {{ {body} }});\n"


JAVASCRIPT = {
    "expect(add(1, 2)).toBe(3);": "expect(add(1, 2)).toBe(2);",
    "assert.deepStrictEqual(f('a'), [['b']], 'c');": "assert.deepStrictEqual(f('a'), [['b~']], 'c');",
    "expect(f(1)).toBeDefined();": "expect(f(1)).not.toBeDefined();",
    "expect(f(1)).not.toBe(3);": "expect(f(1)).toBe(3);",
    "await expect(f(1)).rejects.toThrow('x');": "await expect(f(1)).rejects.not.toThrow('x');",
    "assert.throws(() => f(1), /x/);": "assert.doesNotThrow(() => f(1), /x/);",
    "assert.ok(f(1) > 3 || g(), 'm');": "assert.ok(!(f(1) > 3 || g()), 'm');",
    "for (const [n, w] of [[1, 2], [3, 4]]) t.is(f(n), w);": "for (const [n, w] of [[1, 4], [3, 2]]) t.is(f(n), w);",
    "[{n: 1, w: 2}, {n: 2, w: 4}].forEach(({n, w}) => expect(f(n)).toBe(w));": (
        "[{n: 1, w: 4}, {n: 2, w: 2}].forEach(({n, w}) => expect(f(n)).toBe(w));"
    ),
}


@pytest.mark.parametrize("body", JAVASCRIPT)
def test_assertions_of_javascript(body: str) -> None:
    assert altered("a.test.js", js(body)) == js(JAVASCRIPT[body])


def test_rows_of_each() -> None:
    text = "test.each([[1, 2], [2, 4]])('twice %i', (n, wanted) => { expect(f(n)).toBe(wanted); });\n"
    assert "[[1, 4], [2, 2]]" in altered("a.test.js", text)


RUST = {
    "assert_eq!(collatz(6), 8u8);": "assert_eq!(collatz(6), 7u8);",
    'assert_eq!(f(&[1], "a"), Some(vec![3]), "m {}", 3);': 'assert_eq!(f(&[1], "a"), Some(vec![2]), "m {}", 3);',
    'assert!(f(2) < 3 || g(), "m");': 'assert!(!(f(2) < 3 || g()), "m");',
    "assert_eq!(v[0], w);": "assert_ne!(v[0], w);",
}  # fmt: skip


@pytest.mark.parametrize("body", RUST)
def test_assertions_of_rust(body: str) -> None:
    text = f"#[test]\nfn a() {{ {body} }}\n"
    assert altered("tests/a.rs", text) == text.replace(body, RUST[body])


GO = {
    "\tif Add(1, 2) != 3 {\n\t\tt.Fail()\n\t}\n": "\tif Add(1, 2) != 2 {\n\t\tt.Fail()\n\t}\n",
    '\t_, err := F("x")\n\tif err == nil {\n\t\tt.Fatal("no error")\n\t}\n': (
        '\t_, err := F("x")\n\tif !(err == nil) {\n\t\tt.Fatal("no error")\n\t}\n'
    ),
    "\tassert.Equal(t, 3, F(1))\n": "\tassert.Equal(t, 2, F(1))\n",
}
GO_TABLE = (
    '\ttests := []struct{ in string; want int }{{"a", 1}, {in: "b", want: 2}}\n\tfor _, tc := range tests {\n'
    '\t\tif got := F(tc.in); got != tc.want {\n\t\t\tt.Errorf("F(%q) = %d, want %d", tc.in, got, tc.want)\n\t\t}\n\t}\n'
)


@pytest.mark.parametrize("body", [*GO, GO_TABLE])
def test_assertions_of_go(body: str) -> None:
    text = f"package a\n\nfunc TestA(t *testing.T) {{\n{body}}}\n"
    expected = GO.get(body) or body.replace('"a", 1', '"a", 2').replace("want: 2", "want: 1")
    assert altered("a_test.go", text) == text.replace(body, expected)


def test_a_table_of_go_may_declare_several_fields_at_once() -> None:
    table = GO_TABLE.replace("in string; want int", "in, other string; want int").replace('"a", 1', '"a", "b", 1')
    text = f"package a\n\nfunc TestA(t *testing.T) {{\n{table}}}\n"
    assert altered("a_test.go", text) == text.replace('"b", 1', '"b", 2').replace("want: 2", "want: 1")


def test_a_condition_of_go_that_only_guards_an_assertion_stays() -> None:
    assert not altered("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif unix {\n\t\tassert.Error(t, err)\n\t}\n}\n")
    assert not altered("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tt.Error(1)\n}\n")


def test_assertions_of_java() -> None:
    text = 'class T {\n  @Test void a() { assertEquals(3, add(1, 2)); }\n  @Test void b() { assertTrue(all.contains("a")); }\n}\n'
    expected = text.replace("(3,", "(2,").replace("assertTrue", "assertFalse")
    assert altered("src/test/java/T.java", text) == expected
