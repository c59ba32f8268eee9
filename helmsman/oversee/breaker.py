"""The circuit breaker: a loop that gets nowhere has one more iteration to decide it, then it pauses. The cause may pass."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from helmsman.config import BreakerConfig
from helmsman.oversee.movement import got_on
from helmsman.plain import clean
from helmsman.records.modes import Breaker, Position
from helmsman.records.moments import Moment, Movement
from helmsman.records.verdict import Severity, Signal
from helmsman.texts import counted

LONGEST_REASON = 300


class Event(StrEnum):
    """What happened, as far as the breaker is concerned."""

    PROGRESS = "progress"
    NO_PROGRESS = "no_progress"
    TRIED = "tried"
    """No progress, but a tree that was never there: a pause would not help it, the ladder may."""
    IDLE = "idle"
    """No progress, and as often in a row as is allowed."""
    SAME_ERROR = "same_error"
    """No progress, and the same error as in many iterations before."""
    DENIED = "denied"
    """No progress, and permissions were denied again."""
    COOLED = "cooled"
    MANUAL_RESET = "manual_reset"


TRANSITIONS: Mapping[tuple[Position, Event], Position] = {
    (Position.CLOSED, Event.PROGRESS): Position.CLOSED,
    (Position.CLOSED, Event.TRIED): Position.CLOSED,
    (Position.CLOSED, Event.NO_PROGRESS): Position.CLOSED,
    (Position.CLOSED, Event.IDLE): Position.HALF_OPEN,
    (Position.CLOSED, Event.SAME_ERROR): Position.HALF_OPEN,
    (Position.CLOSED, Event.DENIED): Position.HALF_OPEN,
    (Position.CLOSED, Event.COOLED): Position.CLOSED,
    (Position.CLOSED, Event.MANUAL_RESET): Position.CLOSED,
    (Position.HALF_OPEN, Event.PROGRESS): Position.CLOSED,
    (Position.HALF_OPEN, Event.TRIED): Position.HALF_OPEN,
    (Position.HALF_OPEN, Event.NO_PROGRESS): Position.OPEN,
    (Position.HALF_OPEN, Event.IDLE): Position.OPEN,
    (Position.HALF_OPEN, Event.SAME_ERROR): Position.OPEN,
    (Position.HALF_OPEN, Event.DENIED): Position.OPEN,
    (Position.HALF_OPEN, Event.COOLED): Position.HALF_OPEN,
    (Position.HALF_OPEN, Event.MANUAL_RESET): Position.CLOSED,
    (Position.OPEN, Event.PROGRESS): Position.CLOSED,
    (Position.OPEN, Event.TRIED): Position.OPEN,
    (Position.OPEN, Event.NO_PROGRESS): Position.OPEN,
    (Position.OPEN, Event.IDLE): Position.OPEN,
    (Position.OPEN, Event.SAME_ERROR): Position.OPEN,
    (Position.OPEN, Event.DENIED): Position.OPEN,
    (Position.OPEN, Event.COOLED): Position.HALF_OPEN,
    (Position.OPEN, Event.MANUAL_RESET): Position.CLOSED,
}
"""Every position with every event. None leads from closed to open: half-open is never skipped."""

TRIPS: Mapping[str, Event] = {"same_error": Event.SAME_ERROR, "denied": Event.DENIED}
"""Rules of signals that need no count."""
TOLD = frozenset({Severity.LOG, Severity.WARN})
"""Signals of which nothing follows."""


def breaker_after(before: Breaker, moment: Moment, signals: Sequence[Signal], now: datetime, config: BreakerConfig) -> Breaker:
    """The breaker once an iteration is over. One that is still open after its cool-down is taken as half-open."""
    if moment.movement is Movement.WAITED:
        return before
    ready = cooled(before, now, config)
    idle = 0 if got_on(moment) else ready.idle + 1
    event = event_of(moment, signals, idle, config)
    return _moved(ready, event, _reason(ready, event, moment, signals, idle, config), idle, now)


def event_of(moment: Moment, signals: Sequence[Signal], idle: int, config: BreakerConfig) -> Event:
    """What an iteration was, after so many without progress in a row. Whoever gets on may fail at one thing all the while."""
    if got_on(moment):
        return Event.PROGRESS
    if moment.movement is Movement.SIDEWAYS:
        return Event.TRIED
    trips = _trips(signals)
    if trips:
        return TRIPS[trips[0].rule]
    return Event.IDLE if idle >= config.half_open_after else Event.NO_PROGRESS


def _trips(signals: Sequence[Signal]) -> list[Signal]:
    return [signal for signal in signals if signal.rule in TRIPS and signal.severity not in TOLD]


def cooled(before: Breaker, now: datetime, config: BreakerConfig) -> Breaker:
    """Half-open once the cool-down is over; to be asked before the next iteration counts."""
    over = until(before, config)
    if before.position is not Position.OPEN or (over is not None and now < over):
        return before
    reason = f"the cool-down of {config.cool_down_minutes:g} minutes is over; one more iteration decides ({_idle(before.idle)})"
    return _moved(before, Event.COOLED, reason, before.idle, now)


def reset(before: Breaker, now: datetime) -> Breaker:
    """A person closes it."""
    return _moved(before, Event.MANUAL_RESET, "a person closed it", 0, now)


def until(breaker: Breaker, config: BreakerConfig) -> datetime | None:
    """When the cool-down is over; None where there is none."""
    if breaker.position is not Position.OPEN or breaker.since is None:
        return None
    return breaker.since + timedelta(minutes=config.cool_down_minutes)


def just_opened(before: Breaker, after: Breaker) -> bool:
    """Whether it opened in between; also where it had been open already, and cooled down."""
    return after.position is Position.OPEN and (before.position is not Position.OPEN or after.opened > before.opened)


def _moved(before: Breaker, event: Event, reason: str, idle: int, now: datetime) -> Breaker:
    position = TRANSITIONS[before.position, event]
    opens = position is Position.OPEN and before.position is not Position.OPEN
    return Breaker(
        position=position,
        idle=idle,
        since=before.since if position is before.position else now,
        reason=reason,
        opened=0 if position is Position.CLOSED else before.opened + opens,
    )


def _reason(before: Breaker, event: Event, moment: Moment, signals: Sequence[Signal], idle: int, config: BreakerConfig) -> str:
    if event is Event.PROGRESS:
        return "" if before.position is Position.CLOSED else f"iteration {moment.iteration} got on"
    allowed = f"{_idle(idle)}, {config.half_open_after} until one more decides"
    tripped = next((signal.message for signal in _trips(signals) if TRIPS[signal.rule] is event), "")
    return f"{clean(tripped[:LONGEST_REASON])} ({allowed})" if tripped else allowed


def _idle(idle: int) -> str:
    return f"{counted(idle, 'iteration')} in a row without progress"
