"""The log of learning levels: which class of failure rose to which level, what was ordered for it, and whether that ended it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from helmsman.oversee.learning import INTERVENTIONS
from helmsman.records.base import Record
from helmsman.records.lessons import Episode
from helmsman.records.oversight import Learnt
from helmsman.records.session import FailureClass
from helmsman.texts import counted

Level = Literal[1, 2, 3]
_INTERVENTION = 2


class Rise(Record):
    """A class of failure reached a level of learning."""

    kind: FailureClass
    level: Level
    """1: it stagnates. 2: something else was ordered. 3: it came back in spite of that and is a matter for a person."""
    loop: str
    iteration: int
    """After which it was reached."""
    ordered: str = ""
    """What was ordered then; only level 2 orders something."""
    helped: bool | None = None
    """Whether it ended there. False: it rose further. None: open when the loop ended, or nothing of it was ever told."""


class Effect(Record):
    """What one level did for one class of failure, over many loops."""

    kind: FailureClass
    level: Level
    times: int
    helped: int
    not_helped: int
    unsettled: int


def rises(episodes: Sequence[Episode]) -> tuple[Rise, ...]:
    """The log of one loop, whose iterations are given oldest first."""
    log = list[Rise]()
    unsettled = dict[FailureClass, int]()
    levels = dict[FailureClass, int]()
    for episode in episodes:
        for item in episode.learning:
            before = levels.get(item.kind, 0)
            if item.kind in unsettled and item.level != before:
                place = unsettled.pop(item.kind)
                log[place] = log[place].model_copy(update={"helped": _helped(before, item)})
            if item.level > before:
                unsettled[item.kind] = len(log)
                log.append(_rise(item, episode))
            levels[item.kind] = item.level
    return tuple(log)


def effects(logs: Iterable[Sequence[Rise]]) -> tuple[Effect, ...]:
    """Totals of many loops, in the order of classes and levels."""
    found = dict[tuple[FailureClass, Level], list[Rise]]()
    for log in logs:
        for rise in log:
            found.setdefault((rise.kind, rise.level), []).append(rise)
    return tuple(_effect(kind, level, every) for (kind, level), every in sorted(found.items()))


def effect_lines(totals: Sequence[Effect]) -> Iterator[str]:
    """For people: a line for each class and level."""
    for one in totals:
        ended = f"ended it {counted(one.helped, 'time')}, did not {counted(one.not_helped, 'time')}, open {one.unsettled}"
        yield f"level {one.level}    {one.kind}: reached {counted(one.times, 'time')}; {ended}"


def _rise(item: Learnt, episode: Episode) -> Rise:
    ordered = INTERVENTIONS[item.kind] if item.level == _INTERVENTION else ""
    return Rise.model_validate(
        {"kind": item.kind, "level": item.level, "loop": episode.loop, "iteration": episode.iteration, "ordered": ordered}
    )


def _helped(before: int, after: Learnt) -> bool | None:
    """Of the level that it leaves. An order that never reached the agent is neither proven nor disproven."""
    if after.level > before:
        return False
    return after.helped if before == _INTERVENTION else True


def _effect(kind: FailureClass, level: Level, found: Sequence[Rise]) -> Effect:
    helped, not_helped = (sum(rise.helped is value for rise in found) for value in (True, False))
    unknown = len(found) - helped - not_helped
    return Effect(kind=kind, level=level, times=len(found), helped=helped, not_helped=not_helped, unsettled=unknown)
