"""Failing tests: which one, and in which words it failed."""

import re
from collections.abc import Sequence
from itertools import takewhile

from helmsman.parsers.test_report import read_summary
from helmsman.records.session import FailureClass as Class
from helmsman.verify.failures.rules import Hit, first_hit, own_frame, rules

_TELLING = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^E {2,}(?P<said>\S.*)",
        r"^ *(?:\d+\) |→ )?(?P<said>(?:\w+[.:]{1,2}){0,12}\w*(?:Error|Exception|Failure|FailedError)(?: \[\w+\])?(?:: .*|$))",
        r"^ +\S+_test\.go:\d+: +(?P<said>.*)",
        r"^ *(?P<said>expect\(.*\)\..*)",
        r"^thread '[^'\n]{1,200}'(?: \(\d+\))? panicked at [^\n]{1,200}:\n(?P<said>.*)",
        r"^thread '[^'\n]{1,200}' panicked at '(?P<said>[^\n]*)', ",
        r"^ +(?:\d+\) .{0,100})?Failure/Error: (?P<said>.*)",
        r"^(?P<said>Failed asserting .*)",
        r"^ *(?P<said>Assert\.\w+\(\) Failure.*)",
        r"^(?P<said>panic: .*)",
        r"^ +error: '?(?P<said>[^|>'].*?)'?$",
    )
)
_UNIMPORTED = re.compile(
    r"^_+ ERROR collecting |\bInterrupted: \d+ errors? during collection|: Failed to import test module", re.MULTILINE
)
"""Each file that could not be imported is counted as a failed test, and none of its tests has said anything yet."""
HEADING = re.compile(
    r"_{3,} |=== RUN   |  ● |(?:FAIL|ERROR): | *--- FAIL: |---- | FAIL  | *\d+\) |\S+ > \S.* FAILED$|\(fail\) | *not ok "
    r"| +Failed "
)


def failing_test(lines: Sequence[str], programs: frozenset[str]) -> Hit | None:
    """The failing test that comes first by name (runners that work in parallel have no other order), and what it said."""
    text = "\n".join(lines)
    counts = read_summary(text)
    hit = first_hit(rules("tests"), text, programs)
    if counts is not None and counts.failed:
        name = min(counts.failing, default=hit.at if hit else "")
        ran = any("::" in one for one in counts.failing) or not _UNIMPORTED.search(text)
        said = telling(lines, name) or f"{counts.failed} failed"
        return Hit(Class.TEST, said, name) if ran else Hit(Class.BUILD, said, own_frame(text) or name)
    return hit and hit._replace(said=telling(lines, hit.at) or hit.said)


def telling(lines: Sequence[str], name: str) -> str:
    """The first telling line below the heading of a test, else the first that it has; without a heading what a recap says."""
    start = _heading(lines, name)
    if start is None:
        return recapped(lines, name) or _first_telling("\n".join(lines))
    below = [*takewhile(lambda line: not HEADING.match(line), lines[start + 1 :])]
    text = "\n".join([lines[start], *below])
    return _first_telling(text) or recapped(lines, name) or next((line.strip() for line in below if line.strip()), "")


def _first_telling(text: str) -> str:
    found = [match for pattern in _TELLING if (match := pattern.search(text))]
    return min(found, key=lambda match: match.start())["said"] if found else ""


def _heading(lines: Sequence[str], name: str) -> int | None:
    short = name.rpartition("::")[2].partition(" (")[0]
    if not short:
        return None
    named = re.compile(rf"(?<!\w){re.escape(short)}(?!\w)")
    return next((number for number, line in enumerate(lines) if HEADING.match(line) and named.search(line)), None)


def recapped(lines: Sequence[str], name: str) -> str:
    """What the summary at the end says of it."""
    starts = (f"FAILED {name} - ", f"ERROR {name} - ")
    return next((line.partition(" - ")[2] for line in lines if line.startswith(starts)), "") if name else ""
