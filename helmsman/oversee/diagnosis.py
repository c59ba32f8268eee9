"""Why a loop goes round or stands: its sessions forget, two of its instructions contradict each other, or it is just stuck."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from helmsman.oversee.conflicts import ANY, MOST_CONFLICTS, inside, is_path
from helmsman.oversee.cycles import NAME_LENGTH, checked, complete, failures, worked
from helmsman.oversee.imperatives import singular
from helmsman.oversee.ladder import CYCLES
from helmsman.oversee.progress import made_progress
from helmsman.plain import cut_between_words, word_set
from helmsman.records.moments import Moment, Movement
from helmsman.records.oversight import Conflict, Diagnosis, Imperative
from helmsman.records.verdict import Severity, Signal

STUCK_FOR = 3
"""Iterations without anything gained until a contradiction is held to be the cause."""
SWING = 4
"""Iterations that show A, B, A, B."""
CONFLICT = "orders.conflict"
"""Rule of the warning that two instructions may contradict each other."""
CHECKS = "checks"
"""Source of the instructions that checks give."""
_SHOWN = 200
_CITED = 70
"""Characters of an instruction that a warning quotes."""
_CITED_AS_REASON = 50
"""The same for what asks a person; two of them and their places have to fit into the 300 that the ladder keeps."""
_PLACE = 30
_WORD = re.compile(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_GENERAL = ANY | word_set(
    "the all every test function module class method name first new add use change edit remove run keep write fix touch"
)
"""Words that any failure mentions."""

# --- diagnosis ----------------------------------------------------------------------------------------------------


def bind(
    found: Sequence[Conflict], history: Sequence[Moment], checks: Collection[str] = (), *, cycles: bool = False
) -> tuple[Diagnosis, tuple[Conflict, ...]]:
    """What makes the loop swing or stand, and the conflicts that matter.

    `checks`: names of the configured checks. `cycles`: whether a detector says that the loop goes round. What a model has read
    counts only where it does, and only where rules found nothing.
    """
    recent, swing = worked(history, STUCK_FOR), worked(history, SWING)
    if not _stands(recent):
        return Diagnosis.NONE, tuple(found[:MOST_CONFLICTS])
    swings = _failures_swing(swing)
    ruled, read = ([one for one in found if one.by == by] for by in ("rules", "model"))
    touched = [one for one in ruled if swings or _touches(one, recent)]
    if touched:
        rest = [one for one in found if one not in touched]
        return Diagnosis.DOUBLE_BIND, tuple([*touched, *rest][:MOST_CONFLICTS])
    between = _between_checks(swing, checks) if swings and not ruled else None
    if between:
        return Diagnosis.DOUBLE_BIND, (between, *read)[:MOST_CONFLICTS]
    forgets = not ruled and (swings or _trees_swing(swing))
    if read and (forgets or (cycles and not ruled)):
        return Diagnosis.DOUBLE_BIND, tuple(read[:MOST_CONFLICTS])
    return (Diagnosis.AMNESIAC if forgets else Diagnosis.NONE), tuple(found[:MOST_CONFLICTS])


def _stands(recent: Sequence[Moment]) -> bool:
    """Whether nothing was gained for long enough. Where nothing is checked, only a tree that does not change says so."""
    if len(recent) < STUCK_FOR or any(moment.movement is Movement.FORWARD or moment.green for moment in recent):
        return False
    return all(moment.checked or moment.movement is not Movement.SIDEWAYS for moment in recent)


def _failures_swing(swing: Sequence[Moment]) -> bool:
    """A, B, A, B, where what A lacks B has and the other way round."""
    sets = [frozenset(moment.failing) for moment in swing]
    return len(sets) == SWING and sets[:2] == sets[2:] and bool(sets[0] - sets[1]) and bool(sets[1] - sets[0])


def _trees_swing(swing: Sequence[Moment]) -> bool:
    trees = [moment.tree for moment in swing]
    return len(trees) == SWING and all(trees) and trees[:2] == trees[2:] and trees[0] != trees[1]


def _between_checks(swing: Sequence[Moment], checks: Collection[str]) -> Conflict | None:
    """Two checks of which each fails where the other one passes."""
    one, other = (frozenset(moment.failing) & frozenset(checks) for moment in swing[:2])
    if not one - other or not other - one:
        return None
    first, second = min(one - other), min(other - one)
    return Conflict(kind="pattern", first=_demand(first), second=_demand(second), about=f"{first}, {second}"[:_SHOWN])


def _demand(check: str) -> Imperative:
    return Imperative(source=CHECKS, text=f"{check[:_SHOWN]} must pass", modality="must")


def _touches(conflict: Conflict, recent: Sequence[Moment]) -> bool:
    """Whether the work of late has to do with what the two are about."""
    files = [path for moment in recent for path in moment.files]
    if any(inside(path, scope) for scope in conflict.about.split() if is_path(scope) for path in files):
        return True
    errors = [error for moment in recent for error in (*moment.errors, *moment.troubles)]
    failing = [name for moment in recent for name in moment.failing]
    told = " ".join((*files, *failing, *(f"{error.where} {error.message}" for error in errors)))
    return bool((_words(conflict.about) - _GENERAL) & _words(told))


def _words(text: str) -> set[str]:
    return {singular(word.lower()) for word in _WORD.findall(text)}


# --- what is said of it -------------------------------------------------------------------------------------------

_FORGETS = (
    f"the last {SWING} iterations went to and fro between two states (A, B, A, B), and no two orders contradict each other: "
    "each session undoes what the one before it learnt"
)
_WRITE_IT_DOWN = (
    "Read your notes first. Earlier iterations went to and fro between two solutions. Find the one change that satisfies both "
    "sides, and write the finding into your notes before you go on: what was tried, what broke each time, and what is chosen for "
    "good."
)
_BIND = f"nothing gained in {STUCK_FOR} iterations, two orders cannot both be followed"
_CHECKS_BIND = "two checks may exclude each other, each failed where the other passed, twice"
_READ_BIND = "it goes round, and a model reads two orders as a contradiction"


def bind_signal(diagnosis: Diagnosis, conflicts: Sequence[Conflict], told: Sequence[Conflict] = ()) -> Signal | None:
    """What follows from a diagnosis. `told`: conflicts of which a person has heard, so that a warning comes once."""
    if diagnosis is Diagnosis.AMNESIAC:
        return Signal(rule="amnesiac", severity=Severity.REDIRECT, message=_FORGETS, value=SWING, instruction=_WRITE_IT_DOWN)
    if diagnosis is Diagnosis.DOUBLE_BIND and conflicts:
        return Signal(rule="double_bind", severity=Severity.PAUSE, message=_fact(conflicts), value=len(conflicts), threshold=0)
    fresh = [one for one in conflicts if one not in told]
    return _warning(fresh) if fresh and diagnosis is Diagnosis.NONE else None


def _fact(conflicts: Sequence[Conflict]) -> str:
    """The ways out are told by the decision that follows from it."""
    first = conflicts[0]
    kind = _READ_BIND if first.by == "model" else _CHECKS_BIND if first.first.source == CHECKS else _BIND
    more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
    return f"{kind}: {_pair(first, _CITED_AS_REASON)}{more}; a person has to choose"


def _warning(fresh: Sequence[Conflict]) -> Signal:
    one, read = fresh[0], fresh[0].by == "model"
    found = "a model reads two orders as a contradiction" if read else "two orders seem to contradict each other"
    more = f"; {len(fresh) - 1} more like it" if len(fresh) > 1 else ""
    message = (
        f"{found} ({one.kind}, about {one.about}){', rules found none' if read else ''}: {_pair(one, _CITED)}{more}. "
        f"The loop goes on; if it {'goes round' if read else 'gets stuck'} over this, it stops for a person"
    )
    instruction = _look_at(one) if read else ""
    return Signal(rule=CONFLICT, severity=Severity.WARN, message=message, value=len(fresh), threshold=0, instruction=instruction)


def _look_at(conflict: Conflict) -> str:
    """Where the two instructions stand, and none of their words: an instruction is ours."""
    first, second = (cut_between_words(order.place, _PLACE) for order in (conflict.first, conflict.second))
    return (
        f"Two of your orders may contradict each other, by a model's reading: look at {first} and {second}. Find a way that "
        "follows both. Where there is none, do the part of the work on which they agree, and write the two orders and the "
        "question that decides between them into your notes."
    )


def _pair(conflict: Conflict, longest: int) -> str:
    cited = (
        f"“{cut_between_words(order.text, longest)}” ({cut_between_words(order.place, _PLACE)})"
        for order in (conflict.first, conflict.second)
    )
    return " against ".join(cited)


def sentence(conflict: Conflict) -> str:
    """A contradiction for the person who has to choose: who says so, what about, and both instructions with their places."""
    reader = "as a model reads it, " if conflict.by == "model" else ""
    first, second = (f"{order.place} says {order.text!r}" for order in (conflict.first, conflict.second))
    return f"{reader}about {conflict.about}, {first} and {second}"


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
    facts, idle = recurring(history), not any(map(made_progress, last))
    if facts.times >= RETURNS and (rules & CYCLES or (idle and facts.now)):
        return Diagnosis.AMNESIAC
    if rules & IN_VAIN:
        return Diagnosis.STUCK
    return Diagnosis.PRODUCTIVE if len(last) == STEADY and all(map(made_progress, last)) else Diagnosis.NONE


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
