"""The tests of the start on the work: which files are put back for that run, and what goal and operator make of its outcomes.

Settings of runners and checkers, what the check commands themselves run, and what `invariants.protect` and `trusted` name count
among the tests.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from posixpath import basename
from typing import NamedTuple

from helmsman.config import CheckConfig, InvariantsConfig
from helmsman.parsers.globs import matches_any
from helmsman.parsers.test_files import is_test_file
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult, Finding, TrustedRun, Weight
from helmsman.records.control import MOST_NAMES, IterationSummary
from helmsman.records.verification import Case, OutcomeTable
from helmsman.texts import plural
from helmsman.verify.case_table import outcome_table
from helmsman.verify.commands import path_of, simple_commands
from helmsman.verify.reporter import Spot, finding
from helmsman.verify.touched import Touched

RULE, FEWER = "trusted.expectations", "trusted.fewer"
_PUT_BACK = (
    "Put the test back as it was when the loop began and make the source pass it. Where the goal itself asks for another result"
    " there, say so and let a person except the file."
)
_KEEP = "Keep the tests that were there, or say in a commit why they are no longer needed."
_CHANGE = r"\b(?:adapt|adjust|change|delete|drop|edit|migrate|move|remove|rename|replace|rewrite|update)\w*\b[^.!?\n]{0,80}"
"""Verbs by which a goal asks for other tests. `fix` is none of them: who is to fix a test mostly is to fix what it tests."""


class Outcomes(NamedTuple):
    """What the start's tests say of the new source where the work's own tests pass."""

    findings: tuple[Finding, ...] = ()
    """Tests that were red and were changed to pass; with `changed_expectations = "block"` all that follow as well. As hints:
    checks that run fewer tests than with those of the start."""
    changed: tuple[str, ...] = ()  # tests, or checks, whose expectations were changed
    table: OutcomeTable = OutcomeTable()


def tests_of_start(
    changed: Touched, base: Collection[str], checks: Sequence[CheckConfig], config: InvariantsConfig
) -> tuple[str, ...]:
    """Of the paths that the work changed those that judge it, which are put back as they were.

    None where the work only adds test files: these change no expectation. A new file that a check names stays.
    """
    named = [path for path in changed.source if _is_named([path], config)]
    side = [path for path in (*changed.judging, *named) if not matches_any(path, config.allow)]
    there = {above for path in base for above in (path, *map(str, PurePosixPath(path).parents))}
    words = ((one, word) for check in checks for one in simple_commands(check.command) for word in one.words if word)
    paths = {path_of(one, word.partition("::")[0]) for one, word in words}
    asked = [path for path in paths if path and path not in there]  # checks name them, and they were not there at the start
    kept = tuple(path for path in side if path in base or not any(f"{path}/".startswith(f"{place}/") for place in asked))
    return kept if any(path in base or not is_test_file(path) for path in kept) else ()


def _is_named(paths: Iterable[str], config: InvariantsConfig) -> bool:
    """Whether the operator names one of them as what has to judge the work as it was."""
    return any(matches_any(path, (*config.protect, *config.trusted)) for path in paths)


def failing_at_start(history: Sequence[IterationSummary]) -> frozenset[str] | None:
    """Tests, and checks that name none, that failed before any work; None where that is not known whole."""
    start = next((summary for summary in history if summary.iteration == 0 and summary.checked), None)
    return frozenset(start.failing) if start and len(start.failing) < MOST_NAMES else None


def outcomes(
    own: CheckReport,
    copy: TrustedRun,
    red: Collection[str] | None,
    goal: str,
    config: InvariantsConfig,
    on_start: CheckReport | None = None,
) -> Outcomes:
    """Weigh the runs. `red`: what failed at the start; `on_start`: what the work's tests say of its source."""
    table = weighed(outcome_table(own, red, copy.report, on_start), own, copy, goal, config)
    changed = tuple(case.name for case in table.of("asks"))
    found: list[Finding] = []
    for case in table.of("fails"):
        if case.outcome == "CHANGED":
            path = next((path for path in copy.put_back if path in case.name), copy.put_back[0])
            found.append(finding(RULE, _PUT_BACK, Weight.BLOCK, Spot(path), f"{clean(case.name)} {case.why}"))
    return Outcomes((*found, *fewer_tests(own, copy, config)), changed, table.bounded)


def fewer_tests(own: CheckReport, copy: TrustedRun, config: InvariantsConfig) -> Iterator[Finding]:
    """Checks that run fewer tests than with those of the start: a hint, but for files that the operator names."""
    weight = Weight.BLOCK if _is_named(copy.put_back, config) else Weight.HINT
    for one, other in zip(own.results, copy.report.results, strict=True) if copy.report else ():
        if one.passed and other.passed and _ran(one) < _ran(other):
            told = f"{clean(one.name)} runs {plural(_ran(one), 'test')}, and with the tests of the start {_ran(other)}"
            yield finding(FEWER, _KEEP, weight, Spot(copy.put_back[0]), told)


def _ran(result: CheckResult) -> int:
    return result.counts.executed if result.counts else 0


def weighed(table: OutcomeTable, own: CheckReport, copy: TrustedRun, goal: str, config: InvariantsConfig) -> OutcomeTable:
    """The table, with what goal and operator say of changed tests. Those of a check that fails anyway matter to nobody."""
    failing = {result.name for result in own.failures}
    cases = (_weighed(case, failing, copy.put_back, goal, config) if case.outcome == "CHANGED" else case for case in table.cases)
    return table.model_copy(update={"cases": tuple(cases)})


def _weighed(case: Case, failing: Collection[str], files: Sequence[str], goal: str, config: InvariantsConfig) -> Case:
    if case.name in files:  # a file that cannot be loaded any more is no test that was red: the interface may have had to change
        case = case.model_copy(update={"consequence": "asks", "why": "does not load on the new source as it was"})
    if case.check in failing:
        return case.model_copy(update={"consequence": "reported"})
    if _is_named([path for path in files if path in case.name] or files, config):  # whatever the goal says of tests
        return case.model_copy(update={"consequence": "fails"})
    if case.consequence == "asks" and config.changed_expectations == "allow":
        return _permitted(case, "changed expectations are allowed")
    # whether the goal asks for a change of that test, or of its file
    path, _, test = case.name.partition("::")
    words = {basename(path), re.split(r"\W", test.rpartition("::")[2])[0]} - {""}
    if any(re.search(rf"{_CHANGE}{re.escape(word)}(?!\w)", goal, re.IGNORECASE) for word in words):
        return _permitted(case, "the goal asks for that change")
    blocks = config.changed_expectations == "block"
    return case.model_copy(update={"consequence": "fails"}) if blocks else case


def _permitted(case: Case, because: str) -> Case:
    """A test that may change is a new one: it proves the work where it fails without it."""
    consequence = "proves" if case.fails_on_base else "reported"
    return case.model_copy(update={"consequence": consequence, "why": f"{case.why}; {because}"})
