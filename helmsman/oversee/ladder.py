"""The ladder of escalation: what failed on one rung is met one rung higher, and clean iterations or a person lead back down."""

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

CYCLES = frozenset({"limit_cycle", "recurring_trees", "oscillating"})
"""Rules that say that the loop goes round. Another try is one more turn: what changes is the structure."""
PLAIN = CYCLES | {"regressing", "empty_sessions", "amnesiac"}  # rules that leave no doubt: more of the same cannot help
FALLS = frozenset({"regressing"})
"""Of these, what is no news on a rung that got on: such work goes two steps forward and one back, and falls are taken back."""
UNMOVED = frozenset({"same_words"})  # rules that say that what was tried did not even reach what fails
COARSE = 4  # things that checks count, up to which a step of the work is seldom seen in them: each is a quarter of it or more
FINE = 10  # things that fail, from which work that gets anywhere soon shows in one of them
LESS = 1  # iterations fewer where nothing shows though it would
STALLED = 3  # iterations in a row without progress that are trouble by themselves: two and one more, as in public loops
KEPT_CLIMBS = 10
FORGOTTEN = ("idle", "strategy", "diagnosis", "learning", "issues", "instructions", "redirected")
"""What of the oversight begins anew where a person goes on with the loop."""
LONGEST_REASON = 300


Event = Literal["pain", "person", "trouble", "clean", "nothing", "resumed"]
"""What an iteration, or a person, was for the ladder. `pain`: a signal ends the loop at once. `person`: one asks for a person.
`trouble`: the next iteration has to be told what to do instead, or nothing got on for too long. `clean`: it got on, and nothing
spoke against it. `resumed`: a person goes on with the loop."""


class Step(NamedTuple):
    """Where an event leads, and how many iterations that needs."""

    after: EscalationLevel
    counter: Literal["spent", "clean", ""] = ""
    needs: int = 0  # what the counter of clean iterations has to reach; `spent` has to reach the patience


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
"""What is not here stays where it is: from E-III only a person leads down, to E-IV only pain leads up."""
_SEVERITIES: Mapping[Event, Severity] = {"pain": Severity.ABORT, "person": Severity.PAUSE, "trouble": Severity.REDIRECT}


def ladder_after(
    before: Ladder, summary: IterationSummary, signals: Sequence[Alert], *, idle: int, now: datetime, config: LadderConfig
) -> Ladder:
    """The ladder once an iteration is over. `idle`: iterations in a row without progress, this one included."""
    event = event_of(summary, signals, idle=idle)
    seen = before
    if event == "clean":  # it gives the rung its patience back; any other takes nothing of what was reached
        seen = before.model_copy(update={"spent": 0, "clean": before.clean + 1, "last_good": before.rung})
    elif summary.movement is not Movement.WAITED:
        seen = before.model_copy(update={"spent": before.spent + 1})
    step, patience = STEPS.get((before.rung, event)), trials(summary, signals, config, clean=seen.clean > 0)
    if step is None:
        return seen
    # a rung on which something got on gets twice as long: slow work is no standstill
    enough = (2 if seen.clean and patience > 1 else 1) * patience
    due = seen.spent >= enough if step.counter == "spent" else seen.clean >= step.needs
    if not due:
        return seen
    # the rule stands first, so that the next prompt can tell what kind of trouble it was
    gravest, stalled = next(iter(_of(event, signals)), None), f"{plural(idle, 'iteration')} in a row without progress"
    reason = f"{gravest.rule}: {gravest.message}" if gravest else f"no_progress: {stalled}"
    reason = f"{plural(seen.clean, 'clean iteration')} on {seen.rung.title}" if event == "clean" else reason
    return _climbed(seen, step.after, summary.iteration, reason, now)


def resumed(before: Ladder, iteration: int, now: datetime) -> Ladder:
    """A person goes on with the loop before the given iteration."""
    step = STEPS.get((before.rung, "resumed"))
    if step is None:
        return before
    reason = f"a person goes on with the loop, which had stopped because of {before.reason}"
    return _climbed(before, step.after, iteration, reason, now)


def idle_after(before: int, summary: IterationSummary) -> int:
    """Iterations in a row without progress. One that only waited counts neither way."""
    if summary.movement is Movement.WAITED:
        return before
    return 0 if made_progress(summary) else before + 1


def event_of(summary: IterationSummary, signals: Sequence[Alert], *, idle: int) -> Event:
    """The gravest thing that an iteration was. One that only waited brings neither trouble nor a clean iteration."""
    if _of("pain", signals):
        return "pain"
    if _of("person", signals):
        return "person"
    if summary.movement is Movement.WAITED:
        return "nothing"
    stalled = idle >= STALLED and summary.movement is not Movement.SIDEWAYS  # a new tree has the patience of its rung
    if stalled or (_of("trouble", signals) and not made_progress(summary)):
        return "trouble"
    return "clean" if made_progress(summary) else "nothing"


def _of(event: Event, signals: Sequence[Alert]) -> list[Alert]:
    """The signals that amount to an event, a cycle first. A limit that is reached ends the loop too, and hurts nobody."""
    severity = _SEVERITIES.get(event)
    found = [signal for signal in signals if signal.severity is severity]
    hurting = [signal for signal in found if signal.is_critical] if event == "pain" else found
    return sorted(hurting, key=lambda signal: signal.rule not in CYCLES)


def trials(summary: IterationSummary, signals: Sequence[Alert], config: LadderConfig, *, clean: bool = False) -> int:
    """Iterations that a rung gets: fewer the surer it is that nothing comes, one where the trouble is plain.

    Plain: nothing new was tried, or the loop goes round or down. `clean`: whether anything got on here. A check that counts
    nothing is red from the first step of a long work to the last but one, and one of three tests nearly as long.
    """
    rules = {signal.rule for signal in _of("trouble", signals)}
    if summary.movement is Movement.STILL or rules & (PLAIN - FALLS if clean else PLAIN):
        return 1
    listed = sum([error.extent for error in summary.errors])  # where no test is counted, what the checks list
    seen, failing = max(summary.passing_tests + summary.failing_tests, listed), max(summary.failing_tests, listed)
    if seen <= 1:
        return 2 * config.patience
    wrecked = summary.failing_tests > 0 == summary.passing_tests
    if failing >= FINE or wrecked or rules & UNMOVED:
        return max(1, config.patience - LESS)
    return config.patience * (2 if seen <= COARSE else 1)


def _climbed(before: Ladder, after: EscalationLevel, iteration: int, reason: str, now: datetime) -> Ladder:
    why = clean(reason[:LONGEST_REASON])
    climb = LevelChange(iteration=iteration, before=before.rung, after=after, reason=why, at=now)
    climbs = (*before.climbs, climb)[-KEPT_CLIMBS:]
    return Ladder(rung=after, reason=why, since=now, last_good=before.last_good, climbs=climbs)


def relieved(state: LoopState, now: datetime) -> LoopState:
    """A person has looked and goes on: what was counted is forgotten, the ladder comes down to where they send it."""
    earlier, anew = state.oversight, {name: getattr(Oversight(), name) for name in FORGOTTEN}
    anew["ladder"] = resumed(earlier.ladder, state.due, now)
    return state.model_copy(update={"oversight": earlier.model_copy(update=anew)})
