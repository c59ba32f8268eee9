"""Whether the code leaves fewer and fewer ways open, though all checks pass (von Foerster's imperative: keep choices open).

The score is a sum of doublings. Each row of the table turns a rate into log2(1 + rate / usual): nothing is 0, what honest
code usually has is 1, three times as much is 2. So the score is the same for a tree of any size, and a rate that was high
all along is not held against the last iterations.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from helmsman.records.oversight import Variety
from helmsman.records.verdict import Severity, Signal

STEPS = 4
FALLING = 3
"""Of the last four steps so many must fall: one bad iteration, or one justified suppression, is no trend."""
THRESHOLD = 0.3
"""Fall of the score over the last four steps. In the 66 commits of this project's own history four steps cost 0.12 at most
(`bench/variety.py --history`), and 0.3 is what suppressions cost that go from 2 to 2.9 per 1,000 lines."""
LEAST = 5
"""Places more than the growth of the code explains: in a small tree two suppressions are a high rate and no trend."""
SMALLEST = 500
"""Lines of source below which no rate means anything."""
GROWN = 2.0
"""A tree that grew by more than this factor is another tree; its rates are compared from there on."""
SHOWN = 3


@dataclass(frozen=True)
class _Row:
    """One term of the score."""

    name: str
    number: Callable[[Variety], int]
    base: Callable[[Variety], float]
    per: str
    weight: float
    """Negative: more of it leaves fewer ways open."""
    usual: float
    """Rate that honest code usually has."""
    remedy: str
    most: float = math.inf
    """Rate above which more changes nothing."""


def _thousands(variety: Variety) -> float:
    return variety.lines / 1000


def _files(variety: Variety) -> float:
    return float(variety.files)


_LINES = "per 1,000 lines"

_TABLE = (
    _Row("suppressions", lambda v: v.suppressions, _thousands, _LINES, -1.0, 2, "fix what the suppressions hide"),
    _Row("skipped tests", lambda v: v.skips, _thousands, _LINES, -1.0, 1, "make the skipped tests run"),
    _Row("casts", lambda v: v.casts, _thousands, _LINES, -0.75, 4, "give what is cast or `any` its true type"),
    _Row("dead names", lambda v: v.dead, _thousands, _LINES, -0.5, 1, "delete what nothing uses"),
    _Row("imports", lambda v: v.imports, _files, "per file", -0.5, 6, "let fewer modules know each other"),
    _Row("public names", lambda v: v.public_names, _thousands, _LINES, -0.25, 25, "keep private what nobody else needs"),
    _Row("tests", lambda v: v.tests, _thousands, _LINES, 0.5, 10, "test what is not tested yet", most=20),
)
"""Weights: what silences a tool outright is 1; what may be honest design weighs less, the width of an interface least.
A young project is nearly all tests; that it has fewer of them later, and still plenty, closes nothing."""


def score(variety: Variety) -> float:
    """Ways left open, in doublings of rates; higher is better, and a project has its own height."""
    return sum(_points(row, variety) for row in _TABLE)


def variety_signal(trend: Sequence[Variety], green: bool) -> Signal | None:
    """A warning where the score fell in three of the last four steps and by 0.3 in all. `trend` is oldest first."""
    last = trend[-STEPS - 1 :]
    if not green or len(last) <= STEPS or not _comparable(last[0], last[-1]):
        return None
    scores = [score(variety) for variety in last]
    falling = sum(after < before for before, after in pairwise(scores))
    fall = scores[0] - scores[-1]
    if falling < FALLING or fall < THRESHOLD or _excess(last[0], last[-1]) < LEAST:
        return None
    return _signal(last[0], last[-1], fall, falling)


def _rate(row: _Row, variety: Variety) -> float:
    base = row.base(variety)
    return row.number(variety) / base if base > 0 else 0.0


def _points(row: _Row, variety: Variety) -> float:
    return row.weight * math.log2(1 + min(max(0.0, _rate(row, variety)), row.most) / row.usual)


def _comparable(first: Variety, last: Variety) -> bool:
    return min(first.lines, last.lines) >= SMALLEST and last.lines <= GROWN * first.lines


def _excess(first: Variety, last: Variety) -> float:
    """How many places were closed that neither growth nor deletion of code explains."""
    return sum(_beyond(row, first, last) for row in _TABLE)


def _beyond(row: _Row, first: Variety, last: Variety) -> float:
    before, after, in_proportion = row.number(first), row.number(last), _rate(row, first) * row.base(last)
    more = min(after - before, after - in_proportion) if row.weight < 0 else min(before - after, in_proportion - after)
    return max(0.0, more)


def _signal(first: Variety, last: Variety, fall: float, falling: int) -> Signal:
    lost = sorted(_TABLE, key=lambda row: _points(row, last) - _points(row, first))
    worst = [row for row in lost[:SHOWN] if _points(row, last) < _points(row, first)]
    grew = "; ".join(_told(row, first, last) for row in worst)
    message = (
        f"the ways that the code leaves open fell in {falling} of the last {STEPS} iterations, by {fall:.2f} in all (a warning "
        f"from {THRESHOLD:g} on), though every check passes: {grew}"
    )
    remedies = "; ".join(row.remedy for row in worst)
    return Signal(
        rule="variety.falling",
        severity=Severity.WARN,
        message=message,
        value=round(fall, 3),
        threshold=THRESHOLD,
        instruction=f"Leave the code easier to change than you found it, before you add to it: {remedies}.",
    )


def _told(row: _Row, first: Variety, last: Variety) -> str:
    rates = f"{_rate(row, first):.2g} to {_rate(row, last):.2g} {row.per}"
    return f"{row.name} from {rates} ({row.number(first):,} to {row.number(last):,})"
