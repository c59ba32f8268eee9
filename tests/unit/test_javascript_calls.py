"""Which test cases of JavaScript are calls that equal a literal."""

import pytest

from helmsman.parsers.literals import Word
from helmsman.verify.call_cases import ANY, Case, Function, cases_of
from helmsman.verify.called_languages import CALLED, JAVASCRIPT

pytestmark = pytest.mark.feature("V15")

LANGUAGE = CALLED[1]
PATHS = frozenset(["src/calc.js", "src/pad/index.mjs", "test/calc.test.js"])
HEAD = """\
const test = require('node:test');
const assert = require('node:assert');
const { add, sub: minus } = require('../src/calc');
const calc = require('../src/calc.js');
import pad, { left as onLeft } from '../src/pad';
import { other } from 'elsewhere';
const ROWS = [[1, 'a'], [2, 'b']];
"""
ADD, LEFT = Function("src/calc.js", "add"), Function("src/pad/index.mjs", "left")


def case(function: Function, *args: object, gives: object) -> Case:
    return Case(function, args, {}, gives)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assert.equal(add(1, [2]), -3);", [case(ADD, 1, [2], gives=-3)]),
        ("assert.deepStrictEqual({a: 'x\\n'}, calc.add(0x10));", [case(ADD, 16, gives={"a": "x\n"})]),
        ("expect(onLeft('a', 1.5)).toBe(undefined);", [case(LEFT, "a", 1.5, gives=Word.UNDEFINED)]),
        ("expect(pad(null)).toBeNull();", [case(Function("src/pad/index.mjs", ""), None, gives=None)]),
        ("expect(minus(1)).to.deep.equal([]);", [case(Function("src/calc.js", "sub"), 1, gives=[])]),
        ("const got = add(2);\n  expect(got).toEqual(`c`);", [case(ADD, 2, gives="c")]),
        ("for (const [n, text] of ROWS) assert.equal(add(n), text);", [case(ADD, 1, gives="a"), case(ADD, 2, gives="b")]),
        ("assert.throws(() => add(1));\n  expect(add(2)).not.toBe(3);", [case(ADD, 1, gives=ANY), case(ADD, 2, gives=ANY)]),
        ("minus(1);\n  assert.equal(add(1), 2);", [case(Function("src/calc.js", "sub"), 1, gives=ANY)]),
        ("const made = minus(1);\n  assert.equal(add(1), 2);", [case(Function("src/calc.js", "sub"), 1, gives=ANY)]),
        ("assert.equal(other(1), 2);\n  assert.equal(add(other), 2);", []),
    ],
)
def test_a_case_needs_nothing_but_the_call(body: str, found: list[Case]) -> None:
    assert cases_of(JAVASCRIPT, "test/calc.test.js", f"{HEAD}test('it', () => {{\n  {body}\n}});\n", PATHS) == found


def test_the_rows_of_a_table_are_cases() -> None:
    text = f"{HEAD}test.each([[1, 2], [3, 4]])('%d', (a, b) => {{ expect(add(a)).toBe(b); }});\n"
    assert cases_of(JAVASCRIPT, "test/calc.test.js", text, PATHS) == [case(ADD, 1, gives=2), case(ADD, 3, gives=4)]


@pytest.mark.parametrize("prepared", ["beforeEach(() => open());", "jest.mock('../src/calc');", "process.env.A = '1';"])
def test_a_file_that_prepares_something_has_none(prepared: str) -> None:
    assert (
        cases_of(JAVASCRIPT, "test/calc.test.js", f"{HEAD}{prepared}\ntest('it', () => assert.equal(add(1), 2));\n", PATHS) == []
    )


def test_only_functions_that_changed_are_called() -> None:
    tests = {"test/calc.test.js": f"{HEAD}test('it', () => {{ assert.equal(add(1), 2); }});\n"}
    assert LANGUAGE.cases(tests, {"src/calc.js": "module.exports = {};"}, PATHS)
    assert LANGUAGE.cases(tests, {"src/sum.js": "exports.add = (a) => a;"}, PATHS)
    assert not LANGUAGE.cases(tests, {"src/other.js": "const b = 1;"}, PATHS)


def test_the_node_of_the_checks_makes_the_calls() -> None:
    assert [LANGUAGE.interpreter([one]) for one in ("/opt/n/node --test", "npm test", "node")] == ["/opt/n/node", "node", "node"]
    assert LANGUAGE.script([], (), "mark ").startswith('const mark = "mark ";\n')
