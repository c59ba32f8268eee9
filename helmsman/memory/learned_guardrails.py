"""Learned guardrails: an instruction for each class of failure that recurred too often, and its effect.

Not to be confused with `helmsman.guardrails`, the rules for single tool calls.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from helmsman.memory.guardrail_effect import Verdict, failure_classes
from helmsman.oversee.conflicts import MOST_ORDERS, find_conflicts
from helmsman.oversee.cycles import ENVIRONMENT_FAILURES
from helmsman.oversee.imperatives import read_imperatives
from helmsman.oversee.learning import failure_advice
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.base import Record
from helmsman.records.control import Conflict, Imperative, Movement
from helmsman.records.lessons import Episode, Guardrail
from helmsman.texts import plural

GUARDRAIL_AFTER = 3  # iterations of a project with one class of failure before it gets a guardrail (L5)
MOST_GUARDRAILS = 8  # active ones in one project: nobody reads more than a page of instructions
REMOVED = "a person removed it"  # prefix of the reason for retirement
_NUMBERS = 8  # iterations named in an origin


class RefusedGuardrail(Record):
    """A guardrail that was due but not created."""

    guardrail: Guardrail
    why: str
    """For people; where it contradicts something, both sentences."""


class NewGuardrails(Record):
    """Guardrails of a project created and refused after a loop."""

    guardrails: tuple[Guardrail, ...] = ()
    refused: tuple[RefusedGuardrail, ...] = ()


def _failed_without_progress(episode: Episode) -> frozenset[FailureClass]:
    """Classes of failure of its checks if it made no progress: from one failing test to the next is progress."""
    return failure_classes(episode) if episode.movement is not Movement.FORWARD else frozenset()


def contradiction(instruction: str, orders: Sequence[Imperative], active: Sequence[Guardrail] = ()) -> Conflict | None:
    """The first conflict between an instruction and the existing instructions or active guardrails, with both sentences."""
    proposed = read_imperatives("a new guardrail", instruction)
    if not proposed:
        return None
    known = (order for guardrail in active for order in read_imperatives("guardrails.md", guardrail.instruction))
    for order in dict.fromkeys((*orders[:MOST_ORDERS], *known)):
        for conflict in find_conflicts((*proposed, order)):
            if (conflict.first in proposed) != (conflict.second in proposed):
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
) -> NewGuardrails:
    """Create guardrails from the iterations of a loop, oldest first. `known`: all of the project's, including retired ones.

    `counts`: checked iterations of the project with a class, and all checked ones. Ids are deterministic.
    """
    by_id = {guardrail.id: guardrail for guardrail in known}
    created, refused = list[Guardrail](), list[RefusedGuardrail]()
    without_progress = {
        kind: [episode for episode in episodes if kind in _failed_without_progress(episode)] for kind in FailureClass
    }
    for kind in sorted(FailureClass, key=lambda kind: -len(without_progress[kind])):
        # iterations of this loop with progress do not count; for other loops this is unknown
        with_progress = sum(kind in failure_classes(episode) for episode in episodes) - len(without_progress[kind])
        seen, checked = counts.get(kind, (0, 0))
        is_due = without_progress[kind] and seen - with_progress >= GUARDRAIL_AFTER
        proposed = _propose(project, kind, without_progress[kind], (seen, max(checked, seen)), by_id, now) if is_due else None
        if proposed is None:
            continue
        active = [guardrail for guardrail in by_id.values() if not guardrail.retired]
        why, conflict = "", contradiction(proposed.instruction, orders, active)
        if conflict is not None:
            first, second = (f"“{clean(order.text)}” ({clean(order.place)})" for order in (conflict.first, conflict.second))
            why = f"{first} contradicts {second}: both are about {clean(conflict.about)}"
        elif len(active) >= most:
            why = f"{most} guardrails are the limit; delete one in guardrails.md"
        if why:
            refused.append(RefusedGuardrail(guardrail=proposed, why=why))
        else:
            by_id[proposed.id] = proposed
            created.append(proposed)
    return NewGuardrails(guardrails=tuple(created), refused=tuple(refused))


def code(text: str) -> str:
    """Short hash for a heading that people edit."""
    return f"g{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _propose(
    project: str,
    kind: FailureClass,
    episodes: Sequence[Episode],
    count: tuple[int, int],
    known: Mapping[str, Guardrail],
    now: datetime,
) -> Guardrail | None:
    """The guardrail for a class that recurred too often. `episodes`: iterations of this loop with the failure and without
    progress; `count`: iterations with the class, and all.

    None if one of the class is active, or was retired by a person or as ineffective. Also None if an instruction cannot help:
    for infrastructure failures and for unclassified ones.
    """
    instruction = failure_advice()[kind]["do"]
    if kind in ENVIRONMENT_FAILURES or kind is FailureClass.OTHER:
        return None
    for guardrail in known.values():
        is_ineffective = guardrail.retired.startswith(Verdict.INEFFECTIVE) and guardrail.instruction.startswith(instruction)
        if guardrail.failure is kind and (not guardrail.retired or guardrail.retired.startswith(REMOVED) or is_ineffective):
            return None
    seen, checked = count
    numbers = ", ".join(str(episode.iteration) for episode in episodes[-_NUMBERS:])
    last = "the last ones are " if len(episodes) > _NUMBERS else ""
    return Guardrail(
        id=code(f"{project}\0{kind}\0"),  # independent of its words
        project=project,
        failure=kind,
        trigger=failure_advice()[kind]["when"],
        instruction=instruction,
        origin=(
            f"loop {clean(episodes[-1].loop)[:80]}: {kind} failures in {plural(len(episodes), 'iteration')} without "
            f"progress ({last}{numbers}); in {seen} of {plural(checked, 'checked iteration')} of the project"
        ),
        before_seen=seen,
        before_of=checked,
        created_at=now,
    )
