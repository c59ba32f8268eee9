"""Whether the code becomes less flexible although all checks pass (von Foerster's imperative: keep choices open).

The score is a sum of logarithms. Each row turns a rate into log2(1 + rate / usual): zero gives 0, the usual rate of honest code
1, three times as much 2. So the score is independent of the tree's size, and a rate that was always high is not held against
the last iterations.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from helmsman.records.control import Variety
from helmsman.records.decision import Alert, Severity

STEPS = 4
FALLING = 3  # falling steps of the last four: one bad iteration or justified suppression is no trend
THRESHOLD = 0.3
"""Fall of the score over the last four steps. In the 66 commits of this project's own history four steps cost at most 0.12
(`bench/variety.py --history`), and 0.3 is the cost of suppressions rising from 2 to 2.9 per 1,000 lines."""
LEAST = 5  # places beyond the growth of the code: in a small tree two suppressions are a high rate but no trend
SMALLEST = 500  # lines of source below which rates are meaningless
GROWN = 2.0  # after growth by more than this factor, rates are compared only from there on
SHOWN = 3


class _Row(NamedTuple):
    """One term of the score."""

    field: str
    weight: float  # negative: more of it reduces flexibility
    usual: float  # usual rate of honest code
    remedy: str
    per_file: bool = False  # otherwise per 1,000 lines
    most: float = math.inf  # rate at which the effect is capped

    def number(self, variety: Variety) -> int:
        return getattr(variety, self.field)

    def base(self, variety: Variety) -> float:
        return float(variety.files) if self.per_file else variety.lines / 1000

    def rate(self, variety: Variety) -> float:
        base = self.base(variety)
        return self.number(variety) / base if base > 0 else 0.0

    def points(self, variety: Variety) -> float:
        return self.weight * math.log2(1 + min(max(0.0, self.rate(variety)), self.most) / self.usual)


_NAMES = {"skips": "skipped tests", "dead": "dead names", "public_names": "public names"}
_TABLE = (
    _Row("suppressions", -1.0, 2, "fix what the suppressions hide"),
    _Row("skips", -1.0, 1, "make the skipped tests run"),
    _Row("casts", -0.75, 4, "replace casts and `any` by accurate types"),
    _Row("dead", -0.5, 1, "delete what nothing uses"),
    _Row("imports", -0.5, 6, "import fewer modules", per_file=True),
    _Row("public_names", -0.25, 25, "make names private that nobody else needs"),
    _Row("tests", 0.5, 10, "test what is not tested yet", most=20),
)
"""Weights: suppressing a tool's findings counts 1; possibly honest design counts less, the width of an interface least.
A young project is nearly all tests; having fewer later, and still enough, is no loss."""


def score(variety: Variety) -> float:
    """Flexibility in doublings of rates; higher is better, and each project has its own level."""
    return sum(row.points(variety) for row in _TABLE)


def variety_alert(trend: Sequence[Variety], green: bool) -> Alert | None:
    """A warning if the score fell in three of the last four steps and by 0.3 in total. `trend` is oldest first."""
    recent = trend[-STEPS - 1 :]
    if not green or len(recent) <= STEPS:
        return None
    first, newest = recent[0], recent[-1]
    if min(first.lines, newest.lines) < SMALLEST or newest.lines > GROWN * first.lines:
        return None
    scores = [score(variety) for variety in recent]
    falling = sum(after < before for before, after in pairwise(scores))
    fall = scores[0] - scores[-1]
    if falling < FALLING or fall < THRESHOLD or sum(_unexplained_places(row, first, newest) for row in _TABLE) < LEAST:
        return None
    lost = sorted(_TABLE, key=lambda row: row.points(newest) - row.points(first))
    worst, grew = [row for row in lost[:SHOWN] if row.points(newest) < row.points(first)], list[str]()
    for row in worst:
        rates = f"{row.rate(first):.2g} to {row.rate(newest):.2g} per {'file' if row.per_file else '1,000 lines'}"
        grew.append(f"{_NAMES.get(row.field, row.field)} from {rates} ({row.number(first):,} to {row.number(newest):,})")
    message = (
        f"the code became less flexible in {falling} of the last {STEPS} iterations, by {fall:.2f} in total (threshold "
        f"{THRESHOLD:g}), although every check passes: {'; '.join(grew)}"
    )
    remedies = "; ".join(row.remedy for row in worst)
    return Alert(
        rule="variety.falling",
        severity=Severity.WARN,
        message=message,
        value=round(fall, 3),
        threshold=THRESHOLD,
        instruction=f"Before you add to the code, make it easier to change: {remedies}.",
    )


def _unexplained_places(row: _Row, first: Variety, last: Variety) -> float:
    """Number of closed places that neither growth nor deletion of code explains."""
    before, after, in_proportion = row.number(first), row.number(last), row.rate(first) * row.base(last)
    places = min(after - before, after - in_proportion) if row.weight < 0 else min(before - after, in_proportion - after)
    return max(0.0, places)
