"""Learned guardrails: an instruction for each class of failure that recurred too often, and its effect.

Not to be confused with `helmsman.guardrails`, the rules for single tool calls.

The effect is the frequency of the class before and after the agent was told, judged by two tests for small numbers. Could so few
failures be chance if nothing has changed (Fisher's exact test)? Could so many be chance if it has halved them (a binomial tail)?
If neither can be ruled out, the verdict stays open. Guardrails are created when failures pile up, so that failures decrease
afterwards anyway: therefore `before` counts all iterations of the project, and a single loop decides nothing.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

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
ENOUGH = 8  # checked iterations with it before a verdict: with fewer, one bad loop decides
ENOUGH_LOOPS = 2  # ended loops with it before a verdict: iterations of one loop fail together, for one cause
DOUBT = 0.05  # significance level; Fisher's own convention
WORTH = 0.5
"""Largest share of the earlier failures that may remain; an instruction that prevents less than half is not worth its room."""
UNNEEDED = 5  # loops in a row without its class of failure until it is retired; twice as many for an effective one
UNUSED = timedelta(days=90)  # without being shown, until it is retired
LONGEST_WHY = 300


class Verdict(StrEnum):
    INEFFECTIVE = "ineffective"  # the failure recurs as before
    UNNEEDED = "unneeded"  # its class of failure has not occurred for long
    OPEN = "open"
    EFFECTIVE = "effective"


RETIRING = frozenset({Verdict.INEFFECTIVE, Verdict.UNNEEDED})


def failure_classes(episode: Episode) -> frozenset[FailureClass]:
    """Classes of failure of its checks; none if unknown. Failures inside the session only do not count."""
    is_known = episode.checked and episode.movement is not Movement.WAITED
    return frozenset(error.kind for error in episode.errors) if is_known else frozenset()


# --- creation -----------------------------------------------------------------------------------------------------------


class RefusedGuardrail(Record):
    """A guardrail that was due but not created."""

    guardrail: Guardrail
    why: str
    """For people; where it contradicts something, both sentences."""


class NewGuardrails(Record):
    """Guardrails of a project created and refused after a loop."""

    guardrails: tuple[Guardrail, ...] = ()
    refused: tuple[RefusedGuardrail, ...] = ()


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
    # from one failing test to the next is progress
    unsolved = [episode for episode in episodes if episode.movement is not Movement.FORWARD]
    without_progress = {kind: [episode for episode in unsolved if kind in failure_classes(episode)] for kind in FailureClass}
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


# --- effect -------------------------------------------------------------------------------------------------------------


def update_after_iteration(guardrail: Guardrail, episode: Episode) -> Guardrail:
    """The guardrail after an iteration. Call it once for each newly stored episode."""
    if guardrail.id not in episode.guarded:
        return guardrail
    updated = guardrail.model_copy(update={"loaded_at": max(guardrail.loaded_at or episode.at, episode.at)})
    if guardrail.failure is None or not episode.checked or episode.movement is Movement.WAITED:
        return updated
    seen = guardrail.after_seen + (guardrail.failure in failure_classes(episode))
    return updated.model_copy(update={"after_seen": seen, "after_of": guardrail.after_of + 1})


def update_after_loop(guardrail: Guardrail, episodes: Sequence[Episode], now: datetime) -> Guardrail:
    """The guardrail after a loop with these iterations; retired if it had its chance, unless it is a person's."""
    updated = guardrail
    if any(guardrail.id in episode.guarded for episode in episodes):
        # its class before an iteration, in its checks, or inside the session
        occurred = {error.kind for episode in episodes for error in (*episode.errors, *episode.troubles)}.union(
            *(episode.subject.failures for episode in episodes)
        )
        is_needed = guardrail.failure is None or guardrail.failure in occurred
        updated = guardrail.model_copy(
            update={"loops": guardrail.loops + 1, "unneeded": 0 if is_needed else guardrail.unneeded + 1}
        )
    if belongs_to_person(updated):
        return updated
    if verdict(updated) in RETIRING:
        return retire(effect_text(updated)[:LONGEST_WHY], updated, now)
    idle = now - max(updated.created_at, updated.loaded_at or updated.created_at)
    return retire(f"unused: not shown for {idle.days} days", updated, now) if idle > UNUSED else updated


def belongs_to_person(guardrail: Guardrail) -> bool:
    """Whether a person wrote or edited it: only a person removes it."""
    return guardrail.edited or guardrail.by == "person"


def verdict(guardrail: Guardrail) -> Verdict:
    failures_before, before, failures_after, after = (
        guardrail.before_seen,
        guardrail.before_of,
        guardrail.after_seen,
        guardrail.after_of,
    )
    result = Verdict.OPEN
    if after >= ENOUGH and guardrail.loops >= ENOUGH_LOOPS and before > 0:
        # share of all distributions of these failures over these iterations with as few of them since (hypergeometric)
        seen, log_total = failures_before + failures_after, _log_binomial(before + after, failures_before + failures_after)
        fewer = range(max(0, seen - before), failures_after + 1)
        chance_of_few = sum(math.exp(_log_binomial(after, few) + _log_binomial(before, seen - few) - log_total) for few in fewer)
        # probability of as many failures if each iteration fails with the earlier share times `WORTH`; that share has one more
        # failure and one more success than seen (Laplace), as three of three prove no law
        share = WORTH * (failures_before + 1) / (before + 2)
        log_failure, log_success = math.log(share), math.log1p(-share)
        chance_of_many = sum(
            math.exp(_log_binomial(after, many) + many * log_failure + (after - many) * log_success)
            for many in range(failures_after, after + 1)
        )
        result = Verdict.EFFECTIVE if chance_of_few <= DOUBT else Verdict.INEFFECTIVE if chance_of_many <= DOUBT else result
    patience = 2 * UNNEEDED if result is Verdict.EFFECTIVE else UNNEEDED  # an effective one rarely seems needed
    return Verdict.UNNEEDED if guardrail.unneeded >= patience else result


def effect_text(guardrail: Guardrail) -> str:
    """The effect for people, with its counts."""
    shown = f"shown in {plural(guardrail.loops, 'ended loop')}"
    if guardrail.failure is None:
        return f"not measured: it has no class of failure; {shown}"
    before = f"{guardrail.before_seen} of {plural(guardrail.before_of, 'checked iteration')}"
    since = f"{guardrail.after_seen} of {guardrail.after_of}"
    result = verdict(guardrail)
    quiet = f", no failure of its class in the last {guardrail.unneeded}" if result is Verdict.UNNEEDED else ""
    is_kept = belongs_to_person(guardrail) and result in RETIRING
    note = "; it belongs to a person, so it stays until somebody deletes it" if is_kept else ""
    return f"{result}: {guardrail.failure} failures in {before} before, in {since} since it is shown; {shown}{quiet}{note}"


def _log_binomial(total: int, chosen: int) -> float:
    """Logarithm of the binomial coefficient, which may itself have thousands of digits."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def retire(why: str, guardrail: Guardrail, now: datetime) -> Guardrail:
    return guardrail.model_copy(update={"retired": why, "retired_at": now})
