"""The outcome of each test case, and what goal and operator make of it.

A case is seen at the base, at the head, with the base's tests on the head's source, and the other way round. In the table `CASES`
the first row that matches counts; a case that none matches is not known well enough to be listed. Where a runner names only what
fails, whatever it does not name counts as green.

For the run with the base's tests, settings of runners and checkers, what the check commands themselves run, and what
`invariants.protect` and `trusted` name count among the tests.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import basename
from typing import Literal, NamedTuple

from helmsman.config import CheckConfig, InvariantsConfig
from helmsman.parsers.paths import matches_any
from helmsman.parsers.test_files import is_test_file
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult, Finding, TrustedRun, Weight
from helmsman.records.control import MOST_NAMES, IterationSummary
from helmsman.records.verification import MOST_CASES, Case, Consequence, OutcomeName, OutcomeTable
from helmsman.texts import plural
from helmsman.verify.commands import path_of, simple_commands
from helmsman.verify.findings import Spot, finding
from helmsman.verify.touched import Touched

Seen = Literal["red", "green", "gone", "unknown"]
ANY = "red green gone unknown"
CASES: tuple[tuple[str, str, str, str, OutcomeName, Consequence, str], ...] = (
    # base, head, base's tests on the head, head's tests on the base; what it comes to, what follows, and why
    ("red", "green gone", "red", ANY, "CHANGED", "fails",
     "was red on {base} and passes only as the test was changed: {base}'s test fails on {head}'s source"),
    (ANY, "green gone", "red", ANY, "CHANGED", "asks",
     "{base}'s test fails on {head}'s source: what it expects was changed"),
    ("red", "red", ANY, ANY, "FAIL_TO_FAIL", "reported", "fails on {base} as well"),
    ("gone", "red", ANY, ANY, "PASS_TO_FAIL", "fails", "is new and fails on {head}"),
    (ANY, "red", ANY, ANY, "PASS_TO_FAIL", "fails", "fails on {head} and did not fail on {base}"),
    ("red", "green", ANY, ANY, "FAIL_TO_PASS", "proves", "fails on {base}, passes on {head}"),
    (ANY, "green", ANY, "red", "FAIL_TO_PASS", "proves",
     "is new or changed: fails on {base}'s source, passes on {head}"),
    ("gone", "green", ANY, "green", "PASS_TO_PASS", "reported",
     "is new and passes on {base}'s source as well, so it shows nothing of the change"),
    (ANY, "gone", ANY, ANY, "GONE", "reported", "was not collected or was skipped on {head}"),
    ("green", "green", ANY, ANY, "PASS_TO_PASS", "nothing", "passes on {base} and on {head}"),
)  # fmt: skip


class Names(NamedTuple):
    """What the two sides are called in sentences."""

    base: str = "the start"
    head: str = "the work"


LOOP = Names()


@dataclass(frozen=True)
class Known:
    """What one run of one check tells of its cases."""

    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    named: bool = False  # whether a report names every case, so that one that it does not name did not run
    silent: frozenset[str] = frozenset()  # names that make no case of their own
    ended: bool = True  # whether it came to an end that says something of what it does not name

    def seen(self, case: str) -> Seen:
        if case in self.failing:
            return "red"
        if case in self.passing:
            return "green"
        if not self.ended:
            return "unknown"
        return "gone" if self.named else "green"


NOT_RUN = Known(ended=False)


def known(result: CheckResult | None, title: str) -> Known:
    """`title`: what the check is called where no case of it is."""
    if result is None:
        return NOT_RUN
    failing = failing_cases(result, title)
    told = result.counts.failed <= len(result.counts.failing) if result.counts else result.passed
    ended = told and not (result.timed_out or result.error)
    return Known(frozenset(failing), frozenset(result.passing), bool(result.passing), ended=ended)


def failing_cases(result: CheckResult, title: str) -> tuple[str, ...]:
    """Cases that fail and not by chance; the check by its title where it names none. Of one that did not end, what it names."""
    if result.passed or result.by_chance:
        return ()
    failing = tuple(name for name in (result.counts.failing if result.counts else ()) if name not in result.flaky)
    return failing or (() if result.timed_out or result.error else (title,))


def outcome_table(
    head: CheckReport,
    base: CheckReport | Collection[str] | None,
    trusted: CheckReport | None = None,
    on_base: CheckReport | None = None,
    names: Names = LOOP,
) -> OutcomeTable:
    """Every case of every check. `base`: a report, or the names of what failed there; None where neither is known."""
    cases: list[Case] = []
    unnamed = 0
    for place, own in enumerate(head.results):
        at_base = _at(base, place, own.name) if isinstance(base, CheckReport) else _of_names(base, own, head)
        with_tests = _at(trusted, place, own.name)
        # one that came to no end is no pass: whoever changed the tests may have made it one
        if not (with_tests.ended or with_tests is NOT_RUN or with_tests.failing):
            with_tests = Known(frozenset({own.name}), ended=False)
        runs = (at_base, _at_head(own, base, place), with_tests, _at(on_base, place, own.name))
        found = list(_cases(own, runs, names))
        named = sum(runs[1].seen(case.name) == "green" for case in found)
        unnamed += max(0, (own.counts.passed if own.counts else 0) - named)
        cases += found
    order = "fails", "asks", "proves", "reported", "nothing"

    def rank(case: Case) -> tuple[bool, int]:
        """Cases that changed come first, of those the ones that stand against the work."""
        return not case.changed, order.index(case.consequence)

    once = {case.name: case for case in reversed(cases)} if not isinstance(base, CheckReport) else None
    return OutcomeTable(cases=tuple(sorted(reversed(once.values()) if once else cases, key=rank)), unnamed=unnamed)


def _of_names(red: Collection[str] | None, own: CheckResult, head: CheckReport) -> Known:
    """Which check a name belongs to is not told: one that counts tests has those, any other one its own name."""
    if red is None:
        return NOT_RUN
    titles = {result.name for result in head.results}
    silent = (name for name in red if (name in titles if own.counts else name != own.name))
    return Known(frozenset(red), silent=frozenset(silent))


def _at(report: CheckReport | None, place: int, title: str) -> Known:
    return known(report.results[place] if report and place < len(report.results) else None, title)


def _at_head(own: CheckResult, base: CheckReport | Collection[str] | None, place: int) -> Known:
    """What a check does not name did not run, where it passes by its exit status alone and counted tests at the base."""
    counts = base.results[place].counts if isinstance(base, CheckReport) and place < len(base.results) else None
    lost = own.passed and own.counts is None and counts is not None and counts.executed > 0
    run = known(own, own.name)
    return replace(run, named=run.named or lost or own.ran_no_test)


def _cases(own: CheckResult, runs: Sequence[Known], names: Names) -> Iterator[Case]:
    base, head, trusted, on_base = runs
    of_base = base.failing - base.silent
    listed = (*head.failing, *trusted.failing, *on_base.failing, *sorted(of_base), *own.passing, *sorted(base.passing))
    for name in dict.fromkeys(listed):
        seen = [run.seen(name) for run in runs]
        for *allowed, outcome, consequence, why in CASES:
            if all(one in words for one, words in zip(seen, map(str.split, allowed), strict=True)):
                told = {"outcome": outcome, "consequence": consequence, "why": why.format(base=names.base, head=names.head)}
                before = {"fails_on_base": seen[3] == "red", "red_on_base": seen[0] == "red"}
                yield Case.model_validate({"name": name, "check": own.name, **told, **before})
                break


# --- the tests of the start on the work -------------------------------------------------------------------------------

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
    parts = (path.split("/") for path in base)
    there = {".", *("/".join(one[:depth]) for one in parts for depth in range(1, len(one) + 1))}
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
    kept = {"cases": table.cases[:MOST_CASES], "left_out": max(0, len(table.cases) - MOST_CASES)}
    return Outcomes((*found, *fewer_tests(own, copy, config)), changed, table.model_copy(update=kept))


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
