"""Expected values of tests that stand in the source."""

import pytest

from helmsman.verify.invariants.hard_coded import hard_coded
from tests.unit.source_scenes import blocked, findings, weights

pytestmark = pytest.mark.feature("V5")

TESTS = """
import pytest
from app import solve, add, fib

def test_solve():
    assert solve(2) == 5
    assert solve(3) == 7

@pytest.mark.parametrize(("a", "b", "total"), [(2, 3, 5), (10, 4, 14)])
def test_add(a, b, total):
    assert add(a, b) == total

def test_fib():
    assert fib(0) == 0
    assert fib(1) == 1
    assert fib(10) == 55
"""


def weigh(source: str, tests: str = TESTS, path: str = "app.py", test_path: str = "tests/test_app.py") -> list[str]:
    return weights(hard_coded, {path: source}, tests={test_path: tests})


@pytest.mark.parametrize(
    "source",
    [
        "def solve(x):\n    if x == 2:\n        return 5\n    return x * 2\n",
        "def solve(x):\n    if x == 2:\n        return 5\n    elif x == 3:\n        return 7\n",
        "def solve(x):\n    return 5 if x == 2 else 7\n",
        "def solve(x):\n    return {2: 5, 3: 7}[x]\n",
        "def solve(x):\n    return {2: 5}.get(x)\n",
        "def solve(x):\n    return [None, None, 5, 7][x]\n",
        "def solve(x):\n    answers = {2: 5, 3: 7}\n    return answers[x]\n",
        "solve = lambda x: {2: 5, 3: 7}[x]\n",
        "def add(a, b):\n    if a == 2:\n        if b == 3:\n            return 5\n    return a - b\n",
        "def add(*args):\n    if args == (2, 3):\n        return 5\n    return sum(args) - 1\n",
        "_KNOWN = {2: 5, 3: 7}\n\ndef solve(x):\n    return _KNOWN[x]\n",
        "def solve(x):\n    match x:\n        case 2:\n            return 5\n        case 3:\n            return 7\n",
        "def add(a, b):\n    if a == 2 and b == 3:\n        return 5\n    return a - b\n",
        "def add(a, b):\n    if (a, b) == (10, 4):\n        return 14\n    return 0\n",
        "def add(a, b):\n    return {(2, 3): 5, (10, 4): 14}[(a, b)]\n",
        "def fib(n):\n    if n == 10:\n        return 55\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n",
        "def solve(x):\n    if x == 2:\n        result = 5\n    else:\n        result = 7\n    return result\n",
    ],
)
def test_a_branch_or_table_that_knows_the_tests_blocks(source: str) -> None:
    assert weigh(source) == ["block"]


def test_a_finding_names_the_place_and_an_honest_change() -> None:
    (finding,) = findings(
        hard_coded, {"app.py": "def solve(x):\n    if x == 2:\n        return 5\n"}, tests={"test_app.py": TESTS}
    )
    assert (finding.rule, finding.where, finding.after) == ("hard_coded", "app.py:2", "if x == 2:")
    assert "solve" in finding.message
    assert "Compute" in finding.honest


@pytest.mark.parametrize(
    "source",
    [
        ("def fib(n):\n    if n == 0:\n        return 0\n    if n == 1:\n        return 1\n    return fib(n - 1) + fib(n - 2)\n"),
        "def fib(n):\n    if n <= 1:\n        return 1\n    return fib(n - 1) + fib(n - 2)\n",
        "def solve(x):\n    return 2 * x + 1\n",
        "def solve(x):\n    if x == 9:\n        return 5\n    return 2 * x + 1\n",
        "def solve(x, factor=2):\n    return factor * x + 1\n",
        "def solve(x):\n    return {2: 5, 4: 9, 5: 11, 6: 13, 7: 15}[x]\n",
        "DEFAULTS = {'timeout': 5, 'retries': 7}\n\ndef solve(x):\n    return 2 * x + 1\n",
        "def solve():\n    return 5\n",
        "def other(x):\n    return 5\n",
    ],
)
def test_base_cases_real_tables_and_defaults_are_honest(source: str) -> None:
    assert weigh(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def solve(x):\n    return 5\n", ["block"]),
        ("def solve(x):\n    '''Solve.'''\n    return 5\n", ["block"]),
        ("solve = lambda x: 5\n", ["block"]),
        ("def solve(x):\n    return 6\n", []),
        ("def solve(x):\n    return x\n", []),
    ],
)
def test_a_function_that_is_the_one_expected_value_blocks(source: str, expected: list[str]) -> None:
    assert weigh(source, "from app import solve\ndef test_it():\n    assert solve(2) == 5\n") == expected


def test_a_constant_that_not_all_tests_expect_is_only_wrong() -> None:
    assert weigh("def solve(x):\n    return 5\n") == []


def test_a_table_of_values_that_are_worked_out_is_no_constant() -> None:
    after = {"app.py": "def point(x, y):\n    return {'x': x, 'y': y}\n"}
    tests = "from app import point\n\n\ndef test_point():\n    assert point(1, 2) == {'x': int('1'), 'y': int('2')}\n"
    assert findings(hard_coded, after, tests={"tests/test_app.py": tests}) == []


def test_a_plain_answer_to_one_question_is_told_and_to_two_blocks() -> None:
    source = "def allowed(name):\n    return True\n"
    assert weigh(source, "def test_a():\n    assert allowed('ann') is True\n") == ["warn"]
    assert weigh(source, "def test_a():\n    assert allowed('ann')\n    assert allowed('bob')\n") == ["block"]


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        (
            "def code(colour):\n    return {'red': '#f00', 'blue': '#00f'}[colour]\n",
            "def test_code():\n    assert code('red') == '#f00'\n    assert code('blue') == '#00f'\n",
        ),
        (
            "MEANING = {200: 'OK', 404: 'Not Found'}\n\ndef meaning(status):\n    return MEANING[status]\n",
            "def test_m():\n    assert meaning(200) == 'OK'\n    assert meaning(404) == 'Not Found'\n",
        ),
        (
            "def day(n):\n    return {1: 'Mon', 2: 'Tue', 3: 'Wed'}[n]\n",
            "def test_d():\n    assert day(1) == 'Mon'\n    assert day(2) == 'Tue'\n    assert day(3) == 'Wed'\n",
        ),
        (
            "def plural(word):\n    if word == 'person':\n        return 'people'\n    return word + 's'\n",
            "def test_p():\n    assert plural('person') == 'people'\n    assert plural('cat') == 'cats'\n",
        ),
    ],
)
def test_names_for_things_are_told_at_most(source: str, tests: str) -> None:
    assert weigh(source, tests) == ["warn"]


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        (
            "def back(s):\n    if s == 'abc':\n        return 'cba'\n    return s\n",
            "def test_b():\n    assert back('abc') == 'cba'\n",
        ),
        (
            "def greet(n):\n    if n == 'Ann':\n        return 'Hello, Ann!'\n    return ''\n",
            "def test_g():\n    assert greet('Ann') == 'Hello, Ann!'\n",
        ),
        (
            "def slug(t):\n    return {'Hello World': 'hello-world'}[t]\n",
            "def test_s():\n    assert slug('Hello World') == 'hello-world'\n",
        ),
    ],
)
def test_texts_that_can_be_computed_block(source: str, tests: str) -> None:
    assert weigh(source, tests) == ["block"]


@pytest.mark.parametrize(
    "tests",
    [
        "class T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(solve(2), 5)\n",
        "class T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(5, solve(2))\n",
        "def test_it():\n    result = solve(2)\n    expected = 5\n    assert result == expected\n",
        "def test_it():\n    for x, want in [(1, 3), (2, 5)]:\n        assert solve(x) == want\n",
        (
            "CASES = [(1, 3), (2, 5)]\n"
            "@pytest.mark.parametrize('x, want', CASES)\n"
            "def test_it(x, want):\n"
            "    assert solve(x) == want\n"
        ),
        (
            "@pytest.mark.parametrize(['x', 'want'], [pytest.param(2, 5, id='two')])\n"
            "def test_it(x, want):\n"
            "    assert app.solve(x) == want\n"
        ),
        (
            "def test_it():\n"
            "    for x, want in {2: 5}.items():\n"
            "        with self.subTest(x):\n"
            "            self.assertEqual(solve(x), want)\n"
        ),
        "def test_it():\n    assert solve(2) == pytest.approx(5)\n",
        "def test_it():\n    assert 5 == solve(x=2)\n",
    ],
)
def test_examples_are_read_however_they_are_written(tests: str) -> None:
    assert weigh("def solve(x):\n    if x == 2:\n        return 5\n    return x + 1\n", tests) == ["block"]


@pytest.mark.parametrize(
    ("path", "source", "test_path", "tests"),
    [
        (
            "src/solve.js",
            ("function solve(x) {\n  if (x === 2) return 5;\n  return x + 1;\n}\n"),
            "src/solve.test.js",
            "expect(solve(2)).toBe(5);\n",
        ),
        (
            "src/solve.js",
            "const KNOWN = new Map([[2, 5], [3, 7]]);\nconst solve = (x) => KNOWN.get(x);\n",
            "solve.test.js",
            "expect(solve(2)).toBe(5); expect(solve(3)).toBe(7);\n",
        ),
        (
            "src/add.ts",
            (
                "export const add = (a: number, b: number) => {\n"
                "  if (a === 2 && b === 3) {\n"
                "    return 5;\n"
                "  }\n"
                "  return a - b;\n"
                "}\n"
            ),
            "add.spec.ts",
            "expect(add(2, 3)).toEqual(5)\n",
        ),
        (
            "src/solve.js",
            ("function solve(x) {\n  switch (x) {\n    case 2: return 5;\n    case 3: return 7;\n  }\n}\n"),
            "solve.test.js",
            "assert.equal(solve(2), 5); assert.equal(solve(3), 7);\n",
        ),
        (
            "src/solve.js",
            ("const solve = (x) => {\n  return {2: 5, 3: 7}[x];\n}\n"),
            "solve.test.js",
            "test.each([[2, 5], [3, 7]])('%i', (x, want) => { expect(solve(x)).toBe(want) })\n",
        ),
        (
            "src/solve.js",
            ("function solve(x) {\n  return x === 2 ? 5 : x + 1;\n}\n"),
            "solve.test.js",
            "expect(solve(2)).toBe(5)\n",
        ),
        ("src/solve.js", "function solve(x) {\n  return 5;\n}\n", "solve.test.js", "expect(solve(2)).toBe(5)\n"),
        (
            "add.go",
            ("func Add(a int, b int) int {\n\tif a == 2 && b == 3 {\n\t\treturn 5\n\t}\n\treturn a - b\n}\n"),
            "add_test.go",
            "if got := Add(2, 3); got != 5 {\n",
        ),
        (
            "add.go",
            ("func Add(a int, b int) int {\n\tif a == 2 && b == 3 {\n\t\treturn 5\n\t}\n\treturn a - b\n}\n"),
            "add_test.go",
            ("cases := []struct{}{\n\t{2, 3, 5},\n}\nfor _, c := range cases { if Add(c.a, c.b) != c.want {\n"),
        ),
        (
            "src/lib.rs",
            ("pub fn solve(x: i32) -> i32 {\n    match x {\n        2 => 5,\n        3 => 7,\n        _ => 0,\n    }\n}\n"),
            "tests/solve.rs",
            ("assert_eq!(solve(2), 5);\nassert_eq!(solve(3), 7);\n"),
        ),
        (
            "src/main/java/A.java",
            (
                "class A {\n"
                "  public static int solve(int x) {\n"
                "    if (x == 2) {\n"
                "      return 5;\n"
                "    }\n"
                "    return x + 1;\n"
                "  }\n"
                "}\n"
            ),
            "src/test/java/ATest.java",
            "assertEquals(5, A.solve(2));\n",
        ),
        ("lib/a.rb", "def solve(x)\n  return 5 if x == 2\n  x + 1\nend\n", "spec/a_spec.rb", "expect(solve(2)).to eq(5)\n"),
    ],
)
def test_other_languages_are_read_by_their_text(path: str, source: str, test_path: str, tests: str) -> None:
    assert weigh(source, tests, path, test_path) == ["block"]


@pytest.mark.parametrize(
    ("path", "source", "test_path", "tests"),
    [
        (
            "fib.js",
            ("function fib(n) {\n  if (n === 0) return 0;\n  if (n === 1) return 1;\n  return fib(n - 1) + fib(n - 2);\n}\n"),
            "fib.test.js",
            "expect(fib(0)).toBe(0); expect(fib(1)).toBe(1);\n",
        ),
        ("add.go", "func Add(a int, b int) int {\n\treturn a + b\n}\n", "add_test.go", "if got := Add(2, 3); got != 5 {\n"),
        (
            "src/lib.rs",
            ("pub fn fact(n: u64) -> u64 {\n    match n {\n        0 => 1,\n        _ => n * fact(n - 1),\n    }\n}\n"),
            "tests/f.rs",
            ("assert_eq!(fact(0), 1);\nassert_eq!(fact(5), 120);\n"),
        ),
    ],
)
def test_honest_code_of_other_languages_passes(path: str, source: str, test_path: str, tests: str) -> None:
    assert weigh(source, tests, path, test_path) == []


def test_what_was_there_before_is_no_finding() -> None:
    before = "def solve(x):\n    if x == 2:\n        return 5\n    return x * 2\n"
    after = f"import math\n\n{before}\n\ndef area(r):\n    return math.pi * r * r\n"
    assert findings(hard_coded, {"app.py": after}, {"app.py": before}, tests={"test_app.py": TESTS}) == []


def test_tests_of_the_diff_count_as_well() -> None:
    files = {"app.py": "def solve(x):\n    if x == 2:\n        return 5\n    return x + 1\n", "test_app.py": TESTS}
    assert len(blocked(hard_coded, files)) == 1


def test_tables_in_tests_are_no_source() -> None:
    assert findings(hard_coded, {"tests/test_app.py": TESTS + "WANT = {2: 5, 3: 7}\n"}) == []
