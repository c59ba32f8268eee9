"""Levels of learning (Bateson): a recurring class of failure is handled one level higher, and the effect is measured.

Level 1 repeats, level 2 changes the approach, level 3 asks a person, through the ladder.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from helmsman.oversee.cycles import fewer_fail, is_checked, last_iterations
from helmsman.records.agent import FailureClass
from helmsman.records.control import IterationSummary, Learning, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.texts import plural

ANOTHER_APPROACH, UNLEARNABLE = 2, 3  # levels: a different approach was ordered and is being tried; it had no effect
STAGNATION = 2  # iterations in a row with the same class that count as stagnation: S0's second failure
INTERVENTION = 3  # iterations in a row until a different approach is ordered: S0's third failure, the gutter
RECURRENCES = 2  # recurrences after an intervention until a person is asked; S10 leaves the number open
AWAY = 3  # iterations without the class that prove an intervention


@cache
def failure_advice() -> Mapping[str, Mapping[str, str]]:
    """Advice by class of failure."""
    return tomllib.loads(files("helmsman.oversee").joinpath("failure_advice.toml").read_text("utf-8"))


def learn(
    before: tuple[Learning, ...], history: Sequence[IterationSummary], *, intervened: bool
) -> tuple[tuple[Learning, ...], tuple[Alert, ...]]:
    """Classes of failure after the newest iteration, and the alerts that follow.

    `intervened`: whether its instructions reached the agent; without that, nothing is known about their effect.
    """
    if not history or history[-1].movement is Movement.WAITED or not history[-1].checked:
        return before, ()
    recent = last_iterations(history, AWAY, is_checked)
    earlier = {item.kind: item for item in before}
    kinds = dict.fromkeys((*earlier, *(error.kind for error in recent[-1].errors)))
    updated = tuple(_update(earlier.get(kind, Learning(kind=kind)), recent, intervened=intervened) for kind in kinds)
    alerts = (_format_alert(earlier.get(item.kind, Learning(kind=item.kind)), item) for item in updated)
    return updated, tuple(signal for signal in alerts if signal is not None)


def _update(item: Learning, recent: Sequence[IterationSummary], *, intervened: bool) -> Learning:
    """The class after the newest iteration of `seen`."""
    if not _has_failure(recent[-1], item.kind):
        # absent this time; if absent for long enough, the intervention helped
        since = [summary for summary in recent[-AWAY:] if summary.iteration > (item.intervened_at or 0)]
        is_absent = len(since) == AWAY and not any(_has_failure(summary, item.kind) for summary in since)
        if item.level >= ANOTHER_APPROACH and not is_absent:
            return item.model_copy(update={"in_row": 0})
        helped = True if item.level >= ANOTHER_APPROACH and intervened else item.helped
        return item.model_copy(update={"in_row": 0, "level": 0, "helped": helped})
    if _has_improved(item.kind, recent):  # fewer failures: the current level works
        level = item.level if item.level >= ANOTHER_APPROACH else 0
        return item.model_copy(update={"seen": item.seen + 1, "in_row": 1, "recurred": 0, "level": level})
    changes: dict[str, object] = {"seen": item.seen + 1, "in_row": item.in_row + 1}
    if item.level < ANOTHER_APPROACH and item.in_row + 1 >= INTERVENTION:
        changes |= {"level": ANOTHER_APPROACH, "intervened_at": recent[-1].iteration, "recurred": 0, "helped": None}
    elif item.level < ANOTHER_APPROACH:
        changes["level"] = 1 if item.in_row + 1 >= STAGNATION else 0
    else:  # it recurred despite the intervention
        recurred = item.recurred + intervened
        changes |= {"recurred": recurred} | ({"level": UNLEARNABLE, "helped": False} if recurred >= RECURRENCES else {})
    return item.model_copy(update=changes)


def _format_alert(before: Learning, after: Learning) -> Alert | None:
    """The alert for one class, if it failed again without improvement."""
    same = f"{after.kind} failures in {after.in_row} iterations in a row"
    is_new_level, has_recurred = after.level > before.level, after.recurred > before.recurred
    if after.level == 1 and after.in_row > before.in_row:
        message = f"{same} (from {INTERVENTION} on, another approach is required)"
        return Alert(rule="learning.repeated", severity=Severity.LOG, message=message, value=after.in_row, threshold=STAGNATION)
    if after.level < ANOTHER_APPROACH or not (is_new_level or has_recurred):
        return None
    rule, severity, value, threshold = "learning.stagnation", Severity.WARN, after.recurred, RECURRENCES
    if after.level == UNLEARNABLE and has_recurred and after.recurred % RECURRENCES == 0:
        # REDIRECT, not PAUSE: the ladder asks a person after another approach and a redesign were tried
        rule, severity = "learning.unlearnable", Severity.REDIRECT
        message = (
            f"{after.kind} failures occurred in {after.seen} iterations; another approach was required after iteration "
            f"{after.intervened_at}, and they recurred {after.recurred} times since (threshold {RECURRENCES}): check whether "
            "the goal and the checks can be met in this environment at all"
        )
    elif is_new_level:
        severity, value, threshold = Severity.REDIRECT, after.in_row, INTERVENTION
        message = f"{same} (threshold {INTERVENTION}): more of the same does not help"
    else:
        message = (
            f"{after.kind} failures recurred in {plural(after.recurred, 'iteration')} since another approach was required after "
            f"iteration {after.intervened_at} (a person is asked after {RECURRENCES})"
        )
    instruction = failure_advice()[after.kind]["do"]
    return Alert(rule=rule, severity=severity, message=message, value=value, threshold=threshold, instruction=instruction)


def _has_failure(summary: IterationSummary, kind: FailureClass) -> bool:
    return any(error.kind is kind for error in summary.errors)


def _has_improved(kind: FailureClass, recent: Sequence[IterationSummary]) -> bool:
    """Whether there was progress though the class still fails: forward, or fewer such failures or failing tests than recently."""
    *before, newest = recent
    if newest.movement is Movement.FORWARD:
        return True
    if not before or not _has_failure(before[-1], kind):
        return False
    # all earlier ones, because an oscillating number is below the previous one every second time
    earlier = [summary for summary in before if _has_failure(summary, kind)]
    now = _extent(newest, kind)
    return all(0 < now < _extent(summary, kind) or fewer_fail(summary, newest) for summary in earlier)


def _extent(summary: IterationSummary, kind: FailureClass) -> int:
    """Number of such failures; 0 if unknown."""
    extents = [error.extent for error in summary.errors if error.kind is kind]
    return sum(extents) if all(extents) else 0
