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

_NOT_RUN = "(?:skip(?:ped|ping)?|xfail(?:ed)?|pending|todo|ignored|deselected|disabled)"
_BEFORE = re.compile(rf"(?<![^\s\[(*]){_NOT_RUN}\s?[\])*:]*+\s++(?=(\S*+))", re.IGNORECASE)
"""`○ skipped NAME`, `--- SKIP: NAME`, `[ SKIPPED ] Suite.NAME`. Further ahead stand titles and paths: `todo.test.ts > NAME`."""
_AFTER = re.compile(rf"(?<![\w./-]){_NOT_RUN}(?![\w./-])", re.IGNORECASE)
"""`NAME SKIPPED (reason)`, `NAME ... ignored`, `NAME # TODO`."""
_ENDED = "✓✔√✅☑✕✗✘✖❌●"  # ticks and crosses: a test behind one of them ran, whatever its title speaks of
_HEAD = re.compile(
    rf"\s*+(?:[○✎↓↩\ufe63](?=\s)|-\s++(?i:{_NOT_RUN})(?!\S))"
    rf"|(?:\s*+\[[^\]\n]{{0,40}}\])*+[^\w{_ENDED}]*+(?:(?i:skip(?:ped|ping)?)|XFAIL(?:ED)?|PENDING|TODO|IGNORED|DISABLED)(?![\w./-])"
    rf"|[^{_ENDED}]*?(?<!\S)(?i:[\[(]\s*+{_NOT_RUN}\s*+[\])]|[○✎↓↩]\s++{_NOT_RUN}(?!\S))"
)
"""A status that holds for the rest of its line, titles and blanks in it too: `(skip) math > NAME`, `- [todo] math NAME`,
`○ skipped math NAME`, `Skipped math > NAME`, in capitals `XFAIL tests/test_a.py::NAME`."""
_WHOLE_CLASS = re.compile(r"Tests run: (\d++),.*?Skipped: \1(?!\d)")
"""Maven, of a class in which nothing was run: `Tests run: 5, Failures: 0, Errors: 0, Skipped: 5 - in NAME`."""
_REMARKED = re.compile(r"\s*+[✔✖\ufe63] .*\([0-9.]++ms\) # ")
"""Node.js, of a test that was skipped or is a todo; the reason may stand in the word's place: `✖ NAME (0.2ms) # later`."""
_STARTS = re.compile(r"\W*(?:INFO\W+)?(?:RUN|PAUSE|CONT|Running|Subtest:)(?!\w)|▶ ")
"""`=== RUN   NAME`, `[ RUN      ] Suite.NAME`, `[INFO] Running NAME`, `# Subtest: NAME`: what came of it is told thereafter."""
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
    """Whether lines say that a test ran; that it was started only where none says that it was skipped."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    said = [(line, _skipped(line, places)) for line in lines if (places := [found.span() for found in word.finditer(line)])]
    ended = any(not skipped and not _STARTS.match(line) for line, skipped in said)
    return ended or (bool(said) and not any(skipped for _, skipped in said))


def _skipped(line: str, places: list[tuple[int, int]]) -> bool:
    """Whether a line calls the test skipped that it names at these places."""
    head = _HEAD.match(line)
    if (head and head.end() <= places[-1][0]) or _WHOLE_CLASS.search(line) or _REMARKED.match(line):
        return True
    behind = any(found.start() >= places[0][1] for found in _AFTER.finditer(line))
    return behind or any(any(found.end() <= at <= found.end(1) for at, _ in places) for found in _BEFORE.finditer(line))
