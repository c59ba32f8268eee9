"""One small reader for each test runner: its lines in, its runs out.

A summary is recognised by the shape of its own line and of the lines beside it, so that one runner's output is never
taken for another's. A test that is expected to fail counts as skipped: it proves nothing about the goal.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from helmsman.records.checks import TestCounts
from helmsman.verify.runs import Run, Tally, line_at, matching, read_labels, read_tally, run_counts, total
from helmsman.verify.sessions import Mark, Span, outermost


def _marks(patterns: Iterable[tuple[Mark, re.Pattern[str]]], lines: list[str]) -> Iterator[tuple[int, Mark]]:
    for number, line in enumerate(lines):
        for mark, pattern in patterns:
            if pattern.fullmatch(line):
                yield number, mark
                break


def _between(found: list[Span], lines: list[str]) -> Iterator[list[str]]:
    """Give the lines from below each summary to the next one."""
    ends = [*(first for first, _ in found), len(lines)][1:]
    return (lines[last + 1 : end] for (_, last), end in zip(found, ends, strict=True))


def _below_last(heading: re.Pattern[str], lines: list[str]) -> list[str]:
    """Give the lines below the last heading; all, where the heading is in the part of the output that was not kept."""
    return list(takewhile(lambda line: not heading.fullmatch(line), reversed(lines)))[::-1]


# pytest ---------------------------------------------------------------------------------------------------------------

_PYTEST_WORD = "(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|subtests passed|rerun)"
_PYTEST_TOTALS = (
    rf"(?:no tests ran|[0-9]++ {_PYTEST_WORD}(?:, [0-9]++ [a-z]++(?: [a-z]++)?)*)"
    r" in [0-9]++\.[0-9]++s(?: \([^()]++\))?"
)
_PYTEST_RECAP = re.compile("=++ short test summary info =++")
_PYTEST_MARKS = (
    (Mark.START, re.compile("=++ test session starts =++")),
    (Mark.REPORT, re.compile("=++ (?:ERRORS|FAILURES|PASSES|XFAILURES|XPASSES) =++")),
    (Mark.RECAP, _PYTEST_RECAP),
    (Mark.END, re.compile(f"=++ {_PYTEST_TOTALS} =++")),
    (Mark.BARE_END, re.compile(_PYTEST_TOTALS)),
)
_PYTEST_FAILING = re.compile(r"(?:FAILED|ERROR|SUBFAILED(?:\[[^\]]*+\])?+ ?(?:\([^()]*+\))?) (\S.*)")


def read_pytest(lines: list[str]) -> Iterator[Run]:
    for first, last in outermost(_marks(_PYTEST_MARKS, lines)):
        yield Run(first, last, _pytest_counts(lines[first:last], read_tally(lines[last])))


def _pytest_counts(lines: list[str], tally: Tally) -> TestCounts:
    recap = _below_last(_PYTEST_RECAP, lines)
    return run_counts(
        passed=total(tally, "passed"),
        failed=total(tally, "failed", "error", "errors"),
        skipped=total(tally, "skipped", "xfailed", "xpassed"),
        names=(_pytest_name(match[1]) for _, match in matching(_PYTEST_FAILING, recap)),
    )


def _pytest_name(text: str) -> str:
    """Cut the message off; a dash inside the brackets belongs to the test's parameters."""
    for dash in re.finditer(" - ", text):
        name = text[: dash.start()]
        if "[" not in name or name.endswith("]"):
            return name
    return text


# unittest -------------------------------------------------------------------------------------------------------------

_UNITTEST_RAN = re.compile(r"Ran ([0-9]{1,9}) tests? in [0-9.]++s")
_UNITTEST_VERDICT = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
_UNITTEST_FAILING = re.compile("(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")


def read_unittest(lines: list[str]) -> Iterator[Run]:
    """Read runs of Python's unittest, which counts each failing subtest: `passed` may be too low, never too high."""
    start = 0
    for number, ran in matching(_UNITTEST_RAN, lines):
        verdict = _UNITTEST_VERDICT.fullmatch(line_at(lines, number + 2))
        if verdict and _is_rule("-", line_at(lines, number - 1)):
            yield Run(number, number + 2, _unittest_counts(lines[start:number], int(ran[1]), verdict[1] or ""))
            start = number


def _unittest_counts(lines: list[str], ran: int, details: str) -> TestCounts:
    tally = read_labels(details)
    failed = total(tally, "failures", "errors", "unexpected successes")
    skipped = total(tally, "skipped", "expected failures")
    names = (match[1] for number, match in matching(_UNITTEST_FAILING, lines) if _is_rule("=", line_at(lines, number - 1)))
    return run_counts(ran - failed - skipped, failed, skipped, names)


def _is_rule(character: str, line: str) -> bool:
    return line == character * 70


# jest -----------------------------------------------------------------------------------------------------------------

_JEST_TESTS = re.compile("Tests: +[0-9].* total")
_JEST_SUITES = re.compile("Test Suites: [0-9].* total")
_JEST_FILE = re.compile(r" ?FAIL +(\S.*?)(?: \([0-9.]++ m?s\))?")
_JEST_HEADING = re.compile("  ● (.+)")
_JEST_SUITE_FAILED = "Test suite failed to run"


def read_jest(lines: list[str]) -> Iterator[Run]:
    start = 0
    for number, tests in matching(_JEST_TESTS, lines):
        if suites := _JEST_SUITES.fullmatch(line_at(lines, number - 1)):
            yield Run(number, number, _jest_counts(lines[start:number], read_tally(tests[0]), read_tally(suites[0])))
            start = number


def _jest_counts(lines: list[str], tests: Tally, suites: Tally) -> TestCounts:
    """A suite that cannot be loaded has no tests, so jest counts it only among the suites: it is an error here."""
    failures = list(_jest_failures(lines))
    broken = {file for file, heading in failures if heading == _JEST_SUITE_FAILED}
    failed = total(tests, "failed") + len(broken) or total(suites, "failed")
    names = (file if heading == _JEST_SUITE_FAILED else heading for file, heading in failures)
    return run_counts(total(tests, "passed"), failed, total(tests, "skipped", "todo"), names if failed else ())


def _jest_failures(lines: list[str]) -> Iterator[tuple[str, str]]:
    file = ""
    for line in lines:
        if match := _JEST_FILE.fullmatch(line):
            file = match[1]
        elif (match := _JEST_HEADING.fullmatch(line)) and match[1] != "Console":
            yield file, match[1]


# vitest ---------------------------------------------------------------------------------------------------------------

_VITEST_TESTS = re.compile(r" +Tests  +(?:no tests|[0-9(].*)")
_VITEST_FILES = re.compile(" Test Files  .+")
_VITEST_BROKEN = re.compile("⎯++ Failed Suites ([0-9]{1,9}) ⎯++")
_VITEST_ERRORS = re.compile(" +Errors  ([0-9]{1,9}) errors?")
_VITEST_FAILING = re.compile(" FAIL  (.+)")


def read_vitest(lines: list[str]) -> Iterator[Run]:
    start = 0
    for number, tests in matching(_VITEST_TESTS, lines):
        if files := _VITEST_FILES.fullmatch(line_at(lines, number - 1)):
            counts = _vitest_counts(lines[start:number], read_tally(tests[0]), read_tally(files[0]), line_at(lines, number + 1))
            yield Run(number, number, counts)
            start = number


def _vitest_counts(lines: list[str], tests: Tally, files: Tally, next_line: str) -> TestCounts:
    """Add what vitest does not count as tests: suites that cannot be loaded, errors outside of tests."""
    unhandled = _VITEST_ERRORS.fullmatch(next_line)
    errors = int(unhandled[1]) if unhandled else 0
    broken = sum(int(match[1]) for _, match in matching(_VITEST_BROKEN, lines))
    failed = total(tests, "failed") + broken + errors or total(files, "failed")
    names = (_vitest_name(match[1]) for _, match in matching(_VITEST_FAILING, lines))
    return run_counts(total(tests, "passed"), failed, total(tests, "skipped", "todo", "expected"), names if failed else ())


def _vitest_name(text: str) -> str:
    """A file that cannot be loaded is named twice, the second time in brackets."""
    return text.partition(" [ ")[0] if text.endswith(" ]") else text


# go test --------------------------------------------------------------------------------------------------------------

_GO_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t(\S++)[ \t](.+)")
_GO_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): (.+) \([0-9.]++s\)")


def read_go(lines: list[str]) -> Iterator[Run]:
    start = 0
    for number, package in matching(_GO_PACKAGE, lines):
        tests = [(match[1], match[2]) for _, match in matching(_GO_TEST, lines[start:number])]
        yield Run(number, number, _go_counts(package, tests))
        start = number + 1


def _go_counts(package: re.Match[str], tests: list[tuple[str, str]]) -> TestCounts:
    """Count tests where go names them, subtests too; a package of which it names none counts as one test."""
    status, name, note = package[1].strip(), package[2], package[3]
    outcomes = [outcome for outcome, _ in tests]
    failing = [test for outcome, test in tests if outcome == "FAIL"]
    if status == "FAIL":
        failing = failing or [name]  # it was not built, panicked or ran out of time
    anonymous = status == "ok" and not tests and "[no tests to run]" not in note
    return run_counts(outcomes.count("PASS") + anonymous, len(failing), outcomes.count("SKIP"), failing)


# cargo test -----------------------------------------------------------------------------------------------------------

_CARGO_MARKS = (
    (Mark.START, re.compile("running [0-9]++ tests?")),
    (Mark.END, re.compile(r"test result: (?:ok|FAILED)\. [0-9]++ passed; [0-9]++ failed; [0-9]++ ignored; .+")),
)
_CARGO_FAILURES = re.compile("failures:")


def read_cargo(lines: list[str]) -> Iterator[Run]:
    """Each test binary prints a session of its own."""
    for first, last in outermost(_marks(_CARGO_MARKS, lines)):
        tally = read_tally(lines[last])
        names = _cargo_failing(lines[first:last]) if total(tally, "failed") else []
        passed = total(tally, "passed", "measured")
        yield Run(first, last, run_counts(passed, total(tally, "failed"), total(tally, "ignored"), names))


def _cargo_failing(lines: list[str]) -> list[str]:
    below = _below_last(_CARGO_FAILURES, lines)
    return [line.strip() for line in takewhile(lambda line: line.startswith("    "), below)]


# mocha ----------------------------------------------------------------------------------------------------------------

_MOCHA_PASSING = re.compile(r"  [0-9]{1,9} passing(?: \(.+\))?")
_MOCHA_OTHER = re.compile("  [0-9]{1,9} (?:pending|failing)")
_MOCHA_DEPTH = 20
_MOCHA_TITLE = re.compile(r"  ([0-9]{1,9})\) (.+)")


def read_mocha(lines: list[str]) -> Iterator[Run]:
    """Read runs of mocha, where the names stand below the summary."""
    found = list(_mocha_summaries(lines))
    for (first, last), below in zip(found, _between(found, lines), strict=True):
        tally = read_tally(" ".join(lines[first : last + 1]))
        failed = total(tally, "failing")
        names = _mocha_names(below, failed)
        yield Run(first, last, run_counts(total(tally, "passing"), failed, total(tally, "pending"), names))


def _mocha_summaries(lines: list[str]) -> Iterator[Span]:
    """A summary stands between blank lines; what a test prints stands among the names of tests."""
    for number, _ in matching(_MOCHA_PASSING, lines):
        others = list(takewhile(_MOCHA_OTHER.fullmatch, lines[number + 1 : number + 3]))
        last = number + len(others)
        if not line_at(lines, number - 1) and not line_at(lines, last + 1):
            yield number, last


def _mocha_names(lines: list[str], failed: int) -> Iterator[str]:
    """A title is numbered and takes a line for each suite around the test, up to a line that ends with a colon."""
    expected = 1
    for number, title in matching(_MOCHA_TITLE, lines):
        if expected <= failed and int(title[1]) == expected:
            expected += 1
            yield _mocha_name([title[2], *lines[number + 1 : number + _MOCHA_DEPTH]])


def _mocha_name(lines: list[str]) -> str:
    suites = list(takewhile(lambda line: line and not line.endswith(":"), lines))
    return " ".join(part.strip() for part in lines[: len(suites) + 1]).removesuffix(":")


# RSpec ----------------------------------------------------------------------------------------------------------------

_RSPEC_TOTALS = re.compile(
    "([0-9]{1,9}) examples?, ([0-9]{1,9}) failures?(?:, ([0-9]{1,9}) pending)?"
    "(?:, ([0-9]{1,9}) errors? occurred outside of examples)?"
)
_RSPEC_FAILING = re.compile("rspec (.+ # .+)")
_RSPEC_NOT_LOADED = re.compile(r"An error occurred while loading (.+)\.")


def read_rspec(lines: list[str]) -> Iterator[Run]:
    """Read runs of RSpec: files that could not be loaded stand above the summary, failing examples below."""
    totals = [(n, match) for n, match in matching(_RSPEC_TOTALS, lines) if line_at(lines, n - 1).startswith("Finished in ")]
    start = 0
    regions = _between([(number, number) for number, _ in totals], lines)
    for (number, match), below in zip(totals, regions, strict=True):
        yield Run(number, number, _rspec_counts(match, lines[start:number], below))
        start = number


def _rspec_counts(totals: re.Match[str], above: list[str], below: list[str]) -> TestCounts:
    examples, failures, pending, errors = (int(number or 0) for number in totals.groups())
    names = [match[1] for _, match in matching(_RSPEC_NOT_LOADED, above)] if errors else []
    names += [match[1] for _, match in matching(_RSPEC_FAILING, below)] if failures else []
    return run_counts(examples - failures - pending, failures + errors, pending, names)


# PHPUnit --------------------------------------------------------------------------------------------------------------

_PHPUNIT_OK = re.compile(r"OK \(([0-9]{1,9}) tests?, [0-9]{1,9} assertions?\)")
_PHPUNIT_TOTALS = re.compile(r"Tests: [0-9]++, Assertions: [0-9]++(?:, [A-Z][A-Za-z ]++: [0-9]++)*\.")
_PHPUNIT_SECTION = re.compile("There (?:was|were) [0-9]{1,9} (.+):|.+ triggered [0-9]{1,9} .+:")
_PHPUNIT_TITLE = re.compile(r"[0-9]{1,9}\) (.+)")
_PHPUNIT_NO_TEST = re.compile('(?:   │ )?No tests found in class ".+"\\.')
"""Until PHPUnit 9 a class without a test is itself a test, with a warning."""
_PHPUNIT_TESTDOX = re.compile(r" ✘ (.+?)(?: \[[0-9.]++ m?s\])?")


def read_phpunit(lines: list[str]) -> Iterator[Run]:
    for number, match in matching(_PHPUNIT_OK, lines):
        yield Run(number, number, run_counts(int(match[1]), 0, 0, ()))
    start = 0
    for number, match in matching(_PHPUNIT_TOTALS, lines):
        if line_at(lines, number - 1).endswith("!"):
            yield Run(number, number, _phpunit_counts(lines[start:number], read_labels(match[0])))
            start = number


def _phpunit_counts(lines: list[str], tally: Tally) -> TestCounts:
    failed = total(tally, "Errors", "Failures")
    skipped = total(tally, "Skipped", "Incomplete")
    no_tests = sum(1 for _ in matching(_PHPUNIT_NO_TEST, lines))
    names = [*_phpunit_names(lines)] or [*_testdox_names(lines)]
    return run_counts(total(tally, "Tests") - failed - skipped - no_tests, failed, skipped, names if failed else ())


def _phpunit_names(lines: list[str]) -> Iterator[str]:
    """Warnings and skipped tests are numbered like failures, so the heading above decides."""
    section = ""
    for line in lines:
        if match := _PHPUNIT_SECTION.fullmatch(line):
            section = match[1] or ""
        elif (match := _PHPUNIT_TITLE.fullmatch(line)) and section.rstrip("s").endswith(("error", "failure")):
            yield match[1]


def _testdox_names(lines: list[str]) -> Iterator[str]:
    """With `--testdox` failing tests are crossed below the name of their class."""
    group = ""
    for line in lines:
        if line and not line.startswith(" "):
            group = line
        elif match := _PHPUNIT_TESTDOX.fullmatch(line):
            yield f"{group} > {match[1]}"


# Maven ----------------------------------------------------------------------------------------------------------------

_MAVEN_TOTALS = re.compile(
    r"(\[[A-Z]++\] )?+(Tests run: [0-9]++, Failures: [0-9]++, Errors: [0-9]++, Skipped: [0-9]++)(?:, Flakes: [0-9]++)?"
)
_MAVEN_RESULTS = "Results :"
"""Before Surefire 2.20 lines have no level, and this stands above the totals."""
_MAVEN_SECTION = re.compile(r"\[[A-Z]++\] ([A-Z][a-z]++): ?")
_MAVEN_FAILING = re.compile(r"\[ERROR\] {2,4}([A-Za-z_][\w.$]*+(?:\([^()]*+\))?+(?:\[[^\]]*+\])?+).*")


def read_maven(lines: list[str]) -> Iterator[Run]:
    """Read runs of Maven's Surefire and Failsafe by the totals of each module; those of a class go on with a time."""
    start = 0
    for number, match in matching(_MAVEN_TOTALS, lines):
        if match[1] or _MAVEN_RESULTS in lines[start:number]:
            yield Run(number, number, _maven_counts(lines[start:number], read_labels(match[2])))
            start = number


def _maven_counts(lines: list[str], tally: Tally) -> TestCounts:
    failed, skipped = total(tally, "Failures", "Errors"), total(tally, "Skipped")
    names = _maven_names(lines) if failed else ()
    return run_counts(total(tally, "Tests run") - failed - skipped, failed, skipped, names)


def _maven_names(lines: list[str]) -> Iterator[str]:
    """A message goes on in lines without a level."""
    section = ""
    for line in lines:
        if match := _MAVEN_SECTION.fullmatch(line):
            section = match[1]
        elif section in {"Failures", "Errors"} and (match := _MAVEN_FAILING.fullmatch(line)):
            yield match[1]
