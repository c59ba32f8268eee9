"""Guardrails that the system makes itself: an instruction for each class of failure that came back too often, and its effect.

Not to be confused with `helmsman.guardrails`, the rules for single tool calls.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from helmsman.memory.guardrail_effect import Verdict, failed
from helmsman.oversee.conflicts import MOST_ORDERS, conflicts
from helmsman.oversee.cycles import OF_THE_WORLD
from helmsman.oversee.imperatives import imperatives
from helmsman.oversee.learning import advice
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.base import Record
from helmsman.records.control import Conflict, Imperative, Movement
from helmsman.records.lessons import Episode, Guardrail
from helmsman.texts import plural

GUARDRAIL_AFTER = 3  # iterations of a project in which one class of failure has to be seen until it makes a guardrail (L5)
MOST_GUARDRAILS = 8  # that stand at a time in one project: more than a page of orders is read by nobody
REMOVED = "a person removed it"  # how the reason begins for which one is retired
_NUMBERS = 8  # iterations that an origin names


class Refused(Record):
    """A guardrail that was due and was not made."""

    guardrail: Guardrail
    why: str
    """For people; where it contradicts something, both sentences."""


class Created(Record):
    """What failures of a loop make of a project's guardrails."""

    guardrails: tuple[Guardrail, ...] = ()
    refused: tuple[Refused, ...] = ()


def _in_vain(episode: Episode) -> frozenset[FailureClass]:
    """How its checks failed, where the work did not get on: from one failing test to the next is progress."""
    return failed(episode) if episode.movement is not Movement.FORWARD else frozenset()


def contradiction(instruction: str, orders: Sequence[Imperative], active: Sequence[Guardrail] = ()) -> Conflict | None:
    """The first order or active guardrail that cannot be followed together with an instruction, both sentences in it."""
    proposed = imperatives("a new guardrail", instruction)
    known = [order for one in active for order in imperatives("guardrails.md", one.instruction)] if proposed else []
    for order in dict.fromkeys((*orders[:MOST_ORDERS], *known)) if proposed else ():
        found = (one for one in conflicts((*proposed, order)) if (one.first in proposed) != (one.second in proposed))
        if conflict := next(found, None):
            return conflict
    return None


def create(
    project: str,
    episodes: Sequence[Episode],
    known: Iterable[Guardrail],
    counts: Mapping[FailureClass, tuple[int, int]],
    orders: Sequence[Imperative],
    most: int,
    now: datetime,
) -> Created:
    """Guardrails that the iterations of a loop, oldest first, make. `known`: all of the project's, retired ones too.

    `counts`: checked iterations of the project with a class, of all. The same arguments make the same ids, however often it
    is asked.
    """
    by_id = {one.id: one for one in known}
    made, refused = list[Guardrail](), list[Refused]()
    vain = {kind: [one for one in episodes if kind in _in_vain(one)] for kind in FailureClass}
    for kind in sorted(FailureClass, key=lambda kind: -len(vain[kind])):
        # iterations of this loop that got on speak for nothing; of other loops nobody knows
        forward, (seen, of) = sum(kind in failed(one) for one in episodes) - len(vain[kind]), counts.get(kind, (0, 0))
        due = vain[kind] and seen - forward >= GUARDRAIL_AFTER
        proposed = _proposed(project, kind, vain[kind], (seen, max(of, seen)), by_id, now) if due else None
        if proposed is None:
            continue
        active = [one for one in by_id.values() if not one.retired]
        why, conflict = "", contradiction(proposed.instruction, orders, active)
        if conflict is not None:
            first, second = (f"“{clean(one.text)}” ({clean(one.place)})" for one in (conflict.first, conflict.second))
            why = f"{first} contradicts {second}: both speak of {clean(conflict.about)}"
        elif len(active) >= most:
            why = f"{most} guardrails stand at most; delete one in guardrails.md"
        if why:
            refused.append(Refused(guardrail=proposed, why=why))
        else:
            by_id[proposed.id] = proposed
            made.append(proposed)
    return Created(guardrails=tuple(made), refused=tuple(refused))


def code(text: str) -> str:
    """Short enough for a heading that people edit."""
    return f"g{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _proposed(
    project: str,
    kind: FailureClass,
    vain: Sequence[Episode],
    count: tuple[int, int],
    known: Mapping[str, Guardrail],
    now: datetime,
) -> Guardrail | None:
    """The guardrail for a class that came back too often. `vain`: iterations of this loop in which it failed and the work did not
    get on; `count`: in how many it was seen, of how many.

    None where one of the class is active, or a person or its own failure has ended it. And where an instruction can do nothing:
    the world fails so whatever is told, and of other failures nobody knows what they are.
    """
    advised = advice()[kind]["do"]
    if kind in OF_THE_WORLD or kind is FailureClass.OTHER:
        return None
    for one in known.values():
        in_vain = one.retired.startswith(Verdict.INEFFECTIVE) and one.instruction.startswith(advised)
        if one.failure is kind and (not one.retired or one.retired.startswith(REMOVED) or in_vain):
            return None
    seen, of = count
    numbers = ", ".join(str(episode.iteration) for episode in vain[-_NUMBERS:])
    last = "the last ones " if len(vain) > _NUMBERS else ""
    return Guardrail(
        id=code(f"{project}\0{kind}\0"),  # one thing, whatever its words are
        project=project,
        failure=kind,
        trigger=advice()[kind]["when"],
        instruction=advised,
        origin=(
            f"loop {clean(vain[-1].loop)[:80]}: {kind} failures in {plural(len(vain), 'iteration')} that did not "
            f"get on ({last}{numbers}); in {seen} of {plural(of, 'checked iteration')} of the project"
        ),
        before_seen=seen,
        before_of=of,
        created_at=now,
    )
