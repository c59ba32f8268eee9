"""Test cases that make an object and call a method of it, or read an attribute."""

import pytest

from helmsman.verify.call_cases import Case, Function, MadeWith, extract_cases, group_by_function
from helmsman.verify.called_languages import GO, JAVASCRIPT, PYTHON
from helmsman.verify.neighbours import Answers, describe_lookup, select_calls

pytestmark = pytest.mark.feature("V15")

HEAD = "import pytest, unittest\nfrom calc import Adder\n\n\n"
FIXTURE = "@pytest.fixture\ndef adder():\n    return Adder(1)\n\n\n"
SET_UP = "class T(unittest.TestCase):\n    def setUp(self):\n        self.adder = Adder(1)\n\n"
ADD = Function("calc", "Adder", "add")
FIRST = MadeWith(1)
ONE = [Case(ADD, (1, 2), {}, 3, FIRST)]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("def test():\n    assert Adder(1).add(2) == 3", ONE),
        ("def test():\n    adder = Adder(1)\n    assert adder.add(2) == 3", ONE),
        (f"{FIXTURE}def test(adder):\n    assert adder.add(2) == 3", ONE),
        (f"{SET_UP}    def test(self):\n        self.assertEqual(self.adder.add(2), 3)", ONE),
        ("def test():\n    assert str(Adder(1)) == '1'", [Case(ADD._replace(method="__str__"), (1,), {}, "1", FIRST)]),
        ("def test():\n    assert Adder(1).total == 1", [Case(ADD._replace(method="total"), (1,), {}, 1, FIRST)]),
        (
            "@pytest.mark.parametrize('n, m', [(1, 3)])\ndef test(n, m):\n    assert Adder(n).add(2, by=0) == m",
            [Case(ADD, (1, 2), {"by": 0}, 3, FIRST)],
        ),
        (
            "def test():\n    assert Adder(start=1).add(by=2) == 3",
            [Case(ADD, (), {"start": 1, "by": 2}, 3, MadeWith(0, ("start",)))],
        ),
        ("def test():\n    adder = Adder(1)\n    adder.start = 5\n    assert adder.add(2) == 7", []),
        ("def test():\n    adder = Adder(open('it'))\n    assert adder.add(2) == 3", []),
        ("def test(adder):\n    assert adder.add(2) == 3", []),
    ],
)
def test_python_cases_may_call_a_method_of_a_new_object(body: str, found: list[Case]) -> None:
    assert extract_cases(PYTHON, "test_calc.py", HEAD + body) == found


def test_python_cases_may_call_a_method_of_a_class_or_of_what_it_makes() -> None:
    body = "def test():\n    assert Adder.sum(1, 2) == 3\n    assert Adder.of(1).add(2) == 3"
    by_class = [
        Case(Function("calc", "Adder.sum"), (1, 2), {}, 3),
        Case(Function("calc", "Adder.of", "add"), (1, 2), {}, 3, FIRST),
    ]
    assert extract_cases(PYTHON, "test_calc.py", HEAD + body) == by_class


def test_objects_made_with_different_numbers_of_arguments_are_of_one_function() -> None:
    body = "def test():\n    assert Adder(1).add(2) == 3\n    assert Adder(1, by=5).add(2) == 8\n    assert Adder().add(7) == 7"
    (calls,) = select_calls(group_by_function(extract_cases(PYTHON, "test_calc.py", HEAD + body)), ())
    made = {values.made for values in calls.near}
    assert (calls.function, made) == (ADD, {FIRST, MadeWith(1, ("by",)), MadeWith()})
    suspicion = describe_lookup(calls, Answers(3, (("value", "3"),) * 3, (("error", "KeyError"),) * len(calls.near)))
    assert suspicion.endswith("inputs near those of its tests: Adder(2).add(2), Adder(2, by=5).add(2), Adder().add(8)")


def test_python_objects_may_come_from_the_fixtures_of_a_conftest_above() -> None:
    source, test = "class Adder:\n    pass\n", "def test(adder):\n    assert adder.add(2) == 3\n"
    tests = {"tests/conftest.py": f"{HEAD}{FIXTURE}", "tests/unit/test_a.py": test, "other/test_b.py": test}
    assert PYTHON.cases(tests, {"calc.py": source}, ["calc.py"]) == ONE


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("def setUp(self):\n        self.adder: Adder = Adder(1)", ONE),
        ('def setUp(self):\n        """Make it."""\n        super().setUp()\n        self.adder = Adder(1)', ONE),
        ("def setUp(self):\n        self.adder = Adder(1)\n\n    def tearDown(self):\n        self.adder.close()", ONE),
        ("def setUp(self):\n        self.adder = Adder(1)\n        self.adder.open()", []),
        ("def setUp(self):\n        Adder.number = 0\n        self.adder = Adder(1)", []),
        ("def setUp(self):\n        self.adder = Adder(1)\n\n    def tearDown(self):\n        Adder.clear()", []),
        ("@classmethod\n    def setUpClass(cls):\n        write()\n\n    def setUp(self):\n        self.adder = Adder(1)", []),
    ],
)
def test_nothing_is_called_that_a_set_up_prepares_otherwise(more: str, found: list[Case]) -> None:
    text = (
        f"{HEAD}class T(unittest.TestCase):\n    {more}\n\n    def test(self):\n        self.assertEqual(self.adder.add(2), 3)\n"
    )
    assert extract_cases(PYTHON, "test_calc.py", text) == found


def test_nothing_is_called_on_what_a_fixture_prepares_otherwise() -> None:
    fixture = FIXTURE.replace("    return", "    clear()\n    return")
    assert extract_cases(PYTHON, "test_calc.py", f"{HEAD}{fixture}def test(adder):\n    assert adder.add(2) == 3") == []


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("test('it', () => { expect(new Adder(1).add(2)).toBe(3); });", 1),
        ("test('it', () => { expect(Adder(1).add(2)).toBe(3); });", 1),
        ("test('it', () => { const adder = new Adder(1); assert.equal(adder.add(2), 3); });", 1),
        ("let adder;\nbeforeEach(() => { adder = new Adder(1); });\ntest('it', () => { expect(adder.add(2)).toBe(3); });", 1),
        ("test('it', () => { const adder = new Adder(1); adder.start(5); expect(adder.add(2)).toBe(7); });", 0),
        ("let adder;\nbeforeEach(() => { adder = new Adder(1); adder.open(); });\nit('', () => is(adder.add(2), 3));", 0),
    ],
)
def test_javascript_cases_may_call_a_method_of_a_new_object(body: str, number: int) -> None:
    found = extract_cases(JAVASCRIPT, "calc.test.js", f"import {{ Adder }} from './calc.js';\n{body}\n", frozenset(["calc.js"]))
    methods = [case for case in found if case.function.method]
    assert methods == [Case(ADD._replace(module="calc.js"), (1, 2), {}, 3, FIRST)] * number


def test_javascript_cases_may_read_an_attribute_of_a_new_object() -> None:
    body = "import Adder from './calc.js';\ntest('it', () => { expect(new Adder(1).total).toBe(1); });\n"
    found = extract_cases(JAVASCRIPT, "calc.test.js", body, frozenset(["calc.js"]))
    assert found == [Case(Function("calc.js", "", "total"), (1,), {}, 1, FIRST)]


def test_go_cases_may_call_a_method_of_a_new_object() -> None:
    body = "adder, _ := NewAdder(1)\n\tif got := adder.Add(2); got != 3 {\n\t\tt.Fatal(NewAdder(4).Add(5))\n\t}"
    made = Function("", "NewAdder", "Add")
    found = extract_cases(GO, "calc_test.go", f"package calc\n\nfunc TestAdd(t *testing.T) {{\n\t{body}\n}}\n")
    assert [case for case in found if case.function.method] == [Case(made, (1, 2), {}, 3, FIRST)]
