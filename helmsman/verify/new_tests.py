"""New tests must be able to fail: when to run the work's tests on the start's source, and what the result shows.

Checks that were green before any work prove nothing by staying green. Only a test that fails without the change proves it.
"""

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from helmsman.config import LoopConfig
from helmsman.parsers.literals import text_of
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import is_test_file, is_test_support, language_of, query_matches
from helmsman.records.checks import CheckReport
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST_NAME = re.compile(r"(?:^|[._-])(?:tests?|spec)(?:[._-]|$)", re.IGNORECASE)
"""Test file names in languages with unknown runners: `check_test.sh`, `test-cli.exp`."""
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_PARTS = re.compile(r"::| > |/|\.| \(")
NO_NEW_TEST = "the goal asks for tests, and no new test fails without the change"
_ASKS_FOR_TESTS = re.compile(
    r"(?<!not )(?<!n't )(?<!never )(?<!without )\b(?:add|writ|creat|includ|provid)(?:e|es|ed|ing|s)?\s"
    r"(?:(?!to\b|that\b|for\b|so\b|the\b|no\b)\w+[\s-]){0,3}(?:tests?|specs?)\b"
    r"(?![ -](?:data|doubles?|environments?|fields?|fixtures?|helpers?|modes?|pages?|runners?|servers?|utilit\w+|versions?)\b)"
    r"|\bcover\w*\s[^.!?\n]{1,60}\s(?:by|with)\s(?:\w+[\s-]){0,2}tests?\b",
    re.IGNORECASE,
)
"""`add a regression test`, `cover it with tests`. Not `write a function that passes the tests`: those exist."""


def asks_for_tests(goal: str) -> bool:
    return _ASKS_FOR_TESTS.search(goal) is not None


def may_be_done(state: LoopState, evidence: Evidence) -> bool:
    """Whether the work may count as done and should be compared with the start: nothing fails, and completion is requested.

    A plan requests it when nothing is left, its current item by being worked on, and test-only iterations at their limit.
    An agent that says twice that it is blocked ends the loop, and then a person may find the work done.
    """
    report = evidence.checks
    if report is None or report.failures:
        return False
    limit = state.config.completion.test_only_limit
    saturated = limit is not None and state.done.test_only_in_row + 1 >= limit
    ends = evidence.claims.wants_to_finish or bool(evidence.claims.blocked and state.done.blocked)
    return ends or saturated or evidence.plan is not None


def may_complete(state: LoopState, evidence: Evidence) -> bool:
    """Whether this iteration could be the last: the plan has at most the current item left."""
    hand = evidence.plan
    return may_be_done(state, evidence) and (hand is None or hand.remaining <= 1)


def needs_test(state: LoopState, evidence: Evidence) -> bool:
    """Whether a test must fail on the start's source: nothing else can prove the change, or the goal asks for a test."""
    follows_plan = evidence.plan is not None and (evidence.plan.item is not None or bool(state.plan.ticked))
    due = bool(state.green_at_start) or asks_for_tests(state.config.goal)
    return due and not state.config.judge.criteria and not follows_plan


def needs_start_run(state: LoopState, evidence: Evidence) -> bool:
    """Whether to run the work's tests on the start's source: a test is needed, or may prove an item."""
    item = evidence.plan.item if evidence.plan else None
    return needs_test(state, evidence) or (item is not None and not item.check and not item.verify)


def select_overlay(changed: Iterable[str], config: LoopConfig) -> tuple[str, ...]:
    """Return the added or changed paths to copy onto the start's source: tests and test support."""
    patterns = (*config.invariants.protect, *config.invariants.trusted)
    return tuple(
        path
        for path in changed
        if is_test_file(path)
        or is_test_support(path)
        or (language_of(path) in {"", "shell"} and _TEST_NAME.search(path.rpartition("/")[2]))
        or matches_any(path, patterns)
    )


def unloaded_files(paths: Iterable[str], failing: Sequence[str]) -> tuple[str, ...]:
    """Return test files that fail to load, by the names of failing tests: what they import does not exist yet."""
    return tuple(path for path in paths if any(is_name_of_file(name, path) for name in failing))


def is_name_of_file(name: str, path: str) -> bool:
    """Whether a runner's name of a failure is that of a whole file, not of a test in it: its path, or its module.

    unittest: `test_a (unittest.loader._FailedTest.test_a)`, with the module as found from the folder where it started.
    """
    plain, module = name.partition(" (")[0], path.rpartition(".")[0].replace("/", ".")
    is_path = plain.endswith((f"/{path}", f"::{path}")) or ("::" not in name and path in name)
    return is_path or plain == module or ("_FailedTest" in name and module.endswith(f".{plain}"))


def names_in_file(cases: Collection[str]) -> frozenset[str]:
    """Return the possible names of these cases' functions or titles in a file, for any runner."""
    names = {_PARAMETERS.sub("", case).strip() for case in cases}
    return frozenset(part for case in names for part in (case, *_PARTS.split(case)) if part)


def failures_on_start(report: CheckReport, start: CheckReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names of checks that pass on the work and fail on the start, and of the tests that fail there.

    A check that timed out, could not run or is flaky on the start shows nothing.
    """
    passing = {result.command for result in report.results if result.passed and not result.ran_no_test}
    conclusive = (result for result in start.failures if not (result.timed_out or result.error or result.is_flaky))
    failing = [result for result in conclusive if result.command in passing]
    tests = (name for result in failing if result.counts for name in result.counts.failing)
    names = {result.command: result.name for result in report.results}
    return tuple(names[result.command] for result in failing), tuple(dict.fromkeys(tests))


# --- mutants: small mistakes in added lines, which good tests detect. Python only. ----------------------------------------

_REPLACEMENTS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not",
    "is not": "is", "and": "or", "or": "and", "+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "+",
}  # fmt: skip
"""Replacement for each operator."""
_INVALID = (ValueError, SyntaxError, RecursionError, MemoryError)
Z = 1.96  # quantile of the normal distribution for a 95 % interval


class Mutant(NamedTuple):
    """A file with one mutation."""

    path: str
    line: int
    what: str
    text: str

    @property
    def summary(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def mutants_of(path: str, text: str, lines: Sequence[int]) -> list[Mutant]:
    """Return one mutant for each of these lines that can be mutated, in order."""
    try:
        ast.parse(text)
    except _INVALID:
        return []
    line_set, mutants, data = set(lines), dict[int, Mutant](), text.encode(errors="replace")
    places = [(kind, node) for match in query_matches(path, text, "python_mutants") for kind, (node, *_) in match.items()]
    ranked = [(node if kind == "constant" or node.parent is None else node.parent, kind, node) for kind, node in places]
    for outer, kind, node in sorted(ranked, key=lambda one: (one[0].start_byte, -one[0].end_byte)):  # outermost first
        line = outer.start_point.row + 1
        if line in line_set and line not in mutants and (change := _mutate(kind, node)):
            description, new = change
            changed = data[: node.start_byte] + new.encode() + data[node.end_byte :]
            mutants[line] = Mutant(path, line, description, changed.decode())
    return [mutants[line] for line in sorted(mutants)]


def sample_mutants(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """Select at most `most` mutants, evenly spread."""
    step = max(len(mutants) / most, 1) if most else 1
    return [mutants[int(number * step)] for number in range(min(most, len(mutants)))]


def wilson_interval(hits: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a proportion."""
    if not total:
        return 0.0, 1.0
    share, size = hits / total, 1 + Z * Z / total
    middle = (share + Z * Z / (2 * total)) / size
    half = Z * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total)) / size
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _mutate(kind: str, node: "Node") -> tuple[str, str] | None:
    """Return a mutation as a description and its text; None for what is not mutated: docstrings and parts of f-strings."""
    text = " ".join(text_of(node).split())
    if kind == "operator":
        return (f"{text} became {_REPLACEMENTS[text]}", _REPLACEMENTS[text]) if text in _REPLACEMENTS else None
    if kind == "result":
        return ("the result became None", "None") if node.type != "none" else None
    parent = node.parent
    if parent is None or parent.type in {"expression_statement", "interpolation"}:
        return None
    try:
        old = ast.literal_eval(text_of(node))
    except _INVALID:
        return None
    new = not old if isinstance(old, bool) else "" if isinstance(old, str) else old + 1 if isinstance(old, int | float) else old
    return (f"{old!r:.20} became {new!r:.20}", repr(new)) if new != old else None
