"""Which test cases are calls that equal a literal, and which inputs lie beside theirs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.verify.call_cases import ANY, Case, Function, cases_of, grouped, literals
from helmsman.verify.called_languages import CALLED, PYTHON
from helmsman.verify.neighbours import MOST_CALLS, calls_beside, neighbours

pytestmark = pytest.mark.feature("V15")

HEAD = "import calc, pytest, unittest\nfrom calc import f as g\nfrom pkg import mod\n\nROWS = [(1, 2), (3, 4)]\n\n\n"
UNITTEST = "class T(unittest.TestCase):\n    def test(self):\n        with self.subTest():\n            self.assertEqual(g(1), 2)"
F = Function("calc", "f")


def test_a_case_needs_nothing_but_the_call() -> None:
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
        (UNITTEST, [Case(F, (1,), {}, 2)]),
        ("def test(tmp_path):\n    assert g(1) == 2\n\n@unittest.mock.patch('x')\ndef test_b():\n    assert g(1) == 2", []),
        ("@pytest.fixture(autouse=True)\ndef ready(): ...\n\ndef test():\n    assert g(1) == 2", []),
        ("def test():\n    assert g(1) != 2\n    assert g(object()) == 2 and len('a') == 1", []),
        ("def test():\n    with pytest.raises(ValueError):\n        assert g(1) == 2", []),
        ("def test(:", []),
    ]
    for body, found in cases:
        assert cases_of(PYTHON, "tests/test_calc.py", HEAD + body) == found


@given(st.recursive(st.integers() | st.text() | st.booleans() | st.floats(), st.lists, max_leaves=5))
def test_a_neighbour_is_of_the_same_kind_and_no_path_has_one(value: object) -> None:
    found = list(neighbours(value))
    assert {type(one) for one in found} <= {type(value)}
    assert not (isinstance(value, str) and "/" in value and found)


def test_a_docstring_is_no_literal_of_a_source() -> None:
    assert literals(PYTHON, "calc.py", '"""Doc."""\n\nA, B = 1, "x"\n') == [1, "x"]


def test_one_answer_for_all_cases_is_not_worth_a_run() -> None:
    same, several = ([Case(F, (number,), {}, answer * number) for number in (1, 2, 3)] for answer in (0, 2))
    assert calls_beside(grouped([*same, Case(F, (4,), {}, ANY)]), ()) == []
    (calls,) = calls_beside(grouped(several), (40, "text", 50))
    assert len(calls.near) <= MOST_CALLS
    assert {((40,), "{}"), ((50,), "{}")} <= {(args, repr(kwargs)) for args, kwargs in calls.near}
    assert not {1, 2, 3} & {args[0] for args, _ in calls.near}


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("uv run pytest -q", "uv run python"),
        ("cd app && .venv/bin/python -m pytest", ".venv/bin/python"),
        ("pytest -q", "$(sed -n '1s/^#!//p' \"$(command -v pytest)\")"),
        ("ruff check pytest_plugin", "$(for one in venv/bin/python"),
    ],
)
def test_the_python_of_the_checks_makes_the_calls(command: str, python: str) -> None:
    assert CALLED[0].interpreter([command]).startswith(python)
