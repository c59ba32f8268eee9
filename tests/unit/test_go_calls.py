"""Which test cases of Go are calls that equal a literal."""

from typing import Any

import pytest

from helmsman.verify.call_cases import ANY, Calls, Case, Function, cases_of
from helmsman.verify.called_languages import CALLED, GO

pytestmark = pytest.mark.feature("V15")

LANGUAGE = CALLED[2]
HEAD = 'package calc_test\n\nimport "testing"\n\nfunc TestIt(t *testing.T) {\n'
ROWS = '[]struct {\n\t\tn    int\n\t\twant string\n\t}{\n\t\t{1, "a"},\n\t\t{n: 2, want: "b"},\n\t}'


def case(*args: Any, gives: Any) -> Case:
    return Case(Function("", "Add"), args, {}, gives)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('if got := Add(1, "x\\n"); got != -3 {\n\t\tt.Fatal(got)\n\t}', [case(1, "x\n", gives=-3)]),
        ("if calc.Add(1_0) != 2.5 {\n\t\tt.Fatal()\n\t}", [case(10, gives=2.5)]),
        ("got := Add(true)\n\tif nil != got {\n\t\tt.Fatal(got)\n\t}", [case(True, gives=None)]),
        ("assert.Equal(t, `a`, Add(1))", [case(1, gives="a")]),
        (
            f"for _, tt := range {ROWS} {{\n\t\tif got := Add(tt.n); got != tt.want {{\n\t\t\tt.Error(got)\n\t\t}}\n\t}}",
            [case(1, gives="a"), case(2, gives="b")],
        ),
        (
            'a := map[string]int{"a": 1}\n\tfor in, want := range a {\n\t\tif Add(in) != want {\n\t\t\tt.Error()\n\t\t}\n\t}',
            [case("a", gives=1)],
        ),
        ("if !Add(1) {\n\t\tt.Fatal()\n\t}", [case(1, gives=ANY)]),
        ("Reset(1)\n\tif Add(2) != 3 {\n\t\tt.Fatal()\n\t}", [Case(Function("", "Reset"), (1,), {}, ANY)]),
        ("if other.Add(1) != 2 || add(1) != 2 {\n\t\tt.Fatal()\n\t}", []),
        ('t.Setenv("A", "1")\n\tif Add(1) != 2 {\n\t\tt.Fatal()\n\t}', []),
    ],
)
def test_a_case_needs_nothing_but_the_call(body: str, found: list[Case]) -> None:
    assert cases_of(GO, "calc_test.go", f"{HEAD}\t{body}\n}}\n") == found


@pytest.mark.parametrize(
    ("source", "number"), [("package calc\n\nfunc Add(n int) int { return n }\n", 1), ("package main\n\nfunc Add() {}\n", 0)]
)
def test_only_functions_that_changed_and_may_be_imported_are_called(source: str, number: int) -> None:
    test = f"{HEAD}\tif Add(1) != 2 {{\n\t\tt.Fatal()\n\t}}\n}}\n"
    tests = {"go.mod": "module example.org/a\n", "calc/calc_test.go": test}
    found = LANGUAGE.cases(tests, {"calc/calc.go": source}, frozenset(tests))
    assert [one.function for one in found] == [Function("example.org/a/calc", "Add")] * number
    assert [LANGUAGE.is_source(path) for path in ("calc/calc.go", "calc/calc_test.go", "go.mod")] == [True, False, False]


def test_the_program_makes_the_calls_by_the_go_of_the_checks() -> None:
    calls = Calls(Function("example.org/a", "Add"), (case(1, gives="é"), case(2, gives=ANY)), (((3,), {}),))
    made = LANGUAGE.script([calls], (), "mark ")
    assert all(part in made for part in ('p0 "example.org/a"', 'p0.Add(1) == "é"', "p0.Add(3)", '"mark "'))
    assert [LANGUAGE.interpreter([one]) for one in ("/opt/go/bin/go test ./...", "make")] == ["/opt/go/bin/go run", "go run"]
