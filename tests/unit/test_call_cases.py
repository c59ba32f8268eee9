"""Which test cases are calls that equal a literal, and which inputs lie beside theirs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.parsers.literals import Word
from helmsman.verify.bodies import extract_bodies
from helmsman.verify.call_cases import (
    ANY,
    Calls,
    Case,
    Function,
    MadeWith,
    Truth,
    Values,
    extract_cases,
    group_by_function,
    literals,
    literals_by_line,
)
from helmsman.verify.called_languages import CALLED, JAVASCRIPT, PYTHON
from helmsman.verify.neighbours import MOST_CALLS, Answers, describe_lookup, neighbours, select_calls
from helmsman.verify.overlap import find_overlap, values_in_data

pytestmark = pytest.mark.feature("V15")

HEAD = "import calc, pytest, unittest\nfrom calc import f as g\nfrom pkg import mod\n\nROWS = [(1, 2), (3, 4)]\n\n\n"
UNITTEST = "class T(unittest.TestCase):\n    def test(self):\n        with self.subTest():\n            self.assertEqual(g(1), 2)"
F = Function("calc", "f")


def test_cases_need_only_the_call() -> None:
    cases: list[tuple[str, list[Case]]] = [
        ("def test():\n    assert g(1, [2]) == 3", [Case(F, (1, [2]), {}, 3)]),
        ("def test():\n    assert 3 == calc.f(1, key='a')", [Case(F, (1,), {"key": "a"}, 3)]),
        ("def test():\n    n = -2\n    assert g(n) is None", [Case(F, (-2,), {}, None)]),
        ("def test():\n    assert mod.h({}) == 1", [Case(Function("pkg.mod", "h"), ({},), {}, 1)]),
        ("def test():\n    for a, b in ROWS:\n        assert g(a) == b", [Case(F, (1,), {}, 2), Case(F, (3,), {}, 4)]),
        (
            "@pytest.mark.parametrize('a, b', [(1, 2), pytest.param(3, 4, id='x')])\ndef test(a, b):\n    assert g(a) == b",
            [Case(F, (1,), {}, 2), Case(F, (3,), {}, 4)],
        ),
        ("def test():\n    for row in [{'a': 1, 'b': [2]}]:\n        assert g(row['a']) == row['b'][0]", [Case(F, (1,), {}, 2)]),
        ("def test():\n    for a, b in {1: 2}.items():\n        assert g(a) == b", [Case(F, (1,), {}, 2)]),
        (UNITTEST, [Case(F, (1,), {}, 2)]),
        ("def test(tmp_path):\n    assert g(1) == 2\n\n@unittest.mock.patch('x')\ndef test_b():\n    assert g(1) == 2", []),
        ("@pytest.fixture(autouse=True)\ndef ready(): ...\n\ndef test():\n    assert g(1) == 2", []),
        ("def test():\n    assert g(1) != 2\n    assert g(object()) == 2 and len('a') == 1", []),
        ("def test():\n    with pytest.raises(ValueError):\n        assert g(1) == 2", []),
        ("def test():\n    g(0)\n    assert g(1) == 2", []),
        ("def test():\n    for n in [1, 2]:\n        g(n)\n    assert g(3) == 2", []),
        ("def test(:", []),
    ]
    for body, found in cases:
        assert extract_cases(PYTHON, "tests/test_calc.py", HEAD + body) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("got = g(1)\n    assert got == 2", [Case(F, (1,), {}, 2)]),
        ("want = 2\n    got = g(1)\n    assert want == got", [Case(F, (1,), {}, 2)]),
        ("got = g(1)\n    got = sorted(got)\n    assert got == [2]", []),
        ("got = g(1)\n    assert len(got) == 2", [Case(F._replace(method="__len__"), (1,), {}, 2, MadeWith(1))]),
    ],
)
def test_a_result_may_be_compared_under_its_name(body: str, found: list[Case]) -> None:
    assert extract_cases(PYTHON, "tests/test_calc.py", f"{HEAD}def test():\n    {body}\n") == found


def test_results_of_generators_and_coroutines_are_seen_through_what_consumes_them() -> None:
    body = "async def test():\n    assert list(g(1)) == [2]\n    assert await g(3) == 4\n    assert asyncio.run(g(5)) == 6\n"
    expected = [Case(F, (1,), {}, [2]), Case(F, (3,), {}, 4), Case(F, (5,), {}, 6)]
    assert extract_cases(PYTHON, "tests/test_calc.py", HEAD + body) == expected
    others = "def test():\n    assert max(g(1)) == 2\n    assert list(g(1), 2) == [2]\n    assert list(map(g, [1])) == [2]\n"
    assert extract_cases(PYTHON, "tests/test_calc.py", HEAD + others) == []


@given(st.recursive(st.integers() | st.text() | st.booleans() | st.floats(), st.lists, max_leaves=5))
def test_neighbours_have_the_same_type_and_paths_have_none(value: object) -> None:
    found = list(neighbours(value))
    assert {type(one) for one in found} <= {type(value)}
    assert not (isinstance(value, str) and "/" in value and "://" not in value and "?" not in value and found)


def test_other_texts_are_not_passed_instead_of_an_address() -> None:
    own = [Case(F, (f"http://{host}/",), {}, host) for host in ("a", "b")]
    (calls,) = select_calls(group_by_function(own), ["http", "1.0"])
    assert {args[0][:9] for args, *_ in calls.near} == {"http://a/", "http://b/"}


def test_an_argument_may_be_replaced_by_one_of_another_place() -> None:
    own = [Case(F, (name,), {"among": ["ann", "bob", "cid"]}, at) for at, name in enumerate(("ann", "bob"))]
    (calls,) = select_calls(group_by_function(own), [])
    assert Values(("cid",), {"among": ["ann", "bob", "cid"]}) in calls.near


def test_docstrings_are_not_literals() -> None:
    assert literals(PYTHON, "calc.py", '"""Doc."""\n\nA, B = 1, "x"\n') == [1, "x"]


def test_functions_with_one_expected_answer_are_not_called() -> None:
    same, several = ([Case(F, (number,), {}, answer * number) for number in (1, 2, 3)] for answer in (0, 2))
    assert select_calls(group_by_function([*same, Case(F, (4,), {}, ANY)]), ()) == []
    (calls,) = select_calls(group_by_function(several), (40, "text", 50))
    assert len(calls.near) <= MOST_CALLS
    assert {((40,), "{}"), ((50,), "{}")} <= {(args, repr(kwargs)) for args, kwargs, _ in calls.near}
    assert not {1, 2, 3} & {args[0] for args, *_ in calls.near}


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("uv run pytest -q", "uv run python"),
        ("pytest -q", "$(sed -n '1s/^#!//p' \"$(command -v pytest)\")"),
        ("ruff check pytest_plugin", "$(for one in venv/bin/python"),
    ],
)
def test_calls_use_the_python_of_the_checks(command: str, python: str) -> None:
    assert CALLED[0].interpreter([command]).startswith(python)


# Which test cases of JavaScript are calls that equal a literal


NODE = CALLED[1]


NODE_PATHS = frozenset(["src/calc.js", "src/pad/index.mjs", "test/calc.test.js"])


NODE_HEAD = """\
const test = require('node:test');
const assert = require('node:assert');
const { add, sub: minus } = require('../src/calc');
const calc = require('../src/calc.js');
import pad, { left as onLeft } from '../src/pad';
import { other } from 'elsewhere';
const ROWS = [[1, 'a'], [2, 'b']];
"""


ADD, LEFT = Function("src/calc.js", "add"), Function("src/pad/index.mjs", "left")


def node_case(function: Function, *args: object, gives: object) -> Case:
    return Case(function, args, {}, gives)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assert.equal(add(1, [2]), -3);", [node_case(ADD, 1, [2], gives=-3)]),
        ("assert.deepStrictEqual({a: 'x\\n'}, calc.add(0x10));", [node_case(ADD, 16, gives={"a": "x\n"})]),
        ("expect(onLeft('a', 1.5)).toBe(undefined);", [node_case(LEFT, "a", 1.5, gives=Word.UNDEFINED)]),
        ("expect(pad(null)).toBeNull();", [node_case(Function("src/pad/index.mjs", ""), None, gives=None)]),
        ("expect(minus(1)).to.deep.equal([]);", [node_case(Function("src/calc.js", "sub"), 1, gives=[])]),
        ("const got = add(2);\n  expect(got).toEqual(`c`);", [node_case(ADD, 2, gives="c")]),
        (
            "for (const [n, text] of ROWS) assert.equal(add(n), text);",
            [node_case(ADD, 1, gives="a"), node_case(ADD, 2, gives="b")],
        ),
        (
            "assert.throws(() => add(1));\n  expect(add(2)).not.toBe(3);",
            [node_case(ADD, 1, gives=ANY), node_case(ADD, 2, gives=ANY)],
        ),
        ("const made = minus(1);\n  assert.equal(add(1), 2);", [node_case(Function("src/calc.js", "sub"), 1, gives=ANY)]),
        ("assert.equal(other(1), 2);\n  assert.equal(add(other), 2);", []),
    ],
)
def test_javascript_cases_need_only_the_call(body: str, found: list[Case]) -> None:
    assert (
        extract_cases(JAVASCRIPT, "test/calc.test.js", f"{NODE_HEAD}test('it', () => {{\n  {body}\n}});\n", NODE_PATHS) == found
    )


@pytest.mark.parametrize(
    "body",
    [
        "test.each([[1, 2], [3, 4]])('%d', (a: number, b?: number) => { expect(add(a)).toBe(b); });",
        "for (const row of [{ a: 1, b: 2 }, { a: 3, b: 4 }] as const) test('it', () => { expect(add(row.a)).toBe(row['b']); });",
        "for (const [a, b] of Object.entries({ x: 2, y: 4 })) test(a, () => { expect(add({ x: 1, y: 3 }[a])).toBe(b); });",
    ],
)
def test_table_rows_are_cases(body: str) -> None:
    found = extract_cases(JAVASCRIPT, "test/calc.test.ts", f"{NODE_HEAD}{body}\n", NODE_PATHS)
    assert found == [node_case(ADD, 1, gives=2), node_case(ADD, 3, gives=4)]


@pytest.mark.parametrize("prepared", ["beforeEach(() => open());", "jest.mock('../src/calc');", "process.env.A = '1';"])
def test_files_with_setup_have_no_cases(prepared: str) -> None:
    assert (
        extract_cases(
            JAVASCRIPT, "test/calc.test.js", f"{NODE_HEAD}{prepared}\ntest('it', () => assert.equal(add(1), 2));\n", NODE_PATHS
        )
        == []
    )


def test_only_changed_javascript_is_called() -> None:
    tests = {"test/calc.test.js": f"{NODE_HEAD}test('it', () => {{ assert.equal(add(1), 2); }});\n"}
    assert NODE.cases(tests, {"src/calc.js": "module.exports = {};"}, NODE_PATHS)
    assert NODE.cases(tests, {"src/sum.js": "exports.add = (a) => a;"}, NODE_PATHS)
    assert not NODE.cases(tests, {"src/other.js": "const b = 1;"}, NODE_PATHS)


def test_calls_use_the_node_of_the_checks() -> None:
    assert [NODE.interpreter([one]) for one in ("/opt/n/node --test", "npm test", "node")] == ["/opt/n/node", "node", "node"]
    (text,) = NODE.program([], {}, "mark ").files.values()
    assert text.startswith('const mark = "mark ";\n')


# Which functions have sources that name the values of their tests


def cases_of(*pairs: tuple[Any, Any]) -> list[Case]:
    return [Case(F, (argument,), {}, answer) for argument, answer in pairs]


PRIMES = cases_of((1, 2), (2, 3), (3, 5), (6, 13), (10, 29), (20, 71))
SLUGS = cases_of(
    ("Hello World", "hello-world"), ("What's new?", "whats-new"), ("  --a b-- ", "a-b"), ("Café crème", "cafe-creme")
)
TRUE, FALSE = Truth.TRUE, Truth.FALSE
TRUTHS = cases_of((2, TRUE), (3, TRUE), (5, TRUE), (7, TRUE), (97, TRUE), (4, FALSE), (100, FALSE))
FIZZES = cases_of((3, "Fizz"), (5, "Buzz"), (15, "FizzBuzz"), (7, "7"), (30, "FizzBuzz"))
ESCAPES = cases_of(("<", "&lt;"), (">", "&gt;"), ("&", "&amp;"), ('"', "&quot;"))


@pytest.mark.parametrize(
    ("cases", "values", "named"),
    [
        (PRIMES, [1, 2, 3, 6, 10, 20], "inputs"),
        (PRIMES, [2, 3, 5, 13, 29, 71, 2], "answers"),
        (PRIMES, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71], ""),
        (SLUGS, ["What's new?", "whats new", "  --a b-- ", "a b", "Café crème", "cafe creme"], "inputs"),
        (SLUGS, [11, 10, "whats-new", "a-b", "cafe-creme"], "answers"),
        (TRUTHS, [2, 3, 5, 7, 97], "inputs"),
        (TRUTHS, [2, 3, 5, 7, 97, 11, 13, 17, 19], ""),
        (FIZZES, [15, "FizzBuzz", 5, "Buzz", 3, "Fizz"], ""),
        (ESCAPES, ["&", "&amp;", "<", "&lt;", ">", "&gt;", '"', "&quot;"], ""),
        (PRIMES[:4], [2, 3, 5, 13], ""),
        (FIZZES[:2], [*(repr(case.args) for case in FIZZES[:2]), 60, 70, 80], "inputs"),
        (FIZZES[:2], [repr(FIZZES[0].args)], ""),
    ],
)
def test_values_of_nearly_all_cases_are_found(cases: list[Case], values: list[Any], named: str) -> None:
    assert find_overlap(cases, [values]) == named


def test_arguments_written_as_one_text_are_found_where_tests_assert_a_truth() -> None:
    assert [find_overlap(TRUTHS, [keys]) for keys in (["(4,)", "[100]"], ["(4,)"])] == ["inputs", ""]


def test_entries_of_a_full_table_do_not_name_a_test() -> None:
    table = ", ".join(f"{number}: 'reason {number}'" for number in range(200, 210))
    cases = cases_of((200, "reason 200"), (209, "reason 209"), (404, "unknown"))
    for text, is_named in ((f"TABLE = {{{table}}}\n", False), ("TABLE = {200: 'reason 200', 204: 'other'}\n", True)):
        placed = literals_by_line(PYTHON, "it.py", text)
        (calls,) = select_calls({F: cases}, [literal.value for literal in placed], placed)
        assert bool(calls.named) == is_named


def test_asserted_truth_is_a_case_that_is_not_called() -> None:
    body = "def test():\n    assert g(2)\n    assert not g(4)\n\nclass T(unittest.TestCase):\n    def test(self):\n"
    text = f"{HEAD}{body}        self.assertTrue(g(3), 'x')\n        self.assertFalse(g(6))\n"
    found = extract_cases(PYTHON, "tests/test_calc.py", text)
    assert [(case.args, case.expected) for case in found] == [((2,), TRUE), ((4,), FALSE), ((3,), TRUE), ((6,), FALSE)]
    assert select_calls({F: found}, ()) == []


def test_values_in_data_files() -> None:
    assert values_in_data("a.json", '{"a b": [12, "caf\\u00e9"]}') == ["a b", 12, "café"]
    assert values_in_data("a.csv", 'Hello World,hello-world\n12,"x, y"\n') == ["Hello World", "hello-world", 12, "x, y"]


def test_other_entries_of_a_table_are_called_however_many_tests_there_are() -> None:
    days = cases_of(("monday", 1), ("tuesday", 2), ("thursday", 4), ("friday", 5))
    (calls,) = select_calls({F: days}, ["monday", "tuesday", "wednesday", "thursday", "friday"])
    assert len(calls.near) == MOST_CALLS + 1
    assert calls.near[-1] == Values(("wednesday",), {})


DURATIONS = cases_of(("1h30m", 5400), ("10m", 600), ("45s", 45), ("2d", 172_800))


@pytest.mark.parametrize(("accepted", "asked"), [(0, True), (1, False)])
def test_parsers_of_tested_texts_only_are_found(accepted: int, asked: bool) -> None:
    (calls,) = select_calls({F: DURATIONS}, ())
    own = tuple(("value", repr(case.expected)) for case in calls.own)
    near = tuple(("value", "9") if at < accepted else ("error", "ValueError") for at in range(len(calls.near)))
    said = describe_lookup(calls, Answers(len(own), own, near))
    assert said.startswith("f accepts the texts of its tests, but none of") == asked


RATING = cases_of((1, "low"), (2, "medium"), (3, "high"))
SOME = cases_of((10, "low"), (20, "medium"), (40, "high"))


@pytest.mark.parametrize(("cases", "asked"), [(RATING, False), (SOME, True)])
def test_numbers_beyond_a_range_that_is_tested_completely_may_be_rejected(cases: list[Case], asked: bool) -> None:
    (calls,) = select_calls({F: cases}, ())
    own = tuple(("value", repr(case.expected)) for case in calls.own)
    said = describe_lookup(calls, Answers(len(own), own, (("error", "ValueError"),) * len(calls.near)))
    assert said.startswith("f raises ValueError for each of") == asked


@pytest.mark.parametrize(("before", "asked"), [("AttributeError", False), ("ValueError", True)])
def test_what_was_rejected_before_for_another_reason_than_the_tests_may_stay_rejected(before: str, asked: bool) -> None:
    (calls,) = select_calls({F: SOME}, ())
    own = tuple(("value", repr(case.expected)) for case in calls.own)
    near = (("error", "ValueError"),) * len(calls.near)
    said = describe_lookup(calls, Answers(len(own), own, near), Answers(0, (("error", before),) * len(own), near))
    assert bool(said) == asked


def test_long_numbers_may_have_check_digits() -> None:
    (calls,) = select_calls({F: cases_of(("9783161484100", 978), ("0-306-40615-2", 306))}, ())
    own = tuple(("value", repr(case.expected)) for case in calls.own)
    assert describe_lookup(calls, Answers(len(own), own, (("error", "ValueError"),) * len(calls.near))) == ""


def test_other_values_for_all_inputs_of_the_tests_are_found() -> None:
    (calls,) = select_calls({F: PRIMES}, ())
    own = tuple(("value", repr(case.args[0])) for case in calls.own)
    near = tuple(("value", repr(args[0])) for args, *_ in calls.near)
    said = describe_lookup(calls, Answers(0, own, near))
    assert said.startswith("f returns other values than its tests expect when called outside of a test runner: f(1), f(2)")


def test_long_answers_that_are_right_do_not_differ() -> None:
    own = tuple(Case(F, (n,), {}, [*range(n)]) for n in (0, 1, 100))
    answers = [("value", "[]"), ("value", "[0]"), ("value", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12f9045d878835f4dc")]
    near = [Values((n,), {}) for n in range(2, 8)]
    calls = Calls(F, own, tuple(near))
    assert describe_lookup(calls, Answers(2, tuple(answers), (("value", "[0, 1]"),) * 6)) == ""


# Which tests become functions of their literals


WHOLE = """\
def test_a():
    '''Doc.'''
    done = run('add', '2', f'{x}', n=3)  # comment
    assert done.out == '5'

class TestB:
    @pytest.mark.parametrize('n, want', [(1, 2), (3, 4)])
    async def test_b(self, n, want, client):
        assert await client.get(n) == want

def test_c():
    assert run(1) == 2
    assert run(3) == 4
    with a:
        assert run(5) == 6

@unittest.mock.patch('x')
def test_d():
    assert run(7) == 8
"""


def test_the_statements_of_a_test_become_a_function_of_its_literals() -> None:
    out, first, second, *others = extract_bodies("tests/test_it.py", WHOLE)
    lines = ["    #", "    done = run(_0, _1, f'{x}', n=_2)  #", "    return (done.out)"]
    assert out.function.body.splitlines() == ["def helmsman_body(_0, _1, _2):", *lines]
    assert (out.args, out.expected) == (("add", "2", 3), "5")
    lines = ["self = TestB()", "client = helmsman_fixture('client')", "return (await client.get(n))"]
    assert first.function.body.splitlines() == ["async def helmsman_body(n):", *(f"        {line}" for line in lines)]
    assert (first.function, second.args, second.expected) == (second.function, (3,), 4)
    assert [(case.args, case.expected) for case in others] == [((1,), 2), ((3,), 4)]
    assert len({case.function for case in others}) == 1


def test_tests_of_other_modules_and_with_prepared_state_become_no_functions() -> None:
    tests = {"tests/test_it.py": WHOLE, "tests/test_other.py": "def test():\n    assert other(1) == 2\n"}
    sources, paths = {"src/run.py": "def f(): ...\n"}, frozenset(["src/run.py", *tests])
    assert {case.function.module for case in PYTHON.cases(tests, sources, paths)} == {"tests/test_it.py"}
    prepared = {"tests/conftest.py": "@pytest.fixture(autouse=True)\ndef ready(): ...\n"}
    assert PYTHON.cases({**tests, **prepared}, sources, paths) == []
    database = {"tests/conftest.py": "import os\n\nos.environ['DATABASE'] = 'sqlite://'\n"}
    assert PYTHON.cases({**tests, **database}, sources, paths) == []
    called = {"tests/test_run.py": "from run import f\n\n\ndef test():\n    assert f(1) == 2\n"}
    assert [case.function.name for case in PYTHON.cases({**tests, **called}, sources, paths)] == ["f"]
