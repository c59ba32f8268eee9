"""Runs of test runners in lines of output, and which of a runner's summaries are its own.

A runner that captures what tests print shows it again when they fail, and tests of test tools print whole sessions. So
beginnings and ends are matched like brackets: only the outermost sessions count, each with the last end it had.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple

from helmsman.records.checks import TestCounts

Span = tuple[int, int]  # number of the first and of the last line
Tally = dict[str, int]
NAMES_KEPT = 50
NAME_LENGTH = 300
_LABELLED = re.compile(r"(?<![A-Za-z ])([A-Za-z ]++)(?:=|: )([0-9]{1,9})")
_NUMBERED = re.compile(r"([0-9]{1,9}) ([a-z]+)")


class Run(NamedTuple):
    """One run of a runner, and where it stands in the output."""

    first: int
    last: int
    counts: TestCounts


def run_counts(passed: int, failed: int, skipped: int, names: Iterable[str]) -> TestCounts:
    return TestCounts(passed=max(passed, 0), failed=failed, skipped=skipped, failing=failing_names(names))


def failing_names(names: Iterable[str]) -> tuple[str, ...]:
    """The first of each name, in order, on one line and cut to a bearable length: they end up in prompts and records."""
    tidy = (" ".join(name.split())[:NAME_LENGTH] for name in names)
    return tuple(islice(dict.fromkeys(name for name in tidy if name), NAMES_KEPT))


def tally_of(text: str, *, labels: bool = False) -> Tally:
    """Read `3 failed, 1 passed`, or with labels `Failures: 1` and `expected failures=2`, whatever stands between."""
    if labels:
        return {name.strip(): int(number) for name, number in _LABELLED.findall(text)}
    return {word: int(number) for number, word in _NUMBERED.findall(text)}


def total(tally: Tally, names: Iterable[str]) -> int:
    return sum(tally.get(name, 0) for name in names)


def line_at(lines: list[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""


def matching(pattern: str | re.Pattern[str], lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    whole = re.compile(pattern)
    return ((number, match) for number, line in enumerate(lines) if (match := whole.fullmatch(line)))


def between(found: list[Span], lines: list[str]) -> Iterator[list[str]]:
    """The lines from below each summary to the next one."""
    ends = [*(first for first, _ in found), len(lines)][1:]
    return (lines[last + 1 : end] for (_, last), end in zip(found, ends, strict=True))


Mark = Literal["start", "report", "recap", "end", "bare_end"]
"""What a line says about the session it stands in.

`start`: a session announces itself; it closes with `end`. `report`: failures follow, with what tests printed; it opens a quiet
session, where none is open, which closes with `bare_end`. `recap`: names follow; nothing printed by a test comes after this.
"""


@dataclass
class _Session:
    first: int
    closes_with: Mark
    last: int | None = None
    seen: set[Mark] = field(default_factory=set[Mark])
    inner: list[Span] = field(default_factory=list[Span])

    def is_over(self, next_mark: Mark) -> bool:
        """Whether the next mark is of another session: the end so far was the last, not one that a test printed."""
        if self.last is None:
            return False
        quiet_follows = next_mark in ("report", "bare_end") and "report" not in self.seen
        return next_mark == "start" or quiet_follows or "recap" in self.seen

    def can_close_with(self, mark: Mark) -> bool:
        """Whether the end may be its own: it closes as it was opened, but after the names any end is its own."""
        return mark == self.closes_with or "recap" in self.seen

    def see(self, mark: Mark) -> None:
        self.seen.add(mark)
        if mark == "recap":
            self.last = None  # an end before the names was printed by a test

    def spans(self) -> list[Span]:
        """Itself; or, where it was cut short, the sessions after its start, which then stand for themselves."""
        return self.inner if self.last is None else [(self.first, self.last)]


def outermost(marks: Iterable[tuple[int, Mark]]) -> list[Span]:
    """Find the sessions that are not inside another one; marks come in the order of their lines."""
    found: list[Span] = []
    opened: list[_Session] = []
    for line, mark in marks:
        if len(opened) == 1 and opened[0].is_over(mark):
            found += opened.pop().spans()
        if mark in ("end", "bare_end"):
            if not opened:
                found.append((line, line))
            elif len(opened) > 1 and opened[-1].can_close_with(mark):
                inner = opened.pop()
                if len(opened) == 1:
                    opened[0].inner.append((inner.first, line))
            elif len(opened) == 1 and opened[0].can_close_with(mark):
                opened[0].last = line
        else:
            _begin(line, mark, opened)
    return found + (opened[0].spans() if opened else [])


def _begin(line: int, mark: Mark, opened: list[_Session]) -> None:
    if mark == "start":
        opened.append(_Session(line, "end"))
    elif not opened:
        opened.append(_Session(line, "bare_end"))
    if len(opened) == 1:
        opened[0].see(mark)
