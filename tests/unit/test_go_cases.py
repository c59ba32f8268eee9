"""Which test cases of Go are calls that equal a literal."""

from typing import Any

import pytest

from helmsman.verify.call_cases import ANY, Case, Function, extract_cases
from helmsman.verify.called_languages import CALLED, GO

pytestmark = pytest.mark.feature("V15")

GOLANG = CALLED[2]


GO_HEAD = 'package calc_test\n\nimport "testing"\n\nfunc TestIt(t *testing.T) {\n'


GO_ROWS = '[]struct {\n\t\tn    int\n\t\twant string\n\t}{\n\t\t{1, "a"},\n\t\t{n: 2, want: "b"},\n\t}'


def go_case(*args: Any, gives: Any) -> Case:
    return Case(Function("", "Add"), args, {}, gives)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('if got := Add(1, "x\\n"); got != -3 {\n\t\tt.Fatal(got)\n\t}', [go_case(1, "x\n", gives=-3)]),
        ("if calc.Add(1_0) != 2.5 {\n\t\tt.Fatal()\n\t}", [go_case(10, gives=2.5)]),
        ("got := Add(true)\n\tif nil != got {\n\t\tt.Fatal(got)\n\t}", [go_case(True, gives=None)]),
        ("assert.Equal(t, `a`, Add(1))", [go_case(1, gives="a")]),
        (
            'for _, i := range [][]string{{"a", "b"}} {\n\t\tin := i[0]\n\t\tif Add(in) != i[1] {\n\t\t\tt.Error()\n\t\t}\n\t}',
            [go_case("a", gives="b")],
        ),
        ("got, _ := Add(1)\n\tgot = Round(got)\n\tif got != 2 {\n\t\tt.Fatal()\n\t}", [go_case(1, gives=ANY)]),
        (
            f"for _, tt := range {GO_ROWS} {{\n\t\tif got := Add(tt.n); got != tt.want {{\n\t\t\tt.Error(got)\n\t\t}}\n\t}}",
            [go_case(1, gives="a"), go_case(2, gives="b")],
        ),
        (
            'a := map[string]int{"a": 1}\n\tfor in, want := range a {\n\t\tif Add(in) != want {\n\t\t\tt.Error()\n\t\t}\n\t}',
            [go_case("a", gives=1)],
        ),
        ("if !Add(1) {\n\t\tt.Fatal()\n\t}", [go_case(1, gives=ANY)]),
        ("got, err := Add(1)\n\tif err != nil || got != 2 {\n\t\tt.Fatal()\n\t}", [go_case(1, gives=2)]),
        ("if got, want := Add(1), 2; got != want {\n\t\tt.Fatal()\n\t}", [go_case(1, gives=2)]),
        ("Reset(1)\n\tif Add(2) != 3 {\n\t\tt.Fatal()\n\t}", [Case(Function("", "Reset"), (1,), {}, ANY)]),
        ("if other.Add(1) != 2 || len(a) != 2 {\n\t\tt.Fatal()\n\t}", []),
        ('t.Setenv("A", "1")\n\tif Add(1) != 2 {\n\t\tt.Fatal()\n\t}', []),
    ],
)
def test_go_cases_need_only_the_call(body: str, found: list[Case]) -> None:
    assert extract_cases(GO, "calc_test.go", f"{GO_HEAD}\t{body}\n}}\n") == found


GO_TABLES = """\
package calc

type args struct {
	in    []string
	depth int
}

var cases = []struct {
	name string
	args args
	want map[string]int
	err  bool
}{
	{name: "one", args: args{in: []string{"a"}}, want: map[string]int{"a": 1}},
	{"none", args{nil, 2}, nil, true},
}

func TestIt(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Add(tc.args.in, tc.args.depth)
			if (err != nil) != tc.err || !reflect.DeepEqual(got, tc.want) {
				t.Error(got)
			}
		})
	}
}
"""


def test_go_tables_hold_structs_slices_and_maps() -> None:
    assert extract_cases(GO, "calc_test.go", GO_TABLES) == [go_case(["a"], 0, gives={"a": 1}), go_case(None, 2, gives=None)]


def test_a_go_map_may_have_a_type_that_the_source_defines() -> None:
    body = 'if !reflect.DeepEqual(Add(1), Count{"a": 1, "b": 2}) {\n\t\tt.Fatal()\n\t}'
    assert extract_cases(GO, "calc_test.go", f"{GO_HEAD}\t{body}\n}}\n") == [go_case(1, gives={"a": 1, "b": 2})]


def test_go_tables_may_have_a_file_of_their_own() -> None:
    table, loop = GO_TABLES.split("\n\nfunc ")
    texts = {"go.mod": "module a\n", "z_cases_test.go": table, "calc_test.go": f"package calc\n\nfunc {loop}"}
    found = GOLANG.cases(texts, {"calc.go": "package calc\n\nfunc Add(a []string, n int) map[string]int {}\n"}, frozenset(texts))
    assert found == [go_case(["a"], 0, gives={"a": 1}), go_case(None, 2, gives=None)]


def test_only_changed_functions_are_called() -> None:
    test = f"{GO_HEAD}\tif Add(1) != 2 || Double(1) != 2 {{\n\t\tt.Fatal()\n\t}}\n}}\n"
    tests = {"go.mod": "module example.org/a\n", "calc/calc_test.go": test}
    found = GOLANG.cases(tests, {"calc/calc.go": "package calc\n\nfunc Add(n int) int { return n }\n"}, frozenset(tests))
    assert [one.function for one in found] == [Function("calc", "Add")]
    assert [GOLANG.is_source(path) for path in ("calc/calc.go", "calc/calc_test.go", "go.mod")] == [True, False, False]


def test_calls_use_the_go_of_the_checks() -> None:
    assert [GOLANG.interpreter([one]) for one in ("/opt/go/bin/go test ./...", "make")] == ["/opt/go/bin/go run", "go run"]
