"""Why the same thing comes again: a cycle that gets on, a stuck one, or sessions that forget."""

from collections.abc import Sequence
from dataclasses import dataclass

from helmsman.oversee.detectors.windows import NAME_LENGTH, checked, complete, failures, worked
from helmsman.oversee.ladder import CYCLES
from helmsman.oversee.movement import got_on
from helmsman.records.moments import Moment
from helmsman.records.oversight import Diagnosis
from helmsman.records.verdict import Signal

FACTS_WINDOW = 20
MOST_FACTS = 10
STEADY = 3
"""Iterations that make a cycle stable: S4's patience."""
RETURNS = 2
"""Returns that make forgetting of an accident: each side of A/B/A/B came back once."""
IN_VAIN = frozenset({"stuck", "plateau", "same_error", "empty_sessions", "limit_cycle", "oscillating", "recurring_trees"})


@dataclass(frozen=True)
class Return:
    """Something that was gone and came back."""

    name: str
    times: int
    now: bool
    """Whether the newest iteration is one of its returns."""


@dataclass(frozen=True)
class Recurring:
    """What came back within the last 20 iterations; each at most 10, the most frequent first."""

    failures: tuple[Return, ...] = ()
    """Tests and checks by name, else class and place of an error."""
    trees: tuple[Return, ...] = ()

    @property
    def times(self) -> int:
        """Returns in all, of failures or of trees, whichever are more."""
        return max(sum(item.times for item in self.failures), sum(item.times for item in self.trees))

    @property
    def now(self) -> bool:
        return any(item.now for item in (*self.failures, *self.trees))


def recurring(history: Sequence[Moment]) -> Recurring:
    """Which failures and trees were gone and came back."""
    seen = checked(history, FACTS_WINDOW)
    there = [failures(moment) for moment in seen]
    found = _returned(_without_constant(there), [complete(moment) for moment in seen])
    trees = [frozenset((moment.tree,)) for moment in worked(history, FACTS_WINDOW) if moment.tree]
    return Recurring(
        failures=tuple(_short(item) for item in found),
        trees=tuple(_short(item) for item in _returned(trees, [True] * len(trees))),
    )


def diagnose(history: Sequence[Moment], signals: Sequence[Signal]) -> Diagnosis:
    """A stable cycle that gets on, one that does not, or sessions that forget; a double bind is found elsewhere.

    Forgetting is told from being stuck by what happens between: there the failure or tree was gone, and came back.
    """
    last, rules = worked(history, STEADY), {signal.rule for signal in signals}
    facts, idle = recurring(history), not any(map(got_on, last))
    if facts.times >= RETURNS and (rules & CYCLES or (idle and facts.now)):
        return Diagnosis.AMNESIAC
    if rules & IN_VAIN:
        return Diagnosis.STUCK
    return Diagnosis.PRODUCTIVE if len(last) == STEADY and all(map(got_on, last)) else Diagnosis.NONE


def _without_constant(there: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Without what is in every red run though these differ: the name of the check, which says nothing of what failed in it."""
    red = {names for names in there if names}
    constant = frozenset[str].intersection(*red) if len(red) > 1 else frozenset[str]()
    return [names - constant for names in there]


def _returned(sets: Sequence[frozenset[str]], complete: Sequence[bool]) -> list[Return]:
    """Members that were gone for certain and came back, the most frequent first."""
    times, gone = dict[str, int](), set[str]()
    known = set[str]()
    now = frozenset[str]()
    for members, whole in zip(sets, complete, strict=True):
        now = members & gone
        for name in now:
            times[name] = times.get(name, 0) + 1
        gone -= members
        gone |= known - members if whole else gone
        known |= members
    ranked = sorted(times, key=lambda name: (-times[name], name))[:MOST_FACTS]
    return [Return(name, times[name], name in now) for name in ranked]


def _short(item: Return) -> Return:
    return Return(item.name[:NAME_LENGTH], item.times, item.now)
