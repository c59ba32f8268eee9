"""New tests must be able to fail: when the work's tests are run on the source of the start, and what that shows.

Checks that were green before any work stay green whatever is done. Only a test that fails without the change shows the change.
"""

import ast
import re
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from helmsman.config import LoopConfig
from helmsman.parsers.literals import text_of
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import matches
from helmsman.parsers.test_files import is_test_file, is_test_support, language_of
from helmsman.records.checks import CheckReport
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED = re.compile(r"(?:^|[._-])(?:tests?|spec)(?:[._-]|$)", re.IGNORECASE)
"""Names of tests in languages whose runners are not known: `check_test.sh`, `parser.bats.spec`, `test-cli.exp`."""
NO_NEW_TEST = "the goal asks for tests, and no new test fails without the change"
_ASKED_FOR = re.compile(
    r"\b(?:add|writ|creat|includ|provid)(?:e|es|ed|ing|s)?\s(?:(?!to\b|that\b|for\b|so\b|the\b)\w+[\s-]){0,3}(?:tests?|specs?)\b"
    r"|\bcover\w*\s[^.!?\n]{1,60}\s(?:by|with)\s(?:\w+[\s-]){0,2}tests?\b",
    re.IGNORECASE,
)
"""`add a regression test`, `cover it with tests`. `write a function that passes the tests` is none: there they are."""


def asks_for_tests(goal: str) -> bool:
    return _ASKED_FOR.search(goal) is not None


def in_question(state: LoopState, evidence: Evidence) -> bool:
    """Whether the work may count as done, so that it is worth comparing with the start: nothing fails, and somebody asks.

    A plan asks by having nothing left, and its item in hand by being worked on; tests alone ask where they are all that changed.
    """
    report = evidence.checks
    if report is None or report.failures:
        return False
    limit = state.config.completion.test_only_limit
    saturated = limit is not None and state.done.test_only_in_row + 1 >= limit
    return evidence.claims.wants_to_finish or saturated or evidence.plan is not None


def may_complete(state: LoopState, evidence: Evidence) -> bool:
    """Whether this iteration could be the last: of a plan, nothing but the item in hand is left."""
    hand = evidence.plan
    return in_question(state, evidence) and (hand is None or hand.remaining <= 1)


def needs_test(state: LoopState, evidence: Evidence) -> bool:
    """Whether it takes a test that fails on the source of the start: nothing else can show the change, or the goal asks for one.

    A loop that did not try its checks at the start (`baseline = false`) does not know that they were green.
    """
    followed = evidence.plan is not None and (evidence.plan.item is not None or bool(state.plan.ticked))
    due = bool(state.green_at_start) or asks_for_tests(state.config.goal)
    return due and not state.config.judge.criteria and not followed


def start_run_due(state: LoopState, evidence: Evidence) -> bool:
    """Whether the work's tests are run on the source of the start: a test is needed, or may be the evidence for an item."""
    item = evidence.plan.item if evidence.plan else None
    return needs_test(state, evidence) or (item is not None and not item.check and not item.verify)


def overlaid(changed: Iterable[str], config: LoopConfig) -> tuple[str, ...]:
    """Of the paths that the work adds or changes those that are laid over the start: tests, and what only tests use."""
    patterns = (*config.invariants.protect, *config.invariants.trusted)
    return tuple(
        path
        for path in changed
        if is_test_file(path)
        or is_test_support(path)
        or (language_of(path) in {"", "shell", "other"} and _NAMED.search(path.rpartition("/")[2]))
        or matches_any(path, patterns)
    )


def not_collected(paths: Iterable[str], failing: Sequence[str]) -> tuple[str, ...]:
    """Test files that fail as a whole, by the names of failing tests: what they import is not there yet."""
    whole = [name for name in failing if "::" not in name]
    return tuple(path for path in paths if any(path in name for name in whole))


def shown_by(report: CheckReport, start: CheckReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of checks that pass on the work and fail on the start, and of the tests that fail there.

    A check that did not end, could not be run or is flaky on the start shows nothing.
    """
    passing = {result.command for result in report.results if result.passed and not result.ran_no_test}
    failing = [one for one in start.failures if one.command in passing and not (one.timed_out or one.error or one.by_chance)]
    tests = (name for one in failing if one.counts for name in one.counts.failing)
    names = {result.command: result.name for result in report.results}
    return tuple(names[one.command] for one in failing), tuple(dict.fromkeys(tests))


# --- small mistakes in the lines that a change brings: tests that are worth something notice them. Python only. ---------------

_OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not",
    "is not": "is", "and": "or", "or": "and", "+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "%": "+",
}  # fmt: skip
"""What an operator is changed into."""
_BAD = (ValueError, SyntaxError, RecursionError, MemoryError)
Z = 1.96  # of the interval that holds the true share 95 times in 100


class Mutant(NamedTuple):
    """A file with one mistake."""

    path: str
    line: int
    what: str
    text: str

    @property
    def told(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def mutants_of(path: str, text: str, lines: Sequence[int]) -> list[Mutant]:
    """One for each of these lines that has something to change, in order."""
    try:
        ast.parse(text)
    except _BAD:
        return []
    wanted, found, data = set(lines), dict[int, Mutant](), text.encode(errors="replace")
    places = [(kind, node) for match in matches(path, text, "python_mutants") for kind, (node, *_) in match.items()]
    wholes = [(node if kind == "constant" or node.parent is None else node.parent, kind, node) for kind, node in places]
    for whole, kind, node in sorted(wholes, key=lambda one: (one[0].start_byte, -one[0].end_byte)):  # the outermost first
        line = whole.start_point.row + 1
        if line in wanted and line not in found and (change := _change(kind, node)):
            what, new = change
            changed = data[: node.start_byte] + new.encode() + data[node.end_byte :]
            found[line] = Mutant(path, line, what, changed.decode())
    return [found[line] for line in sorted(found)]


def chosen(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """So many at most, spread over all of them."""
    step = max(len(mutants) / most, 1) if most else 1
    return [mutants[int(number * step)] for number in range(min(most, len(mutants)))]


def wilson(found: int, of: int) -> tuple[float, float]:
    """The interval of a share, from 0 to 1, at 95 %."""
    if not of:
        return 0.0, 1.0
    share, size = found / of, 1 + Z * Z / of
    middle, half = (share + Z * Z / (2 * of)) / size, Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of)) / size
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _change(kind: str, node: "Node") -> tuple[str, str] | None:
    """What becomes of it, in words and as a text; None for what is left alone: docstrings, and the pieces of formatted texts."""
    text = " ".join(text_of(node).split())
    if kind == "operator":
        return (f"{text} became {_OTHER[text]}", _OTHER[text]) if text in _OTHER else None
    if kind == "result":
        return ("the result became None", "None") if node.type != "none" else None
    inside = node.parent
    if inside is None or inside.type in {"expression_statement", "interpolation"}:
        return None
    try:
        old = ast.literal_eval(text_of(node))
    except _BAD:
        return None
    new = not old if isinstance(old, bool) else "" if isinstance(old, str) else old + 1 if isinstance(old, int | float) else old
    return (f"{old!r:.20} became {new!r:.20}", repr(new)) if new != old else None
