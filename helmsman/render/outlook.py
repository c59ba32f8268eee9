"""How far it may still be: the pace of the last iterations, and how many more that makes until all that is measured is green."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from helmsman.oversee.movement import still_told
from helmsman.oversee.progress import UNPROVEN
from helmsman.records.moments import Moment

LEAST = 3
"""Iterations before any pace is told."""
SLOWEST = 0.002
"""Completion an iteration below which it does not get on."""


@dataclass(frozen=True)
class Outlook:
    """The pace of the last iterations, in completion an iteration: an estimate and no promise.

    It is the median pace, because one leap or one fall says little, with the quartiles around it.
    """

    seen: int
    """Iterations that the pace is read from."""
    completion: float = 0.0
    pace: float = 0.0
    slow: float = 0.0
    fast: float = 0.0

    @property
    def known(self) -> bool:
        return self.seen >= LEAST

    @property
    def reached(self) -> bool:
        """Whether all that is measured is green; what is missing then is that it is proven."""
        return self.completion >= UNPROVEN - 1e-9

    @property
    def left(self) -> int | None:
        """Iterations until everything is green at the median pace; None where it never will be."""
        return self._at(self.pace)

    @property
    def least(self) -> int | None:
        return self._at(self.fast)

    @property
    def most(self) -> int | None:
        return self._at(self.slow)

    def _at(self, pace: float) -> int | None:
        if self.reached:
            return 0
        return math.ceil((UNPROVEN - self.completion) / pace - 1e-9) if pace >= SLOWEST else None


def outlook(history: Sequence[Moment], window: int) -> Outlook:
    """Read from the last iterations whose work was checked and is still there."""
    last = [moment for moment in history if still_told(moment)][-max(window, LEAST) :]
    if len(last) < LEAST:
        return Outlook(seen=len(last), completion=last[-1].completion if last else 0.0)
    paces = sorted(_pace(first, second) for first, second in combinations(last, 2))
    slow, pace, fast = (_quantile(paces, share) for share in (0.25, 0.5, 0.75))
    return Outlook(len(last), last[-1].completion, pace, slow, fast)


def _pace(first: Moment, second: Moment) -> float:
    return (second.completion - first.completion) / max(1, second.iteration - first.iteration)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (above - below) * (place - math.floor(place))
