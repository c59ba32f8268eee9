"""Effect of a guardrail: the frequency of its class of failure before and after the agent was told.

Two tests for small numbers. Could so few failures be chance if nothing has changed (Fisher's exact test)? Could so many be
chance if it has halved them (a binomial tail)? If neither can be ruled out, the verdict stays open.
Guardrails are created when failures pile up, so that failures decrease afterwards anyway: therefore `before` counts all
iterations of the project, and a single loop decides nothing.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from helmsman.records.agent import FailureClass
from helmsman.records.control import Movement
from helmsman.records.lessons import Episode, Guardrail
from helmsman.texts import plural

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


NO_GOOD = frozenset({Verdict.INEFFECTIVE, Verdict.UNNEEDED})


def failure_classes(episode: Episode) -> frozenset[FailureClass]:
    """Classes of failure of its checks; none if unknown. Failures inside the session only do not count."""
    is_known = episode.checked and episode.movement is not Movement.WAITED
    return frozenset(error.kind for error in episode.errors) if is_known else frozenset()


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
    if guardrail.retired:
        return guardrail
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
    if verdict(updated) in NO_GOOD:
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
    is_kept = belongs_to_person(guardrail) and result in NO_GOOD
    note = "; it belongs to a person, so it stays until somebody deletes it" if is_kept else ""
    return f"{result}: {guardrail.failure} failures in {before} before, in {since} since it is shown; {shown}{quiet}{note}"


def _log_binomial(total: int, chosen: int) -> float:
    """Logarithm of the binomial coefficient, which may itself have thousands of digits."""
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def retire(why: str, guardrail: Guardrail, now: datetime) -> Guardrail:
    return guardrail.model_copy(update={"retired": why, "retired_at": now})
