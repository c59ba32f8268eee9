"""What levels of learning did: how often a class of failure reached one, and whether that ended it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from helmsman.records.agent import FailureClass
from helmsman.records.base import Record
from helmsman.records.lessons import Episode
from helmsman.texts import plural

_INTERVENTION = 2


class Effect(Record):
    """What one level did for one class of failure, over many loops."""

    kind: FailureClass
    level: int
    """1: it stagnates. 2: something else was ordered. 3: it came back in spite of that and is a matter for a person."""
    times: int
    helped: int
    not_helped: int
    unsettled: int
    """Open when the loop ended, or nothing of it was ever told."""


def effects(loops: Iterable[Sequence[Episode]]) -> tuple[Effect, ...]:
    """Totals of many loops, each with its iterations oldest first, in the order of classes and levels."""
    found = defaultdict[tuple[FailureClass, int], Counter[bool | None]](Counter)
    for kind, level, helped in (rise for episodes in loops for rise in _rises(episodes)):
        found[kind, level][helped] += 1
    return tuple(
        Effect(kind=kind, level=level, times=n.total(), helped=n[True], not_helped=n[False], unsettled=n[None])
        for (kind, level), n in sorted(found.items(), key=lambda item: item[0])
    )


def effect_lines(totals: Sequence[Effect]) -> Iterator[str]:
    """For people: a line for each class and level."""
    for one in totals:
        ended = f"ended it {plural(one.helped, 'time')}, did not {plural(one.not_helped, 'time')}, open {one.unsettled}"
        yield f"level {one.level}    {one.kind}: reached {plural(one.times, 'time')}; {ended}"


def _rises(episodes: Sequence[Episode]) -> Iterator[tuple[FailureClass, int, bool | None]]:
    """A class of failure rose to a level, and whether it ended there: False where it rose further."""
    levels, risen = dict[FailureClass, int](), set[FailureClass]()
    for item in (item for episode in episodes for item in episode.learning):
        before = levels.get(item.kind, 0)
        if item.kind in risen and item.level != before:
            risen.remove(item.kind)
            # an order that never reached the agent is neither proven nor disproven
            ended = item.helped if before == _INTERVENTION else True
            yield item.kind, before, False if item.level > before else ended
        if item.level > before:
            risen.add(item.kind)
        levels[item.kind] = item.level
    for kind in risen:
        yield kind, levels[kind], None
