"""Required tests: which of them were seen to run. A test that exists and was skipped, or never collected, proves nothing."""

import re
from collections.abc import Collection, Iterable, Iterator

from helmsman.verify.summaries import clean_lines

_NOT_RUN = "(?:skip(?:ped|ping)?|xfail(?:ed)?|pending|todo|ignored|deselected|disabled)"
_BEFORE = re.compile(rf"(?:^|[\s\[(*]){_NOT_RUN}\s?[\])*:]*\s+\S*$", re.IGNORECASE)
"""`○ skipped NAME`, `--- SKIP: NAME`, `[ SKIPPED ] Suite.NAME`. Further ahead stand titles and paths: `todo.test.ts > NAME`."""
_AFTER = re.compile(rf"(?<![\w./-]){_NOT_RUN}(?![\w./-])", re.IGNORECASE)
"""`NAME SKIPPED (reason)`, `NAME ... ignored`, `NAME # TODO`."""
_FIRST = re.compile(r"\W*(?:SKIP(?:PED)?|XFAIL(?:ED)?|PENDING|TODO|IGNORED|DISABLED)(?![\w./-])")
"""In capitals at the start of a line: `SKIPPED [1] tests/test_a.py::NAME`."""
_SEPARATORS = re.compile(r"::|[./#\\]|\s>\s|\s\u203a\s")


def ran(required: Iterable[str], reported: Collection[str], output: str) -> tuple[str, ...]:
    """Names out of `required` that a JUnit report lists as run, or that a line of the output names without calling it skipped."""
    names = tuple(required)
    lines = clean_lines(output) if names else []
    return tuple(name for name in names if _reported(name, reported) or any(_tells(line, name) for line in lines))


def _reported(name: str, reported: Collection[str]) -> bool:
    """By its whole name or by its last parts, so that `test_a` is `tests.test_x.TestY::test_a`; parameters may follow."""
    wanted = _parts(name)
    return any(_parts(full.partition("[")[0] if "[" not in name else full)[-len(wanted) :] == wanted for full in reported)


def _parts(name: str) -> list[str]:
    return [part for part in _SEPARATORS.split(name) if part]


def _tells(line: str, name: str) -> bool:
    """Whether a line says that a test ran: it names it, and calls it skipped nowhere."""
    places = list(_places(line, name))
    skipped = _FIRST.match(line) or any(_BEFORE.search(line[:at]) or _AFTER.search(line[at + len(name) :]) for at in places)
    return bool(places) and not skipped


def _places(line: str, name: str) -> Iterator[int]:
    """Where the line holds the name as a whole word."""
    at = line.find(name)
    while at >= 0:
        before, after = line[at - 1 : at], line[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            yield at
        at = line.find(name, at + 1)
