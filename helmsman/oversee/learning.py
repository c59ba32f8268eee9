"""Levels of learning (Bateson): the same class of failure again and again is met one level higher, and the effect is measured.

Level 1 repeats, level 2 changes what is worked by, level 3 is a matter for a person, by way of the ladder.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from helmsman.oversee.cycles import checked, fewer_fail, worked
from helmsman.records.agent import FailureClass
from helmsman.records.control import IterationSummary, Learning, Movement
from helmsman.records.decision import Alert, Severity
from helmsman.texts import plural

TRIED, UNLEARNABLE = 2, 3  # Levels: something else was ordered and is being tried; that was in vain
STAGNATION = 2  # iterations in a row with the same class that count as standing still: S0's second failure
INTERVENTION = 3  # in a row until something else is ordered: S0's third failure, the gutter
RECURRENCES = 2  # times that it may come back after an intervention until it is a matter for a person; S10 leaves the number open
AWAY = 3  # iterations without it that prove an intervention


@cache
def advice() -> Mapping[str, Mapping[str, str]]:
    """By class of failure."""
    return tomllib.loads(files("helmsman.oversee").joinpath("failure_advice.toml").read_text("utf-8"))


def learn(
    before: tuple[Learning, ...], history: Sequence[IterationSummary], *, intervened: bool
) -> tuple[tuple[Learning, ...], tuple[Alert, ...]]:
    """Classes of failure after the newest iteration, and what follows from them.

    `intervened`: whether what was ordered before it reached the agent; else nothing can be said of its effect.
    """
    if not history or history[-1].movement is Movement.WAITED or not history[-1].checked:
        return before, ()
    seen = worked(history, AWAY, checked)
    known = {item.kind: item for item in before}
    kinds = dict.fromkeys((*known, *(error.kind for error in seen[-1].errors)))
    learnt = tuple(_next(known.get(kind, Learning(kind=kind)), seen, intervened=intervened) for kind in kinds)
    told = (_told(known.get(item.kind, Learning(kind=item.kind)), item) for item in learnt)
    return learnt, tuple(signal for signal in told if signal is not None)


def _next(item: Learning, seen: Sequence[IterationSummary], *, intervened: bool) -> Learning:
    """The class after the newest of `seen`."""
    if not _has(seen[-1], item.kind):
        # it stayed away this time; for long enough, and the intervention has helped
        since = [summary for summary in seen[-AWAY:] if summary.iteration > (item.intervened_at or 0)]
        away = len(since) == AWAY and not any(_has(summary, item.kind) for summary in since)
        if item.level >= TRIED and not away:
            return item.model_copy(update={"in_row": 0})
        helped = True if item.level >= TRIED and intervened else item.helped
        return item.model_copy(update={"in_row": 0, "level": 0, "helped": helped})
    if _gained(item.kind, seen):  # it fails less: the level it is worked on serves
        level = item.level if item.level >= TRIED else 0
        return item.model_copy(update={"seen": item.seen + 1, "in_row": 1, "recurred": 0, "level": level})
    now: dict[str, object] = {"seen": item.seen + 1, "in_row": item.in_row + 1}
    if item.level < TRIED and item.in_row + 1 >= INTERVENTION:
        now |= {"level": TRIED, "intervened_at": seen[-1].iteration, "recurred": 0, "helped": None}
    elif item.level < TRIED:
        now["level"] = 1 if item.in_row + 1 >= STAGNATION else 0
    else:  # it came back in spite of what was ordered
        recurred = item.recurred + intervened
        now |= {"recurred": recurred} | ({"level": UNLEARNABLE, "helped": False} if recurred >= RECURRENCES else {})
    return item.model_copy(update=now)


def _told(before: Learning, after: Learning) -> Alert | None:
    """What there is to say of one class, where it failed again without a gain."""
    same = f"the same class of failure, {after.kind}, in {after.in_row} iterations in a row"
    new, again = after.level > before.level, after.recurred > before.recurred
    if after.level == 1 and after.in_row > before.in_row:
        message = f"{same} ({INTERVENTION} order a change)"
        return Alert(rule="learning.repeated", severity=Severity.LOG, message=message, value=after.in_row, threshold=STAGNATION)
    if after.level < TRIED or not (new or again):
        return None
    rule, severity, value, threshold = "learning.stagnation", Severity.WARN, after.recurred, RECURRENCES
    if after.level == UNLEARNABLE and again and after.recurred % RECURRENCES == 0:
        # REDIRECT, not PAUSE: the ladder brings it before a person, once another approach and a redesign had their chance
        rule, severity = "learning.unlearnable", Severity.REDIRECT
        message = (
            f"{after.kind} failures were seen in {after.seen} iterations; something else was ordered after iteration "
            f"{after.intervened_at}, and they came back {after.recurred} times since ({RECURRENCES} are allowed): look whether "
            "the goal, the checks or the environment can be met at all"
        )
    elif new:
        severity, value, threshold = Severity.REDIRECT, after.in_row, INTERVENTION
        message = f"{same} ({INTERVENTION} trip this): working on as before does not end it"
    else:
        message = (
            f"{after.kind} failures came back in {plural(after.recurred, 'iteration')} since a change was ordered after "
            f"iteration {after.intervened_at} ({RECURRENCES} make it a matter for a person)"
        )
    instruction = advice()[after.kind]["do"]
    return Alert(rule=rule, severity=severity, message=message, value=value, threshold=threshold, instruction=instruction)


def _has(summary: IterationSummary, kind: FailureClass) -> bool:
    return any(error.kind is kind for error in summary.errors)


def _gained(kind: FailureClass, seen: Sequence[IterationSummary]) -> bool:
    """Whether it got on, though the class still fails: forward, fewer failures of it than lately, or fewer failing tests."""
    *before, newest = seen
    if newest.movement is Movement.FORWARD:
        return True
    if not before or not _has(before[-1], kind):
        return False
    earlier = [summary for summary in before if _has(summary, kind)]  # what swings is below the last one every second time
    now = _extent(newest, kind)
    return all(0 < now < _extent(summary, kind) or fewer_fail(summary, newest) for summary in earlier)


def _extent(summary: IterationSummary, kind: FailureClass) -> int:
    """Things that failed so; 0 where nothing tells."""
    known = [error.extent for error in summary.errors if error.kind is kind]
    return sum(known) if all(known) else 0
