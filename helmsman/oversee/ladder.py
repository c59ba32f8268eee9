"""The escalation ladder: repeated failure raises the level; clean iterations or a person lower it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from helmsman.config import LadderConfig
from helmsman.oversee.progress import made_progress
from helmsman.plain import clean
from helmsman.records.control import EscalationLevel, IterationSummary, Ladder, LevelChange, Movement, Oversight
from helmsman.records.decision import Alert, Severity
from helmsman.records.state import LoopState
from helmsman.texts import plural

CYCLE_RULES = frozenset({"limit_cycle", "recurring_trees", "oscillating"})
"""Rules for repeating loops. Another attempt would repeat the cycle, so the structure must change."""
UNAMBIGUOUS_RULES = CYCLE_RULES | {"regressing", "empty_sessions", "amnesiac"}  # unambiguous rules: more of the same cannot help
REGRESSION_RULES = frozenset({"regressing"})
"""Rules that are normal on a level with progress: such work goes two steps forward and one back, and regressions are reverted."""
UNCHANGED_RULES = frozenset({"same_words"})  # rules for attempts that did not even affect the failure
COARSE = 4  # counted tests or failures up to which single steps rarely show: each is a quarter of the work or more
FINE = 10  # failures from which progress soon shows in one of them
LESS = 1  # iterations fewer if nothing shows although it should
STALLED = 3  # iterations in a row without progress that alone count as trouble: two plus one, as in public loops
KEPT_CLIMBS = 10
RESET_FIELDS = ("idle", "strategy", "diagnosis", "learning", "issues", "instructions", "redirected")
"""Fields of the oversight that are reset when a person continues the loop."""
LONGEST_REASON = 300


Event = Literal["pain", "person", "trouble", "clean", "nothing", "resumed"]
"""What an iteration, or a person, means for the ladder. `pain`: an alert ends the loop at once. `person`: one asks for a person.
`trouble`: the next iteration needs other instructions, or there was no progress for too long. `clean`: progress, and no evidence
against it. `resumed`: a person continues the loop."""


class Step(NamedTuple):
    """Target level of an event, and how many iterations it needs."""

    after: EscalationLevel
    counter: Literal["spent", "clean", ""] = ""
    needs: int = 0  # required number of clean iterations; `spent` must reach the patience


PATCH, REFACTOR, REDESIGN, HUMAN, EJECT = EscalationLevel
STEPS: Mapping[tuple[EscalationLevel, Event], Step] = {
    (PATCH, "trouble"): Step(REFACTOR),
    (REFACTOR, "trouble"): Step(REDESIGN, "spent"),
    (REDESIGN, "trouble"): Step(HUMAN, "spent"),
    (REDESIGN, "clean"): Step(REFACTOR, "clean", 2),
    (REFACTOR, "clean"): Step(PATCH, "clean", 3),
    **{(rung, "person"): Step(HUMAN) for rung in (PATCH, REFACTOR, REDESIGN)},
    **{(rung, "pain"): Step(EJECT) for rung in (PATCH, REFACTOR, REDESIGN, HUMAN)},
    (HUMAN, "resumed"): Step(REDESIGN),
    (EJECT, "resumed"): Step(PATCH),
}
"""Other combinations keep the level: only a person leads down from E-III, only a critical event leads up to E-IV."""
_SEVERITIES: Mapping[Event, Severity] = {"pain": Severity.ABORT, "person": Severity.PAUSE, "trouble": Severity.REDIRECT}


def ladder_after(
    before: Ladder, summary: IterationSummary, signals: Sequence[Alert], *, idle: int, now: datetime, config: LadderConfig
) -> Ladder:
    """The ladder after an iteration. `idle`: iterations in a row without progress, including this one."""
    event = event_of(summary, signals, idle=idle)
    counted = before
    if event == "clean":  # restores the level's patience; other events keep what was reached
        counted = before.model_copy(update={"spent": 0, "clean": before.clean + 1, "last_good": before.rung})
    elif summary.movement is not Movement.WAITED:
        counted = before.model_copy(update={"spent": before.spent + 1})
    step, patience = STEPS.get((before.rung, event)), patience_of(summary, signals, config, clean=counted.clean > 0)
    if step is None:
        return counted
    # a level with progress gets twice the patience: slow work is no stagnation
    needed = (2 if counted.clean and patience > 1 else 1) * patience
    is_due = counted.spent >= needed if step.counter == "spent" else counted.clean >= step.needs
    if not is_due:
        return counted
    # the rule comes first, so that the next prompt can name the kind of trouble
    most_severe, stalled = next(iter(_alerts_for(event, signals)), None), f"{plural(idle, 'iteration')} in a row without progress"
    reason = f"{most_severe.rule}: {most_severe.message}" if most_severe else f"no_progress: {stalled}"
    reason = f"{plural(counted.clean, 'clean iteration')} on {counted.rung.title}" if event == "clean" else reason
    return _with_change(counted, step.after, summary.iteration, reason, now)


def ladder_after_resume(before: Ladder, iteration: int, now: datetime) -> Ladder:
    """The ladder after a person continued the loop before the given iteration."""
    step = STEPS.get((before.rung, "resumed"))
    if step is None:
        return before
    reason = f"a person continues the loop, which stopped because of {before.reason}"
    return _with_change(before, step.after, iteration, reason, now)


def idle_after(before: int, summary: IterationSummary) -> int:
    """Iterations in a row without progress. One that only waited does not count."""
    if summary.movement is Movement.WAITED:
        return before
    return 0 if made_progress(summary) else before + 1


def event_of(summary: IterationSummary, signals: Sequence[Alert], *, idle: int) -> Event:
    """The most severe event of an iteration. One that only waited is neither trouble nor clean."""
    if _alerts_for("pain", signals):
        return "pain"
    if _alerts_for("person", signals):
        return "person"
    if summary.movement is Movement.WAITED:
        return "nothing"
    is_stalled = idle >= STALLED and summary.movement is not Movement.SIDEWAYS  # a new tree gets the patience of its level
    if is_stalled or (_alerts_for("trouble", signals) and not made_progress(summary)):
        return "trouble"
    return "clean" if made_progress(summary) else "nothing"


def _alerts_for(event: Event, signals: Sequence[Alert]) -> list[Alert]:
    """Alerts that cause an event, cycles first. A reached limit also ends the loop but is not critical."""
    severity = _SEVERITIES.get(event)
    alerts = [signal for signal in signals if signal.severity is severity]
    matching = [signal for signal in alerts if signal.is_critical] if event == "pain" else alerts
    return sorted(matching, key=lambda signal: signal.rule not in CYCLE_RULES)


def patience_of(summary: IterationSummary, signals: Sequence[Alert], config: LadderConfig, *, clean: bool = False) -> int:
    """Patience of a level: less the more certain the failure, one iteration if it is unambiguous.

    Unambiguous: nothing new was tried, or the loop repeats or regresses. `clean`: whether the level had progress. A check with no
    counts is red from the first step of long work to the last but one, and one of three tests nearly as long.
    """
    rules = {signal.rule for signal in _alerts_for("trouble", signals)}
    if summary.movement is Movement.STILL or rules & (UNAMBIGUOUS_RULES - REGRESSION_RULES if clean else UNAMBIGUOUS_RULES):
        return 1
    listed = sum([error.extent for error in summary.errors])  # listed failures, for checks that count no tests
    counted, failing = max(summary.passing_tests + summary.failing_tests, listed), max(summary.failing_tests, listed)
    if counted <= 1:
        return 2 * config.patience
    all_fail = summary.failing_tests > 0 == summary.passing_tests
    if failing >= FINE or all_fail or rules & UNCHANGED_RULES:
        return max(1, config.patience - LESS)
    return config.patience * (2 if counted <= COARSE else 1)


def _with_change(before: Ladder, after: EscalationLevel, iteration: int, reason: str, now: datetime) -> Ladder:
    why = clean(reason[:LONGEST_REASON])
    change = LevelChange(iteration=iteration, before=before.rung, after=after, reason=why, at=now)
    changes = (*before.climbs, change)[-KEPT_CLIMBS:]
    return Ladder(rung=after, reason=why, since=now, last_good=before.last_good, climbs=changes)


def reset_after_person(state: LoopState, now: datetime) -> LoopState:
    """Reset the counters after a person has looked, and move the ladder to the level that they chose."""
    earlier, reset = state.oversight, {name: getattr(Oversight(), name) for name in RESET_FIELDS}
    reset["ladder"] = ladder_after_resume(earlier.ladder, state.due, now)
    return state.model_copy(update={"oversight": earlier.model_copy(update=reset)})
