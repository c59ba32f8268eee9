"""Outcome of each test case, and how goal and operator weigh it.

A case has a state on the base, on the head, with the base's tests on the head's source, and with the head's tests on the base's
source. The first matching row of `CASES` counts; a case without a match is not known well enough to be listed. If a runner names
only failures, cases that it does not name count as green.

In the run with the base's tests, the tests include settings of runners and checkers, files that the check commands run, and
files that `invariants.protect` and `trusted` name.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import basename
from typing import Literal, NamedTuple

from helmsman.config import CheckConfig, InvariantsConfig
from helmsman.parsers.paths import matches_any
from helmsman.parsers.source import language_of
from helmsman.plain import clean
from helmsman.records.checks import CheckReport, CheckResult, Finding, TestCounts, TrustedRun, Weight
from helmsman.records.control import MOST_NAMES, IterationSummary
from helmsman.records.verification import MOST_CASES, Case, Consequence, OutcomeName, OutcomeTable
from helmsman.texts import plural
from helmsman.verify.commands import path_in_repository, simple_commands
from helmsman.verify.findings import Spot, finding, join_some
from helmsman.verify.new_tests import asks_for_tests, is_name_of_file, names_in_file
from helmsman.verify.touched import ChangedPaths

CaseState = Literal["red", "green", "gone", "unknown"]
ANY = "red green gone unknown"
CASES: tuple[tuple[str, str, str, str, OutcomeName, Consequence, str], ...] = (
    # base, head, base's tests on the head, head's tests on the base; outcome, consequence, reason
    ("red", "green gone", "red", ANY, "CHANGED", "fails",
     "failed on {base} and passes only because the test was changed: {base}'s test fails on {head}'s source"),
    (ANY, "green gone", "red", ANY, "CHANGED", "asks",
     "{base}'s test fails on {head}'s source: what it expects was changed"),
    ("red", "red", ANY, ANY, "FAIL_TO_FAIL", "reported", "fails on {base} as well"),
    ("gone", "red", ANY, ANY, "PASS_TO_FAIL", "fails", "is new and fails on {head}"),
    (ANY, "red", ANY, ANY, "PASS_TO_FAIL", "fails", "fails on {head} and did not fail on {base}"),
    ("red", "green", ANY, ANY, "FAIL_TO_PASS", "proves", "fails on {base}, passes on {head}"),
    (ANY, "green", ANY, "red", "FAIL_TO_PASS", "proves",
     "is new or changed: fails on {base}'s source, passes on {head}"),
    ("gone", "green", ANY, "green", "PASS_TO_PASS", "reported",
     "is new and passes on {base}'s source as well, so it does not prove the change"),
    ("red", "gone", "green", ANY, "GONE", "reported",
     "failed on {base} and was removed or renamed; {base}'s test passes on {head}'s source"),
    ("red", "gone", "gone unknown", ANY, "GONE", "asks", "failed on {base} and was not run, or was skipped, on {head}"),
    (ANY, "gone", ANY, ANY, "GONE", "reported", "was not collected or was skipped on {head}"),
    ("green", "green", ANY, ANY, "PASS_TO_PASS", "nothing", "passes on {base} and on {head}"),
)  # fmt: skip


class Names(NamedTuple):
    """Names of the two sides in messages."""

    base: str = "the start"
    head: str = "the work"


LOOP = Names()


@dataclass(frozen=True)
class RunCases:
    """The cases of one run of one check, as far as its result names them."""

    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    named: bool = False  # whether a report names every case, so that an unnamed case did not run
    silent: frozenset[str] = frozenset()  # failing names that are not listed as cases of this check
    ended: bool = True  # whether it finished, so that unnamed cases have a state

    def state_of(self, case: str) -> CaseState:
        if case in self.failing:
            return "red"
        if case in self.passing:
            return "green"
        if not self.ended:
            return "unknown"
        return "gone" if self.named else "green"


NOT_RUN = RunCases(ended=False)
_SUBTEST = re.compile(r"(?<=\)) [\[(]")  # begins the parameters of a subtest: `test_a (t.T.test_a) [b]`


def run_cases(result: CheckResult | None, title: str) -> RunCases:
    """Return the cases of a result: of the failing ones those that fail reliably, or the title if it names none."""
    if result is None:
        return NOT_RUN
    failing = tuple(name for name in (result.counts.failing if result.counts else ()) if name not in result.flaky)
    if result.passed or result.is_flaky:
        failing = ()
    elif not (failing or result.timed_out or result.error):  # it names no failing case
        failing = (title,)
    names_all_failures = result.counts.failed <= len(result.counts.failing) if result.counts else result.passed
    is_cut = not result.passed and bool(result.tail) and _is_partial(result)  # further failures may be in what is missing
    ended = names_all_failures and not (result.timed_out or result.error or is_cut)
    return RunCases(frozenset(failing), frozenset(result.passing), bool(result.passing), ended=ended)


def outcome_table(
    head: CheckReport,
    base: CheckReport | Collection[str] | None,
    trusted: CheckReport | None = None,
    on_base: CheckReport | None = None,
    names: Names = LOOP,
    unloaded: Collection[str] = (),
) -> OutcomeTable:
    """Return every case of every check. `base`: a report, or the names that failed there; None if neither is known.

    `unloaded`: names of the head's tests in files that do not load on the base's source.
    """
    cases: list[Case] = []
    unnamed = 0
    for place, own in enumerate(head.results):
        at_base = _cases_at(base, place, own.name) if isinstance(base, CheckReport) else _cases_from_names(base, own, head)
        with_tests = _cases_at(trusted, place, own.name)
        # an unfinished run is not a pass: a change to the tests may have caused it
        if not (with_tests.ended or with_tests is NOT_RUN or with_tests.failing):
            with_tests = RunCases(frozenset({own.name}), ended=False)
        head_cases = _head_cases(own, base, place)
        new = _cases_at(on_base, place, own.name)
        if new.failing and unloaded:  # what an unloaded file contains did not run, and cannot pass there
            absent = head_cases.passing - new.passing - at_base.passing
            new = replace(new, failing=new.failing | {name for name in absent if names_in_file([name]) & frozenset(unloaded)})
        runs = (at_base, head_cases, with_tests, new)
        matched = list(_match_cases(own, runs, names))
        passing_named = sum(runs[1].state_of(case.name) == "green" for case in matched)
        unnamed += max(0, (own.counts.passed if own.counts else 0) - passing_named)
        cases += matched
    order = "fails", "asks", "proves", "reported", "nothing"

    def rank(case: Case) -> tuple[bool, int]:
        """Sort changed cases first, among them those against the work."""
        return not case.changed, order.index(case.consequence)

    unique = {case.name: case for case in reversed(cases)} if not isinstance(base, CheckReport) else None
    return OutcomeTable(cases=tuple(sorted(reversed(unique.values()) if unique else cases, key=rank)), unnamed=unnamed)


def _cases_from_names(red: Collection[str] | None, own: CheckResult, head: CheckReport) -> RunCases:
    """Return the base's cases of a check by failing names alone: all if it counts tests, else only its own name."""
    if red is None:
        return NOT_RUN
    titles = {result.name for result in head.results}
    silent = (name for name in red if (name in titles if own.counts else name != own.name))
    return RunCases(frozenset(red), silent=frozenset(silent))


def _cases_at(report: CheckReport | None, place: int, title: str) -> RunCases:
    return run_cases(report.results[place] if report and place < len(report.results) else None, title)


def _head_cases(own: CheckResult, base: CheckReport | Collection[str] | None, place: int) -> RunCases:
    """Return the head's cases. Without names, one did not run if a check without failures counts fewer tests than on the base."""
    counts = base.results[place].counts if isinstance(base, CheckReport) and place < len(base.results) else None
    none_failed = own.passed or (own.counts is not None and not own.counts.failed)
    lost = none_failed and counts is not None and _executed(own) < _tests_run(counts) and not _is_partial(own)
    run = run_cases(own, own.name)
    return replace(run, named=run.named or lost or own.ran_no_test)


def _tests_run(counts: TestCounts) -> int:
    """Return the number of executed tests. A runner that counts each failing subtest of one test counts more."""
    subtests = len(counts.failing) - len({_SUBTEST.split(name)[0] for name in counts.failing})
    return counts.executed - subtests


def _match_cases(own: CheckResult, runs: Sequence[RunCases], names: Names) -> Iterator[Case]:
    base, head, trusted, on_base = runs
    of_base = base.failing - base.silent
    listed = (*head.failing, *trusted.failing, *on_base.failing, *sorted(of_base), *own.passing, *sorted(base.passing))
    for name in dict.fromkeys(listed):
        states = [run.state_of(name) for run in runs]
        for *allowed, outcome, consequence, why in CASES:
            if all(state in words for state, words in zip(states, map(str.split, allowed), strict=True)):
                matched = {"outcome": outcome, "consequence": consequence, "why": why.format(base=names.base, head=names.head)}
                before = {"fails_on_base": states[3] == "red", "red_on_base": states[0] == "red"}
                yield Case.model_validate({"name": name, "check": own.name, **matched, **before})
                break


# --- the tests of the start on the work -------------------------------------------------------------------------------

RULE, FEWER = "trusted.expectations", "trusted.fewer"
_PUT_BACK = (
    "Restore the test as it was at the start and make the source pass it. If the goal asks for another result, say so and let a"
    " person exempt the file."
)
_KEEP = "Keep the existing tests, or explain in a commit message why they are no longer needed."
_ASKS_FOR_CHANGE = (
    r"\b(?:adapt|adjust|change|delete|drop|edit|migrate|move|remove|rename|replace|rewrite|update)\w*\b"
    r"(?:[^.!?\n]|[.!?](?=\S)){0,80}"
)
"""Verbs with which a goal asks for changed tests. Not `fix`: to fix a test mostly means to fix what it tests."""
_LOW_COVERAGE = re.compile(r"(?i)coverage\b[^\n]{0,80}\b(?:not reached|not met|less than|does not meet|below)\b")
"""What pytest-cov, coverage, jest, vitest, c8, node, SimpleCov, tarpaulin and coverlet say."""
_PLAIN_WORD, _TEST_WORD = re.compile(r"[a-z]+", re.IGNORECASE), re.compile(r"\b(?:tests?|specs?|cases?)\b", re.IGNORECASE)


class Outcomes(NamedTuple):
    """What the start's tests show about the new source, given that the work's own tests pass."""

    findings: tuple[Finding, ...] = ()
    """Red tests that were changed to pass; with `changed_expectations = "block"` also those in `changed`. As hints: checks that
    run fewer tests than with those of the start."""
    changed: tuple[str, ...] = ()  # tests, or checks, with changed expectations
    table: OutcomeTable = OutcomeTable()


def tests_of_start(
    changed: ChangedPaths, base: Collection[str], checks: Sequence[CheckConfig], config: InvariantsConfig
) -> tuple[str, ...]:
    """Return the changed paths that judge the work, for the caller to restore.

    Empty if the work only adds test files: these change no expectation. A new file that a check names stays.
    """
    protected = [path for path in changed.source if _is_protected([path], config)]
    judging = [path for path in (*changed.judging, *protected) if not matches_any(path, config.allow)]
    parts = (path.split("/") for path in base)
    existing = {".", *("/".join(names[:depth]) for names in parts for depth in range(1, len(names) + 1))}
    words = ((command, word) for check in checks for command in simple_commands(check.command) for word in command.words if word)
    paths = {path_in_repository(command, word.partition("::")[0]) for command, word in words}
    missing_at_start = [
        path for path in paths if path and path not in existing
    ]  # paths that checks name and that did not exist at the start
    kept = tuple(
        path for path in judging if path in base or not any(f"{path}/".startswith(f"{place}/") for place in missing_at_start)
    )
    return kept if any(path in base or path not in changed.tests for path in kept) else ()


def _is_protected(paths: Iterable[str], config: InvariantsConfig) -> bool:
    """Whether the operator protects one of the paths or lists it as trusted."""
    return any(matches_any(path, (*config.protect, *config.trusted)) for path in paths)


def failing_at_start(history: Sequence[IterationSummary]) -> frozenset[str] | None:
    """Return the tests, and checks that name none, that failed before any work; None if not known completely."""
    start = next((summary for summary in history if summary.iteration == 0 and summary.checked), None)
    return frozenset(start.failing) if start and len(start.failing) < MOST_NAMES else None


def outcomes(
    own: CheckReport,
    copy: TrustedRun,
    red: Collection[str] | None,
    goal: str,
    config: InvariantsConfig,
    on_start: CheckReport | None = None,
    unloaded: Collection[str] = (),
) -> Outcomes:
    """Weigh the runs. `red`: names that failed at the start; `on_start`: report of the work's tests on the start's source."""
    table = weigh_changes(outcome_table(own, red, copy.report, on_start, unloaded=unloaded), own, copy, goal, config)
    changed = tuple(case.name for case in table.of("asks"))
    findings: list[Finding] = []
    for case in table.of("fails"):
        if case.outcome == "CHANGED":
            path = next((path for path in copy.put_back if path in case.name), copy.put_back[0])
            findings.append(finding(RULE, _PUT_BACK, Weight.BLOCK, Spot(path), f"{clean(case.name)} {case.why}"))
    limited = {"cases": table.cases[:MOST_CASES], "left_out": max(0, len(table.cases) - MOST_CASES)}
    return Outcomes((*findings, *fewer_tests(own, copy, config)), changed, table.model_copy(update=limited))


def fewer_tests(own: CheckReport, copy: TrustedRun, config: InvariantsConfig) -> Iterator[Finding]:
    """Yield findings for checks that run fewer tests than with the start's: hints, except for files that the operator names."""
    weight = Weight.BLOCK if _is_protected(copy.put_back, config) else Weight.HINT
    for result, with_start in zip(own.results, copy.report.results, strict=True) if copy.report else ():
        if result.passed and with_start.passed and _executed(result) < _executed(with_start) and not _is_partial(result):
            count = plural(_executed(result), "test")
            message = f"{clean(result.name)} runs {count}, but {_executed(with_start)} with the tests of the start"
            yield finding(FEWER, _KEEP, weight, Spot(copy.put_back[0]), message)


def _executed(result: CheckResult) -> int:
    return result.counts.executed if result.counts else 0


def _is_partial(result: CheckResult) -> bool:
    return result.counts is not None and result.counts.partial


def weigh_changes(table: OutcomeTable, own: CheckReport, copy: TrustedRun, goal: str, config: InvariantsConfig) -> OutcomeTable:
    """Apply goal and configuration to changed tests in the table. Cases of a failing check are only reported."""
    failing = {result.name for result in own.failures}
    pairs = zip(own.results, copy.report.results, strict=True) if copy.report else ()
    low = {result.name for result, with_start in pairs if _misses_coverage(with_start)}

    def weigh(case: Case) -> Case:
        if case.name == case.check and case.name in low and not case.red_on_base:  # new source needs new tests
            why = "misses its coverage without the new tests, and all others pass"
            return case.model_copy(update={"consequence": "reported", "why": why})
        is_open = {"CHANGED", "asks"} & {case.outcome, case.consequence}
        return _weigh_case(case, failing, copy, goal, config) if is_open else case

    return table.model_copy(update={"cases": tuple(map(weigh, table.cases))})


def _misses_coverage(result: CheckResult) -> bool:
    """Whether all tests of a failing check pass, and it says that they cover too little."""
    all_pass = result.counts is not None and result.counts.executed > 0 and not result.counts.failed
    return all_pass and not result.passed and _LOW_COVERAGE.search(f"{result.head}\n{result.tail}") is not None


def _weigh_case(case: Case, failing: Collection[str], copy: TrustedRun, goal: str, config: InvariantsConfig) -> Case:
    files = copy.put_back
    if copy.data and case.consequence == "fails":  # other programs may read it as well
        names = join_some([clean(path) for path in copy.data])
        why = f"fails with the original {names}, which only checks or set-up seem to read"
        case = case.model_copy(update={"consequence": "asks", "why": why})
        if {*files} == {*copy.data} and all(basename(path) in goal for path in files):
            return _permit(case, "the goal names it")
    # a file that no longer loads is not a red test: the interface may have had to change
    if any(is_name_of_file(case.name, path) for path in files):
        case = case.model_copy(update={"consequence": "asks", "why": "does not load on the new source in its original form"})
    if case.outcome == "CHANGED" and not copy.data and (case.name == case.check or not any(map(language_of, files))):
        why = f"passes only with the new version of {join_some([clean(path) for path in files])}"
        case = case.model_copy(update={"why": why})
    if case.check in failing:
        return case.model_copy(update={"consequence": "reported"})
    if _is_protected([path for path in files if path in case.name] or files, config):  # regardless of the goal
        return case.model_copy(update={"consequence": "fails"})
    if case.consequence == "asks" and config.changed_expectations == "allow":
        return _permit(case, "changed expectations are allowed")
    if _goal_names(case.name, goal):
        return _permit(case, "the goal asks for that change")
    if case.outcome == "CHANGED" and case.name == case.check and asks_for_tests(goal):  # it may count tests or their coverage
        why = "fails without the added or changed tests: the goal asks for tests, but whether these test anything is not known"
        case = case.model_copy(update={"consequence": "asks", "why": why})
    blocks = config.changed_expectations == "block" and case.outcome == "CHANGED"
    return case.model_copy(update={"consequence": "fails"}) if blocks else case


def _goal_names(case: str, goal: str) -> bool:
    """Whether the goal asks for a change of that test, or of its file. A plain word counts only with the word `test`."""
    path, _, test = case.partition("::")
    title = test.rpartition("::")[2].partition("[")[0].strip() or case.partition(" (")[0]
    for name in {basename(path) if "." in path else title, title}:
        asked = re.search(rf"{_ASKS_FOR_CHANGE}{re.escape(name)}(?!\w)(?: tests?\b)?", goal, re.IGNORECASE)
        if asked and (not _PLAIN_WORD.fullmatch(name) or _TEST_WORD.search(asked[0])):
            return True
    return False


def _permit(case: Case, because: str) -> Case:
    """Treat a permitted change as a new test: it proves the work if it fails without it."""
    consequence = "proves" if case.fails_on_base else "reported"
    return case.model_copy(update={"consequence": consequence, "why": f"{case.why}; {because}"})
