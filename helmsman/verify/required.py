"""Required tests: which of them were seen to run. A test that exists and was skipped, or never collected, proves nothing."""

import re
from collections.abc import Collection, Iterable

from helmsman.parsers.test_report import clean_lines

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
