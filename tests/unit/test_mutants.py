"""Small mistakes in changed lines, and the share of them that is noticed."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.new_tests import Mutant, chosen, mutants_of, wilson

pytestmark = pytest.mark.feature("V16")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("if a < b: pass", "< became <="),
        ("x = a and b", "and became or"),
        ("x = a not in b", "not in became in"),
        ("x = f(3)", "3 became 4"),
        ("x = 'abc'", "'abc' became ''"),
        ("def f(): return g()", "the result became None"),
        ("def f(): return", ""),
        ("'''What a module is for.'''", ""),
        ("x = = 1", ""),
    ],
)
def test_a_changed_line_has_one_mistake_where_there_is_something_to_change(line: str, what: str) -> None:
    found = mutants_of("a.py", f"y = 1\n{line}\n", [2])
    assert [one.what for one in found] == ([what] if what else [])
    assert all(ast.unparse(ast.parse(one.text)) != ast.unparse(ast.parse(f"y = 1\n{line}\n")) for one in found)


@given(st.integers(0, 50), st.integers(0, 50))
def test_those_that_are_made_are_spread_over_all(number: int, most: int) -> None:
    every = [Mutant("a.py", line, "", "") for line in range(number)]
    found = chosen(every, most)
    assert len(found) == len(set(found)) == min(number, most)
    assert not found or found[0] == every[0]


def test_the_interval_of_a_share_is_wilson_s() -> None:
    assert [round(end, 3) for end in wilson(7, 9)] == [0.453, 0.937]
    assert wilson(0, 0) == (0.0, 1.0)
