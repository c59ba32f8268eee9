"""Tests that fail and then pass on the same tree: neither a pass nor a failure; and which required tests were seen to run."""

import re
from collections.abc import Collection, Iterable, Sequence

from helmsman.parsers.test_report import clean_lines
from helmsman.records.checks import CheckReport, CheckResult

LARGEST = 5  # failing tests that are run again at most; more of them do not fail by chance


def suspects(results: Sequence[CheckResult], before: CheckReport | None = None) -> list[int]:
    """Places of the results that are worth running again on the same tree.

    So few named tests failed that chance may be to blame, and one of them did not fail in the report before: what fails again
    and again is broken, and running it twice would double the time of every check. A timeout or a missing command is not
    run again.
    """
    known = {name for result in before.results for name in _failing(result)} if before else set[str]()
    ended = [not (one.passed or one.timed_out or one.error) for one in results]
    few = [one.counts is not None and one.counts.failed <= LARGEST for one in results]
    return [at for at, one in enumerate(results) if ended[at] and few[at] and not known.issuperset(_failing(one))]


def _failing(result: CheckResult) -> tuple[str, ...]:
    return result.counts.failing if result.counts else ()


def after_rerun(first: CheckResult, again: CheckResult, *, tolerate: bool) -> CheckResult:
    """The first result, with the names of the tests that passed when it was run again. It passes only where that is tolerated."""
    still = set(_failing(again))
    flaky = tuple(name for name in _failing(first) if name not in still) if again.passed or still else ()
    passed = tolerate and again.passed
    return first.model_copy(update={"flaky": flaky, "passed": passed, "seconds": first.seconds + again.seconds})


# --- required tests: one that exists and was skipped, or never collected, proves nothing --------------------------------------

_SKIPS = re.compile(
    r"(?<![\w./-])(?:skip(?:ped|ping)?|xfail(?:ed)?|pending|todo|ignored|deselected|disabled)(?![\w./-]|: \d)", re.IGNORECASE
)
"""As a word of its own: `NAME SKIPPED (reason)`, `--- SKIP: NAME`, `NAME # TODO`. What is left out counts against a test."""
_TICKED = re.compile(r"\s*+[✓✔√✅☑✕✗✘✖❌●]")  # a test behind one of them ran, whatever its title speaks of
_MARKED = re.compile(r"\s*+[○✎↓↩\ufe63]|.*?\([0-9.]++ms\) # |.*?Tests run: (\d++),.*?Skipped: \1(?!\d)")
"""Without such a word, or in spite of a tick: marks of jest, vitest and Node.js, a reason as Node.js gives it for a todo, and a
class of Maven's in which nothing was run."""
_SEPARATORS = re.compile(r"::|[./#\\]|\s>\s|\s\u203a\s")


def ran(required: Iterable[str], reported: Collection[str], output: str) -> tuple[str, ...]:
    """Names out of `required` that a JUnit report lists as run, or that a line of the output names without calling it skipped."""
    names, found = tuple(required), list[str]()
    lines = clean_lines(output) if names else []
    for name in names:
        # by its whole name or by its last parts, so that `test_a` is `tests.test_x.TestY::test_a`; parameters may follow
        plain = (full.partition("[")[0] if "[" not in name else full for full in reported)
        wanted, *each = ([part for part in _SEPARATORS.split(one) if part] for one in (name, *plain))
        if any(parts[-len(wanted) :] == wanted for parts in each) or _told(lines, name):
            found.append(name)
    return tuple(found)


def _told(lines: list[str], name: str) -> bool:
    """Whether a line names a test, and none that does calls it skipped."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    said = [word.sub("", line) for line in lines if word.search(line)]
    return bool(said) and not any(_MARKED.match(line) or (_SKIPS.search(line) and not _TICKED.match(line)) for line in said)
