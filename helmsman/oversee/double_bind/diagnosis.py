"""Why a loop swings: it forgets what it learnt, or two of its orders contradict each other."""

import re
from collections.abc import Collection, Sequence

from helmsman.oversee.detectors.windows import worked
from helmsman.oversee.double_bind.conflicts import MOST_CONFLICTS
from helmsman.oversee.double_bind.scopes import NAMED, inside, named
from helmsman.oversee.double_bind.subjects import is_path, singular
from helmsman.oversee.double_bind.words import ANYTHING, DETERMINERS
from helmsman.oversee.drift.words import word_set
from helmsman.plain import cut_between_words
from helmsman.records.moments import Moment, Movement
from helmsman.records.oversight import Conflict, Diagnosis, Imperative
from helmsman.records.verdict import Severity, Signal

STUCK_FOR = 3
"""Iterations without anything gained until a contradiction is held to be the cause."""
CONFLICT = "orders.conflict"
"""Rule of the warning that two orders may contradict each other."""
SWING = 4
"""Iterations that show A, B, A, B."""
CHECKS = "checks"
"""Source of the orders that checks give."""
_SHOWN = 200
_CITED = 70
"""Characters of an order that a warning quotes."""
_CITED_AS_REASON = 50
"""The same for what asks a person; two of them and their places have to fit into the 300 that the ladder keeps."""
_PLACE = 30
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]{2,}")
_GENERAL = (
    ANYTHING
    | DETERMINERS
    | word_set(
        "test function module class method name first new or add create use change edit remove delete run keep write fix update"
    )
)
"""Words that any failure mentions."""
_TEST_NAME = re.compile(r"::| > |#|^test_|\.test_|\bTest[A-Z]|\.py\b")


def bind(
    found: Sequence[Conflict], history: Sequence[Moment], checks: Collection[str] = (), *, cycles: bool = False
) -> tuple[Diagnosis, tuple[Conflict, ...]]:
    """What makes the loop swing or stand, and the conflicts that matter.

    `checks`: names of the configured checks; without them a check is told from a test by the form of its name.
    `cycles`: whether a detector says that the loop goes round. What a model has read counts only where it does, and only where
    rules found nothing.
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


def bind_signal(diagnosis: Diagnosis, conflicts: Sequence[Conflict], told: Sequence[Conflict] = ()) -> Signal | None:
    """What follows from a diagnosis. `told`: conflicts of which a person has heard, so that a warning comes once."""
    if diagnosis is Diagnosis.AMNESIAC:
        return Signal(rule="amnesiac", severity=Severity.REDIRECT, message=_FORGETS, value=SWING, instruction=_WRITE_IT_DOWN)
    if diagnosis is Diagnosis.DOUBLE_BIND and conflicts:
        return Signal(rule="double_bind", severity=Severity.PAUSE, message=_fact(conflicts), value=len(conflicts), threshold=0)
    fresh = [one for one in conflicts if one not in told]
    if diagnosis is not Diagnosis.NONE or not fresh:
        return None
    return Signal(
        rule=CONFLICT,
        severity=Severity.WARN,
        message=_warning(fresh),
        value=len(fresh),
        threshold=0,
        instruction=_look_at(fresh[0]) if fresh[0].by == "model" else "",
    )


_FORGETS = (
    f"the last {SWING} iterations went to and fro between two states (A, B, A, B), and no two orders contradict each other: "
    "each session undoes what the one before it learnt"
)
_WRITE_IT_DOWN = (
    "Read your notes first. Earlier iterations went to and fro between two solutions. Find the one "
    "change that satisfies both sides, and write the finding into your notes before you go on: what "
    "was tried, what broke each time, and what is chosen for good."
)


def _stands(recent: Sequence[Moment]) -> bool:
    """Whether nothing was gained for long enough. Where nothing is checked, only a tree that does not change says so."""
    if len(recent) < STUCK_FOR or any(moment.movement is Movement.FORWARD or moment.green for moment in recent):
        return False
    return all(moment.checked or moment.movement is not Movement.SIDEWAYS for moment in recent)


def _failures_swing(swing: Sequence[Moment]) -> bool:
    """A, B, A, B, where what A lacks B has and the other way round."""
    sets = [frozenset(moment.failing) for moment in swing]
    if len(sets) < SWING or sets[:2] != sets[2:]:
        return False
    return bool(sets[0] - sets[1]) and bool(sets[1] - sets[0])


def _trees_swing(swing: Sequence[Moment]) -> bool:
    trees = [moment.tree for moment in swing]
    return len(trees) == SWING and all(trees) and trees[:2] == trees[2:] and trees[0] != trees[1]


def _between_checks(swing: Sequence[Moment], checks: Collection[str]) -> Conflict | None:
    """Two checks of which each fails where the other one passes."""
    one, other = (frozenset(moment.failing) for moment in swing[:2])
    first, second = (sorted(name for name in names if _is_check(name, checks)) for names in (one - other, other - one))
    if not first or not second:
        return None
    return Conflict(kind="pattern", first=_demand(first[0]), second=_demand(second[0]), about=f"{first[0]}, {second[0]}"[:_SHOWN])


def _is_check(name: str, checks: Collection[str]) -> bool:
    return name in checks if checks else not _TEST_NAME.search(name)


def _demand(name: str) -> Imperative:
    return Imperative(source=CHECKS, text=f"{name[:_SHOWN]} must pass", modality="must")


def _touches(conflict: Conflict, recent: Sequence[Moment]) -> bool:
    """Whether the work of late has to do with what two orders quarrel about."""
    files = [path for moment in recent for path in moment.files]
    about = [word.strip("`,") for word in conflict.about.split()]
    if any(inside(path, scope) for scope in about if is_path(scope) for path in files):
        return True
    scopes = {singular(word.lower()) for word in about} & NAMED.keys()
    if any(named(path, scope) for scope in scopes for path in files):
        return True
    telling = {singular(word.lower()) for word in _words(conflict.about)} - _GENERAL
    return bool(telling & {singular(word.lower()) for text in (*files, *_complaints(recent)) for word in _words(text)})


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if len(word) > 2]  # noqa: PLR2004 - shorter ones are in every path


def _complaints(recent: Sequence[Moment]) -> list[str]:
    failing = [name for moment in recent for name in moment.failing]
    errors = [error for moment in recent for error in (*moment.errors, *moment.troubles)]
    return [*failing, *(error.where for error in errors), *(error.message for error in errors)]


def _fact(conflicts: Sequence[Conflict]) -> str:
    """The ways out are told by the decision that follows from it."""
    first = conflicts[0]
    more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
    pair = f"{_cited(first.first, _CITED_AS_REASON)} against {_cited(first.second, _CITED_AS_REASON)}"
    return f"{_kind(first)}: {pair}{more}; a person has to choose"


def _kind(conflict: Conflict) -> str:
    if conflict.by == "model":
        return "it goes round, and a model reads two orders as a contradiction"
    return _CHECKS_BIND if conflict.first.source == CHECKS else _BIND


_BIND = f"nothing gained in {STUCK_FOR} iterations, two orders cannot both be followed"
_CHECKS_BIND = "two checks may exclude each other, each failed where the other passed, twice"


def _warning(fresh: Sequence[Conflict]) -> str:
    one = fresh[0]
    more = f"; {len(fresh) - 1} more like it" if len(fresh) > 1 else ""
    pair = f"{_cited(one.first)} against {_cited(one.second)}"
    if one.by == "model":
        told = f"a model reads two orders as a contradiction ({one.kind}, about {one.about}), rules found none: {pair}"
        return f"{told}{more}. The loop goes on; if it goes round over this, it stops for a person"
    told = f"two orders seem to contradict each other ({one.kind}, about {one.about}): {pair}"
    return f"{told}{more}. The loop goes on; if it gets stuck over this, it stops for a person"


def _look_at(conflict: Conflict) -> str:
    """Where the two orders stand, and none of their words: an instruction is ours."""
    places = f"{cut_between_words(conflict.first.place, _PLACE)} and {cut_between_words(conflict.second.place, _PLACE)}"
    return (
        f"Two of your orders may contradict each other, by a model's reading: look at {places}. Find a way that follows both. "
        "Where there is none, do the part of the work on which they agree, and write the two orders and the question that "
        "decides between them into your notes."
    )


def _cited(order: Imperative, longest: int = _CITED) -> str:
    return f"“{cut_between_words(order.text, longest)}” ({cut_between_words(order.place, _PLACE)})"
