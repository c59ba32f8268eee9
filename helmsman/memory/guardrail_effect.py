"""Whether a guardrail does any good: how often its class of failure came back, before it was told and since.

Two questions, both answered with small numbers in mind. Could so few failures be chance, if nothing had changed (Fisher's exact
test)? Could so many be chance, if it had halved them (a binomial tail)? A guardrail of which neither can be said stays open.
A guardrail is made when failures pile up, so that they get fewer in any case afterwards: therefore `before` counts all of the
project's iterations and not the bad ones alone, and nothing is judged by one loop.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from helmsman.records.agent import FailureClass
from helmsman.records.control import Movement
from helmsman.records.lessons import Episode, Guardrail
from helmsman.texts import plural

ENOUGH = 8  # checked iterations with it until it is judged: with fewer, one bad loop decides
ENOUGH_LOOPS = 2  # ended loops with it until it is judged: iterations of one loop fail together, for one cause
DOUBT = 0.05  # how probable chance may be for a verdict; Fisher's own convention
WORTH = 0.5
"""Share of the earlier failures that may remain; an instruction that prevents fewer than half of them isn't worth its room."""
UNNEEDED = 5  # loops in a row without anything of its class until it goes; of one that was shown to help, twice as many
UNUSED = timedelta(days=90)  # without being told to anybody until it goes
LONGEST_WHY = 300


class Verdict(StrEnum):
    INEFFECTIVE = "ineffective"  # it recurs as before
    UNNEEDED = "unneeded"  # nothing of its class was anywhere near for long
    OPEN = "open"
    EFFECTIVE = "effective"


NO_GOOD = frozenset({Verdict.INEFFECTIVE, Verdict.UNNEEDED})


def failed(episode: Episode) -> frozenset[FailureClass]:
    """Classes that its checks failed with; none where nothing is known. What failed inside the session only is no failure."""
    known = episode.checked and episode.movement is not Movement.WAITED
    return frozenset(error.kind for error in episode.errors) if known else frozenset()


def after_iteration(guardrail: Guardrail, episode: Episode) -> Guardrail:
    """What it looks like after an iteration. To be called once for each one that was newly kept."""
    if guardrail.id not in episode.guarded:
        return guardrail
    told = guardrail.model_copy(update={"loaded_at": max(guardrail.loaded_at or episode.at, episode.at)})
    if guardrail.failure is None or not episode.checked or episode.movement is Movement.WAITED:
        return told
    seen = guardrail.after_seen + (guardrail.failure in failed(episode))
    return told.model_copy(update={"after_seen": seen, "after_of": guardrail.after_of + 1})


def after_loop(guardrail: Guardrail, episodes: Sequence[Episode], now: datetime) -> Guardrail:
    """What it looks like after a loop, given all its iterations; retired where it has had its chance, unless it is a person's."""
    if guardrail.retired:
        return guardrail
    ended = guardrail
    if any(guardrail.id in episode.guarded for episode in episodes):
        # anything of its class before an iteration, in its checks, or inside the session
        near = {error.kind for one in episodes for error in (*one.errors, *one.troubles)}.union(
            *(one.subject.failures for one in episodes)
        )
        needed = guardrail.failure is None or guardrail.failure in near
        ended = guardrail.model_copy(update={"loops": guardrail.loops + 1, "unneeded": 0 if needed else guardrail.unneeded + 1})
    if persons(ended):
        return ended
    if verdict(ended) in NO_GOOD:
        return retired(effect_text(ended)[:LONGEST_WHY], ended, now)
    idle = now - max(ended.created_at, ended.loaded_at or ended.created_at)
    return retired(f"unused: not shown for {idle.days} days", ended, now) if idle > UNUSED else ended


def persons(guardrail: Guardrail) -> bool:
    """Whether a person made or changed it: only a person ends it."""
    return guardrail.edited or guardrail.by == "person"


def verdict(guardrail: Guardrail) -> Verdict:
    had, before, has, after = guardrail.before_seen, guardrail.before_of, guardrail.after_seen, guardrail.after_of
    weighed = Verdict.OPEN
    if after >= ENOUGH and guardrail.loops >= ENOUGH_LOOPS and before > 0:
        # of all ways to spread these failures over all these iterations, the share with as few of them since (hypergeometric)
        seen, ways = had + has, _ways(before + after, had + has)
        fewer = range(max(0, seen - before), has + 1)
        by_chance = sum(math.exp(_ways(after, few) + _ways(before, seen - few) - ways) for few in fewer)
        # how probable as many failures are, if each iteration had its earlier share of them times `WORTH`: that share with one
        # failure and one success more than were seen (Laplace), as three of three prove no law
        share = WORTH * (had + 1) / (before + 2)
        hit, missed = math.log(share), math.log1p(-share)
        in_spite = sum(math.exp(_ways(after, many) + many * hit + (after - many) * missed) for many in range(has, after + 1))
        weighed = Verdict.EFFECTIVE if by_chance <= DOUBT else Verdict.INEFFECTIVE if in_spite <= DOUBT else weighed
    patience = 2 * UNNEEDED if weighed is Verdict.EFFECTIVE else UNNEEDED  # what works well is seldom seen to be needed
    return Verdict.UNNEEDED if guardrail.unneeded >= patience else weighed


def effect_text(guardrail: Guardrail) -> str:
    """Its effect for people, with the counts that it rests on."""
    told = f"told in {plural(guardrail.loops, 'ended loop')}"
    if guardrail.failure is None:
        return f"not measured, as it is about no known class of failure; {told}"
    before = f"{guardrail.before_seen} of {plural(guardrail.before_of, 'checked iteration')}"
    since = f"{guardrail.after_seen} of {guardrail.after_of}"
    found = verdict(guardrail)
    quiet = f", nothing of its class near in the last {guardrail.unneeded}" if found is Verdict.UNNEEDED else ""
    yours = "; it is a person's, so it stays until somebody deletes it" if persons(guardrail) and found in NO_GOOD else ""
    return f"{found}: {guardrail.failure} failures in {before} before, in {since} since it is told; {told}{quiet}{yours}"


def _ways(of: int, some: int) -> float:
    """The logarithm of the number of ways to choose: the number itself may have thousands of digits."""
    return math.lgamma(of + 1) - math.lgamma(some + 1) - math.lgamma(of - some + 1)


def retired(why: str, one: Guardrail, now: datetime) -> Guardrail:
    return one.model_copy(update={"retired": why, "retired_at": now})
