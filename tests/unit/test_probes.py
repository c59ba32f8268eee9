"""Probes: what a model is asked for that has not seen the source, and what its answers are worth."""

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmsman.config import LoopConfig
from helmsman.records.checks import Probe
from helmsman.verify.new_tests import Mutant, mutants_of, sample_mutants, wilson_interval
from helmsman.verify.probes import RUNNERS, Runner, command_of, interface, probe_request, read_probes, read_readings, runner_for

pytestmark = pytest.mark.feature("V15")

PYTHON, NODE = RUNNERS
CONFIG = LoopConfig.model_validate({"goal": "fizz(n) is fizz for multiples of 3", "checks": ["pytest"], "proof": {"probes": 2}})
SOURCE = (
    "class A:\n    def b(self, c: int) -> str:\n        def inner(): ...\n        return 'secret'\n\n\n"
    "def fizz(n):\n    return 1\n"
)
MODULE = (
    "const T = { 1: 'secret' };\nfunction one(a, b = 2) { return T[a]; }\nexports.two = (c) => T[c];\nmodule.exports = { one };\n"
)


def cases(*given: dict[str, Any]) -> str:
    return json.dumps({"cases": given})


def test_the_interface_has_signatures_without_bodies() -> None:
    assert interface("a.py", SOURCE) == "class A:\n    def b(self, c: int) -> str:\ndef fizz(n):"
    shown = interface("a.js", MODULE)
    assert "function one(a, b = 2)" in shown
    assert "exports.two = (c) =>" in shown
    assert "secret" not in shown


def test_the_request_has_goal_interface_and_tests_without_source() -> None:
    asked = probe_request(CONFIG, PYTHON, "tests", {"fizz.py": SOURCE}, {"tests/test_fizz.py": "assert fizz(3) == 'fizz'"})
    whole = f"{asked.task}\n{asked.facts}\n{asked.closing}"
    assert all(part in whole for part in (CONFIG.goal, "def fizz(n):", "fizz(3) == 'fizz'", "2 cases at most", "`tests`"))
    assert "secret" not in whole


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("A multiple of 9 gives fizz.", "A multiple of … gives fizz."),
        ("Of 'buzzing' comes … ", "Of '…' comes …"),
        ("Nothing\x1b[2J\nbut words", "Nothing [2J but words"),
    ],
)
def test_descriptions_of_probes_hide_their_values(says: str, told: str) -> None:
    (probe, *_) = read_probes(cases({"code": "assert fizz(9) == 'fizz' != 'buzzing'", "says": says}), CONFIG)
    assert isinstance(probe, Probe)
    assert probe.says == told


@pytest.mark.parametrize("text", ["no JSON", "{}", cases({"code": "", "says": "x"}), cases({"code": "x"})])
def test_invalid_answers_give_no_probes(text: str) -> None:
    assert str(read_probes(text, CONFIG)).startswith("the answer ")


@pytest.mark.parametrize(("numbers", "read"), [((2, 1), ("wrong", "right")), ((1,), None), ((1, 1), None), ((1, 2, 3), None)])
def test_each_case_needs_exactly_one_verdict(numbers: tuple[int, ...], read: tuple[str, ...] | None) -> None:
    verdicts = ("right", "wrong", "unclear")
    given = [{"case": number, "reason": "x", "verdict": verdicts[at]} for at, number in enumerate(numbers)]
    found = read_readings(json.dumps({"readings": given}), 2)
    assert found == read if read else "exactly once" in found


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["a.py", "b.py", "c.js"], PYTHON),
        (["c.js"], NODE),
        (["a.go", "b.rs"], "no probes for *.go, *.rs: they need pytest or node:test"),
    ],
)
def test_the_runner_is_of_the_most_changed_language(paths: list[str], found: Runner | str) -> None:
    assert runner_for(paths) == found


def test_probes_use_the_interpreter_of_the_checks() -> None:
    assert command_of(PYTHON, [".venv/bin/pytest -q"], "tests/a b.py").endswith("-o addopts= 'tests/a b.py'")
    assert command_of(NODE, ["/opt/n/node --test"], "a.mjs") == "/opt/n/node --test a.mjs"
    assert [NODE.file(code)[-3:] for code in ("import a from 'a';", "const a = require('a');")] == ["mjs", "cjs"]


# Small mistakes in changed lines, and the share of them that is noticed


@pytest.mark.feature("V16")
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
def test_each_changed_line_has_at_most_one_mutant(line: str, what: str) -> None:
    found = mutants_of("a.py", f"y = 1\n{line}\n", [2])
    assert [one.what for one in found] == ([what] if what else [])
    assert all(ast.unparse(ast.parse(one.text)) != ast.unparse(ast.parse(f"y = 1\n{line}\n")) for one in found)


@pytest.mark.feature("V16")
@given(st.integers(0, 50), st.integers(0, 50))
def test_sampled_mutants_are_evenly_spread(number: int, most: int) -> None:
    every = [Mutant("a.py", line, "", "") for line in range(number)]
    found = sample_mutants(every, most)
    assert len(found) == len(set(found)) == min(number, most)
    assert not found or found[0] == every[0]


@pytest.mark.feature("V16")
def test_the_interval_is_wilsons() -> None:
    assert [round(end, 3) for end in wilson_interval(7, 9)] == [0.453, 0.937]
    assert wilson_interval(0, 0) == (0.0, 1.0)
