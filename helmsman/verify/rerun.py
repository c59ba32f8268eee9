"""Flaky tests, which fail and then pass on the same tree; and evidence that required tests ran."""

import re
from collections.abc import Collection, Iterable, Sequence

from helmsman.parsers.test_report import clean_lines
from helmsman.records.checks import CheckReport, CheckResult

LARGEST = 5  # maximum number of failing tests to rerun; more do not fail by chance


def suspected_flaky(results: Sequence[CheckResult], before: CheckReport | None = None) -> list[int]:
    """Return the indexes of results to rerun on the same tree.

    Few enough named tests failed to be flaky, and one of them did not fail in the previous report: tests that fail repeatedly are
    broken, and a rerun would double the time of every check. Timeouts and missing commands are not rerun.
    """
    known_failing = {name for result in before.results for name in _failing(result)} if before else set[str]()
    ended = [not (result.passed or result.timed_out or result.error) for result in results]
    few = [result.counts is not None and result.counts.failed <= LARGEST for result in results]
    return [at for at, result in enumerate(results) if ended[at] and few[at] and not known_failing.issuperset(_failing(result))]


def _failing(result: CheckResult) -> tuple[str, ...]:
    return result.counts.failing if result.counts else ()


def merge_rerun(first: CheckResult, again: CheckResult, *, tolerate: bool) -> CheckResult:
    """Return the first result with the tests that passed in the rerun as flaky. It passes only if that is tolerated."""
    still_failing = set(_failing(again))
    flaky = tuple(name for name in _failing(first) if name not in still_failing) if again.passed or still_failing else ()
    passed = tolerate and again.passed
    return first.model_copy(update={"flaky": flaky, "passed": passed, "seconds": first.seconds + again.seconds})


# --- required tests: one that exists and was skipped, or never collected, proves nothing --------------------------------------

_SKIPS = re.compile(
    r"(?<![\w./-])(?:skip(?:ped|ping)?|xfail(?:ed)?|pending|todo|ignored|deselected|disabled)(?![\w./-]|: \d)", re.IGNORECASE
)
"""A separate word: `NAME SKIPPED (reason)`, `--- SKIP: NAME`, `NAME # TODO`. A skipped test counts as not run."""
_TICKED = re.compile(r"\s*+[✓✔√✅☑✕✗✘✖❌●]")  # a test after such a mark ran, whatever its title says
_MARKED_SKIPPED = re.compile(r"\s*+[○✎↓↩\ufe63]|.*?\([0-9.]++ms\) # |.*?Tests run: (\d++),.*?Skipped: \1(?!\d)")
"""Skipped without such a word, or despite a tick: marks of jest, vitest and Node.js, a todo's reason in Node.js, and a Maven
class in which every test was skipped."""
_SEPARATORS = re.compile(r"::|[./#\\]|\s>\s|\s\u203a\s")


def find_required(required: Iterable[str], reported: Collection[str], output: str) -> tuple[str, ...]:
    """Return names from `required` that a JUnit report lists as run, or that the output names without a mark as skipped."""
    names, that_ran = tuple(required), list[str]()
    lines = clean_lines(output) if names else []
    for name in names:
        # match the full name or its last parts, so that `test_a` is `tests.test_x.TestY::test_a`; parameters may follow
        plain = (full.partition("[")[0] if "[" not in name else full for full in reported)
        wanted_parts, *full_names = ([part for part in _SEPARATORS.split(one) if part] for one in (name, *plain))
        if any(parts[-len(wanted_parts) :] == wanted_parts for parts in full_names) or _ran_by_output(lines, name):
            that_ran.append(name)
    return tuple(that_ran)


def _ran_by_output(lines: list[str], name: str) -> bool:
    """Whether a line names a test, and no such line marks it as skipped."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    mentions = [word.sub("", line) for line in lines if word.search(line)]
    return bool(mentions) and not any(
        _MARKED_SKIPPED.match(line) or (_SKIPS.search(line) and not _TICKED.match(line)) for line in mentions
    )
