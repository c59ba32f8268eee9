"""When a class of failure makes a guardrail, and which one gives way to it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from helmsman.config.memory import MemoryConfig
from helmsman.memory.guardrails.advice import helps, same_advice, words
from helmsman.memory.guardrails.contradicted import contradiction
from helmsman.memory.guardrails.effect import Verdict, persons
from helmsman.memory.guardrails.failed import NOWHERE, Place, common, failed, in_vain
from helmsman.memory.guardrails.room import retired_as, room
from helmsman.plain import clean
from helmsman.records.base import Record
from helmsman.records.lessons import Episode, Guardrail
from helmsman.records.oversight import Conflict, Imperative
from helmsman.records.session import FailureClass
from helmsman.texts import counted

PLACES = 2
"""Places of one class with a guardrail each; a class that fails at a third one has no place of its own."""
REMOVED = "a person removed it"
SUPERSEDED = "superseded"
_NUMBERS = 8
"""Iterations that an origin names."""


class Refused(Record):
    """A guardrail that was due and was not made."""

    guardrail: Guardrail
    why: str
    """For people; where it contradicts something, both sentences."""
    conflict: Conflict | None = None


class Born(Record):
    """What failures of a loop make of a project's guardrails."""

    guardrails: tuple[Guardrail, ...] = ()
    """To be written: new ones, ones that stand again, and those that are retired in their favour."""
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class _Case:
    """A class of failure that came back too often in vain."""

    kind: FailureClass
    place: Place
    vain: tuple[Episode, ...]
    """Iterations of this loop in which it failed and the work did not get on."""
    seen: int
    of: int


@dataclass
class _Known:
    """A project's guardrails by id, as they change from one case to the next."""

    project: str
    standing: dict[str, Guardrail]
    retired: dict[str, Guardrail]

    def write(self, changed: Sequence[Guardrail]) -> None:
        for one in changed:
            self.standing.pop(one.id, None)
            self.retired.pop(one.id, None)
            (self.retired if one.retired else self.standing)[one.id] = one

    def without(self, leaving: Sequence[Guardrail]) -> list[Guardrail]:
        gone = {one.id for one in leaving}
        return [one for one in self.standing.values() if one.id not in gone]


def born(
    project: str,
    episodes: Sequence[Episode],
    standing: Sequence[Guardrail],
    counts: Mapping[FailureClass, tuple[int, int]],
    orders: Sequence[Imperative],
    config: MemoryConfig,
    now: datetime,
    *,
    retired: Sequence[Guardrail] = (),
) -> Born:
    """Guardrails that the iterations of a loop, oldest first, make.

    `counts`: checked iterations of the project with a class, of all. The same arguments make the same ids, however often it
    is asked.
    """
    every = (*retired, *standing)
    known = _Known(project, {one.id: one for one in every if not one.retired}, {one.id: one for one in every if one.retired})
    written, refused = dict[str, Guardrail](), list[Refused]()
    for case in _cases(known, episodes, counts, config):
        proposed = _proposed(case, known, now)
        made = _placed(proposed, known, episodes, orders, config, now) if proposed else ()
        if isinstance(made, Refused):
            refused.append(made)
            continue
        known.write(made)
        written |= {one.id: one for one in made}
    return Born(guardrails=tuple(written.values()), refused=tuple(refused))


def _placed(
    proposed: Guardrail,
    known: _Known,
    episodes: Sequence[Episode],
    orders: Sequence[Imperative],
    config: MemoryConfig,
    now: datetime,
) -> tuple[Guardrail, ...] | Refused:
    """All that changes where a guardrail takes its place among those that stand; or why it gets none."""
    leaving = _superseded(proposed, known, now)
    remaining = known.without(leaving)
    conflict = contradiction(proposed.instruction, orders, remaining)
    giving_way = room(proposed.id, remaining, episodes, config.guardrails, now)
    if conflict is not None or giving_way is None:
        return _refused(proposed, conflict, config)
    return (*leaving, *giving_way, proposed)


def identity(project: str, kind: FailureClass, file: str = "") -> str:
    """Of what is made for this class at this place: one thing, whatever its words are."""
    return code(f"{project}\0{kind}\0{file}")


def code(text: str) -> str:
    """Short enough for a heading that people edit."""
    return f"g{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


# --- what failed too often ----------------------------------------------------------------------------------------


def _cases(
    known: _Known, episodes: Sequence[Episode], counts: Mapping[FailureClass, tuple[int, int]], config: MemoryConfig
) -> Iterator[_Case]:
    """What is due, the most frequent first."""
    found = (_case(kind, episodes, counts, known) for kind in FailureClass)
    due = [case for case in found if case and case.seen - _forward(case.kind, episodes) >= config.guardrail_after]
    yield from sorted(due, key=lambda case: -len(case.vain))


def _case(
    kind: FailureClass, episodes: Sequence[Episode], counts: Mapping[FailureClass, tuple[int, int]], known: _Known
) -> _Case | None:
    vain = tuple(episode for episode in episodes if in_vain(kind, episode))
    place = common(kind, vain)
    if not vain or not helps(kind, place):
        return None
    seen, of = counts.get(kind, (0, 0))
    return _Case(kind, _scope(kind, place, known), vain, seen, max(of, seen))


def _forward(kind: FailureClass, episodes: Sequence[Episode]) -> int:
    """Iterations of this loop in which it failed and the work got on: they speak for nothing. Of other loops nobody knows."""
    return sum(kind in failed(episode) and not in_vain(kind, episode) for episode in episodes)


def _scope(kind: FailureClass, place: Place, known: _Known) -> Place:
    """What the guardrail is for: the place, or wherever the class fails, where that is in too many places."""
    here = identity(known.project, kind, place.file)
    others = [one for one in known.standing.values() if one.failure is kind and one.by == "helmsman" and one.id != here]
    return NOWHERE if len(others) >= PLACES and here not in known.standing and helps(kind, NOWHERE) else place


# --- what is made of it -------------------------------------------------------------------------------------------


def _proposed(case: _Case, known: _Known, now: datetime) -> Guardrail | None:
    """The guardrail for a case; None where one stands, or a person or its own failure has ended it."""
    here, everywhere = identity(known.project, case.kind, case.place.file), identity(known.project, case.kind)
    if here in known.standing or everywhere in known.standing or _spent(case.kind, {here, everywhere}, known):
        return None
    trigger, instruction = words(case.kind, case.place)
    fresh = Guardrail(
        id=here,
        project=known.project,
        failure=case.kind,
        trigger=trigger,
        instruction=instruction,
        origin=_origin(case),
        before_seen=case.seen,
        before_of=case.of,
        created_at=now,
    )
    before = known.retired.get(here)
    return _once_more(before, fresh) if before and same_advice(case.kind, before.instruction) else fresh


def _spent(kind: FailureClass, ids: set[str], known: _Known) -> bool:
    """Whether a person wanted none of it, or the same advice was no good: what has failed is not tried again elsewhere."""
    return any(
        (one.id in ids and one.retired.startswith(REMOVED))
        or (one.failure is kind and one.retired.startswith(Verdict.INEFFECTIVE) and same_advice(kind, one.instruction))
        for one in known.retired.values()
    )


def _once_more(before: Guardrail, fresh: Guardrail) -> Guardrail:
    """It stands again, with its record; as before it counts every iteration that was not told of it."""
    seen = max(fresh.before_seen - before.after_seen, 0)
    of = max(fresh.before_of - before.after_of, seen)
    kept = {name: getattr(before, name) for name in ("after_seen", "after_of", "loops", "loaded_at")}
    return fresh.model_copy(update={**kept, "before_seen": seen, "before_of": of})


def _origin(case: _Case) -> str:
    numbers = ", ".join(str(episode.iteration) for episode in case.vain[-_NUMBERS:])
    last = "the last ones " if len(case.vain) > _NUMBERS else ""
    return (
        f"loop {clean(case.vain[-1].loop)[:80]}: {case.kind} failures in {counted(len(case.vain), 'iteration')} that did not get "
        f"on ({last}{numbers}); in {case.seen} of {counted(case.of, 'checked iteration')} of the project"
    )


def _superseded(proposed: Guardrail, known: _Known, now: datetime) -> list[Guardrail]:
    """What one for the class wherever it fails makes superfluous."""
    if proposed.failure is None or proposed.id != identity(known.project, proposed.failure):
        return []
    special = [one for one in known.standing.values() if one.failure is proposed.failure and not persons(one)]
    return [retired_as(f"{SUPERSEDED} by {proposed.id}, which holds wherever it fails", one, now) for one in special]


def _refused(proposed: Guardrail, conflict: Conflict | None, config: MemoryConfig) -> Refused:
    if conflict is None:
        why = f"{config.guardrails} guardrails stand at most, and those that do are a person's or needed now"
        return Refused(guardrail=proposed, why=f"{why}; delete one in guardrails.md, or raise memory.guardrails")
    first, second = (f"“{clean(one.text)}” ({clean(_where(one))})" for one in (conflict.first, conflict.second))
    why = f"{first} contradicts {second}: both speak of {clean(conflict.about)}"
    return Refused(guardrail=proposed, why=why, conflict=conflict)


def _where(order: Imperative) -> str:
    return f"{order.source}:{order.line}" if order.line else order.source
