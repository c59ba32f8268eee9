"""Required tests: which of them were seen to run. A test that exists and was skipped, or never collected, proves nothing."""

import re
from collections.abc import Collection, Iterable

_NOT_RUN = re.compile(r"\b(?:skip(?:ped|ping)?|xfail(?:ed)?|pending|todo|ignored|deselected|disabled)\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"::|[./#\\]|\s>\s|\s\u203a\s")


def ran(required: Iterable[str], reported: Collection[str], output: str) -> tuple[str, ...]:
    """Names out of `required` that a JUnit report lists as run, or that a line of the output names without calling it skipped."""
    names = tuple(required)
    if not names:
        return ()
    lines = [line for line in output.splitlines() if not _NOT_RUN.search(line)]
    return tuple(name for name in names if _reported(name, reported) or any(_names(line, name) for line in lines))


def _reported(name: str, reported: Collection[str]) -> bool:
    """By its whole name or by its last parts, so that `test_a` is `tests.test_x.TestY::test_a`; parameters may follow."""
    wanted = _parts(name)
    return any(_parts(full.partition("[")[0] if "[" not in name else full)[-len(wanted) :] == wanted for full in reported)


def _parts(name: str) -> list[str]:
    return [part for part in _SEPARATORS.split(name) if part]


def _names(line: str, name: str) -> bool:
    """Whether the line holds the name as a whole word."""
    at = line.find(name)
    while at >= 0:
        before, after = line[at - 1 : at], line[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        at = line.find(name, at + 1)
    return False
