"""New tests must be able to fail: when the work's tests are run on the source of the start, and what that shows.

Checks that were green before any work stay green whatever is done. Only a test that fails without the change shows the change.
"""

import re
from collections.abc import Iterable, Sequence

from helmsman.config import LoopConfig
from helmsman.parsers.paths import matches_any
from helmsman.parsers.test_files import is_test_file, is_test_support, language_of
from helmsman.records.checks import CheckReport
from helmsman.records.iteration import Evidence
from helmsman.records.state import LoopState

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
