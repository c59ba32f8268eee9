"""Why a loop repeats itself or stagnates: its sessions forget, two instructions contradict each other, or it is just stuck."""

import re
from collections.abc import Sequence
from typing import Any

from helmsman.oversee.conflicts import MOST_CONFLICTS, is_inside, is_path
from helmsman.oversee.cycles import last_iterations
from helmsman.oversee.detector import INSTRUCTIONS
from helmsman.oversee.imperatives import WORDS, stem
from helmsman.oversee.progress import made_progress
from helmsman.plain import shorten
from helmsman.records.control import Conflict, Diagnosis, IterationSummary, Movement
from helmsman.records.decision import Alert, Severity

STUCK_FOR = 3  # iterations without progress until a contradiction counts as the cause
SWING = 4  # iterations that show A, B, A, B
CONFLICT = "orders.conflict"  # rule of the warning that two instructions may contradict each other
_CITED = 70  # characters of an instruction that a warning quotes
_CITED_AS_REASON = 46
"""The same for questions to a person; two quotes with their places must fit into the 300 characters that the ladder stores."""
_PLACE = 30
_WORD = re.compile(r"[A-Za-z][a-z]{2,}|[A-Z]{3,}")
_GENERAL = frozenset(map(stem, WORDS["any"] | WORDS["general"]))  # words that any failure mentions

# --- diagnosis ----------------------------------------------------------------------------------------------------


def find_double_bind(
    conflicts: Sequence[Conflict], history: Sequence[IterationSummary]
) -> tuple[Diagnosis, tuple[Conflict, ...]]:
    """Why the loop oscillates or stagnates, and the relevant conflicts."""
    recent, swing = last_iterations(history, STUCK_FOR), last_iterations(history, SWING)
    has_progress = len(recent) < STUCK_FOR or any(summary.movement is Movement.FORWARD or summary.green for summary in recent)
    # without checks, only an unchanged tree shows that there was no progress
    if has_progress or not all(summary.checked or summary.movement is not Movement.SIDEWAYS for summary in recent):
        return "none", tuple(conflicts[:MOST_CONFLICTS])
    failing = [frozenset(summary.failing) for summary in swing]
    alternates = _alternate(failing) and bool(failing[0] - failing[1]) and bool(failing[1] - failing[0])
    touched = [conflict for conflict in conflicts if alternates or _concerns(conflict, recent)]
    if touched:
        others = [conflict for conflict in conflicts if conflict not in touched]
        return "double_bind", tuple([*touched, *others][:MOST_CONFLICTS])
    trees = [summary.tree for summary in swing]
    is_forgetful = not conflicts and (alternates or (_alternate(trees) and all(trees) and trees[0] != trees[1]))
    return ("amnesiac" if is_forgetful else "none"), tuple(conflicts[:MOST_CONFLICTS])


def _alternate(states: Sequence[Any]) -> bool:
    """Whether the states alternate: A, B, A, B."""
    return len(states) == SWING and states[:2] == states[2:]


def _concerns(conflict: Conflict, recent: Sequence[IterationSummary]) -> bool:
    """Whether recent work concerns the subject of the conflict."""
    files = [path for summary in recent for path in summary.files]
    if any(is_inside(path, scope) for scope in conflict.about.split() if is_path(scope) for path in files):
        return True
    errors = (f"{error.where} {error.message}" for summary in recent for error in (*summary.errors, *summary.troubles))
    mentioned = " ".join((*files, *(name for summary in recent for name in summary.failing), *errors))
    about, mentioned_stems = ({stem(word.lower()) for word in _WORD.findall(text)} for text in (conflict.about, mentioned))
    return not mentioned_stems.isdisjoint(about - _GENERAL)


# --- messages ----------------------------------------------------------------------------------------------------

_FORGETS = (
    f"the last {SWING} iterations alternated between two states (A, B, A, B), and no two instructions contradict each other: "
    "each session undoes the previous one"
)


def double_bind_alert(diagnosis: Diagnosis, conflicts: Sequence[Conflict], reported: Sequence[Conflict] = ()) -> Alert | None:
    """The alert for a diagnosis. `reported`: conflicts already reported, so that each warning is given once."""
    if diagnosis == "amnesiac":
        instruction = INSTRUCTIONS["amnesiac"]
        return Alert(rule="amnesiac", severity=Severity.REDIRECT, message=_FORGETS, value=SWING, instruction=instruction)
    is_double_bind = diagnosis == "double_bind"
    new = [conflict for conflict in conflicts if is_double_bind or conflict not in reported]
    if not new or not (is_double_bind or diagnosis == "none"):
        return None
    conflict, claim = new[0], "two instructions may conflict"
    suffix = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
    if is_double_bind:
        why = f"no progress in {STUCK_FOR} iterations"
        message = f"{why}, and {claim}: {_quote_pair(conflict, _CITED_AS_REASON)}{suffix}; a person has to choose"
        return Alert(rule="double_bind", severity=Severity.PAUSE, message=message, value=len(new), threshold=0)
    cited = _quote_pair(conflict, _CITED)
    message = f"{claim} ({conflict.kind}, about {conflict.about}): {cited}{suffix}. The loop continues; without progress it stops"
    return Alert(rule=CONFLICT, severity=Severity.WARN, message=message, value=len(new), threshold=0)


def _quote_pair(conflict: Conflict, longest: int) -> str:
    return " against ".join(
        f"“{shorten(instruction.text, longest)}” ({shorten(instruction.place, _PLACE)})"
        for instruction in (conflict.first, conflict.second)
    )


def describe_conflict(conflict: Conflict) -> str:
    """A contradiction for the person who must choose: its subject, and both instructions with their places."""
    first, second = (f"{instruction.place} says {instruction.text!r}" for instruction in (conflict.first, conflict.second))
    return f"about {conflict.about}, {first} and {second}"


STEADY = 3  # iterations after which a cycle is stable: S4's patience
RETURNING_RULES = frozenset({"limit_cycle", "recurring_trees"})
"""Rules for failures or trees that disappeared and came back: earlier findings were forgotten."""
STUCK_RULES = frozenset({"stuck", "plateau", "same_error", "empty_sessions", "oscillating"})


def diagnose(history: Sequence[IterationSummary], signals: Sequence[Alert]) -> Diagnosis:
    """Sessions that forget, a stable cycle without progress, or a productive one; `bind` finds double binds."""
    recent, rules = last_iterations(history, STEADY), {signal.rule for signal in signals}
    if rules & RETURNING_RULES:
        return "amnesiac"
    if rules & STUCK_RULES:
        return "stuck"
    return "productive" if len(recent) == STEADY and all(map(made_progress, recent)) else "none"
