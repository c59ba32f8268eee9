"""Why a loop goes round or stands: its sessions forget, two of its instructions contradict each other, or it is just stuck."""

import re
from collections.abc import Sequence
from typing import Any

from helmsman.oversee.conflicts import MOST_CONFLICTS, inside, is_path
from helmsman.oversee.cycles import worked
from helmsman.oversee.detector import INSTRUCTIONS
from helmsman.oversee.imperatives import WORDS, stem
from helmsman.oversee.progress import made_progress
from helmsman.plain import cut_between_words
from helmsman.records.control import Conflict, Diagnosis, IterationSummary, Movement
from helmsman.records.decision import Alert, Severity

STUCK_FOR = 3  # iterations without anything gained until a contradiction is held to be the cause
SWING = 4  # iterations that show A, B, A, B
CONFLICT = "orders.conflict"  # rule of the warning that two instructions may contradict each other
_CITED = 70  # characters of an instruction that a warning quotes
_CITED_AS_REASON = 46
"""The same for what asks a person; two of them and their places have to fit into the 300 that the ladder keeps."""
_PLACE = 30
_WORD = re.compile(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_GENERAL = frozenset(map(stem, WORDS["any"] | WORDS["general"]))  # words that any failure mentions

# --- diagnosis ----------------------------------------------------------------------------------------------------


def bind(found: Sequence[Conflict], history: Sequence[IterationSummary]) -> tuple[Diagnosis, tuple[Conflict, ...]]:
    """What makes the loop swing or stand, and the conflicts that matter."""
    recent, swing = worked(history, STUCK_FOR), worked(history, SWING)
    gained = len(recent) < STUCK_FOR or any(summary.movement is Movement.FORWARD or summary.green for summary in recent)
    # where nothing is checked, only a tree that does not change says that nothing was gained
    if gained or not all(summary.checked or summary.movement is not Movement.SIDEWAYS for summary in recent):
        return "none", tuple(found[:MOST_CONFLICTS])
    failing = [frozenset(summary.failing) for summary in swing]
    swings = _turns(failing) and bool(failing[0] - failing[1]) and bool(failing[1] - failing[0])
    touched = [one for one in found if swings or _touches(one, recent)]
    if touched:
        rest = [one for one in found if one not in touched]
        return "double_bind", tuple([*touched, *rest][:MOST_CONFLICTS])
    trees = [summary.tree for summary in swing]
    forgets = not found and (swings or (_turns(trees) and all(trees) and trees[0] != trees[1]))
    return ("amnesiac" if forgets else "none"), tuple(found[:MOST_CONFLICTS])


def _turns(states: Sequence[Any]) -> bool:
    """A, B, A, B."""
    return len(states) == SWING and states[:2] == states[2:]


def _touches(conflict: Conflict, recent: Sequence[IterationSummary]) -> bool:
    """Whether the work of late has to do with what the two are about."""
    files = [path for summary in recent for path in summary.files]
    if any(inside(path, scope) for scope in conflict.about.split() if is_path(scope) for path in files):
        return True
    errors = (f"{error.where} {error.message}" for summary in recent for error in (*summary.errors, *summary.troubles))
    said = " ".join((*files, *(name for summary in recent for name in summary.failing), *errors))
    about, met = ({stem(word.lower()) for word in _WORD.findall(text)} for text in (conflict.about, said))
    return not met.isdisjoint(about - _GENERAL)


# --- what is said of it -------------------------------------------------------------------------------------------

_FORGETS = (
    f"the last {SWING} iterations alternated between two states (A, B, A, B), and no two instructions contradict each other: "
    "each session undoes the previous one"
)


def bind_signal(diagnosis: Diagnosis, conflicts: Sequence[Conflict], told: Sequence[Conflict] = ()) -> Alert | None:
    """What follows from a diagnosis. `told`: conflicts of which a person has heard, so that a warning comes once."""
    if diagnosis == "amnesiac":
        instruction = INSTRUCTIONS["amnesiac"]
        return Alert(rule="amnesiac", severity=Severity.REDIRECT, message=_FORGETS, value=SWING, instruction=instruction)
    binds = diagnosis == "double_bind"
    fresh = [one for one in conflicts if binds or one not in told]
    if not fresh or not (binds or diagnosis == "none"):
        return None
    one, found = fresh[0], "two instructions seem to conflict"
    more = f" (and {len(fresh) - 1} more)" if len(fresh) > 1 else ""
    if binds:
        why = f"nothing gained in {STUCK_FOR} iterations"
        message = f"{why}, and {found}: {_pair(one, _CITED_AS_REASON)}{more}; a person has to choose"  # the decision tells how
        return Alert(rule="double_bind", severity=Severity.PAUSE, message=message, value=len(fresh), threshold=0)
    message = (
        f"{found} ({one.kind}, about {one.about}): {_pair(one, _CITED)}{more}. The loop continues; without progress it stops"
    )
    return Alert(rule=CONFLICT, severity=Severity.WARN, message=message, value=len(fresh), threshold=0)


def _pair(conflict: Conflict, longest: int) -> str:
    return " against ".join(
        f"“{cut_between_words(order.text, longest)}” ({cut_between_words(order.place, _PLACE)})"
        for order in (conflict.first, conflict.second)
    )


def sentence(conflict: Conflict) -> str:
    """A contradiction for the person who has to choose: what about, and both instructions with their places."""
    first, second = (f"{order.place} says {order.text!r}" for order in (conflict.first, conflict.second))
    return f"about {conflict.about}, {first} and {second}"


STEADY = 3  # iterations that make a cycle stable: S4's patience
RETURNED = frozenset({"limit_cycle", "recurring_trees"})
"""Rules that say that a failure or a tree was gone, and came back: what was found out was forgotten."""
IN_VAIN = frozenset({"stuck", "plateau", "same_error", "empty_sessions", "oscillating"})


def diagnose(history: Sequence[IterationSummary], signals: Sequence[Alert]) -> Diagnosis:
    """Sessions that forget, a stable cycle that does not get on, or one that does; a double bind is found elsewhere."""
    last, rules = worked(history, STEADY), {signal.rule for signal in signals}
    if rules & RETURNED:
        return "amnesiac"
    if rules & IN_VAIN:
        return "stuck"
    return "productive" if len(last) == STEADY and all(map(made_progress, last)) else "none"
