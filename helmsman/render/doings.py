"""What a loop is doing at this moment, folded from the events of its journal."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from helmsman.plain import clean
from helmsman.records.events import (
    CheckFinished,
    CheckStarted,
    Event,
    IterationRecorded,
    PreparationStarted,
    SignalRaised,
    StepFinished,
    StepStarted,
    StopAnswered,
    ToolCalled,
    ToolGuarded,
    UsageCounted,
)
from helmsman.records.usage import Usage
from helmsman.texts import check_text, guard_text, signal_word, stop_text

CALLS_KEPT = 8
CHECKS_KEPT = 20


class Told(NamedTuple):
    """An event, and when it was written down."""

    at: datetime
    event: Event


class Said(NamedTuple):
    """A line about something that has happened, with its moment."""

    at: datetime
    text: str


@dataclass(frozen=True)
class Doings:
    """Bounded: of the tool calls and checks of the attempt under way, the last ones."""

    iteration: int = 0
    """0 before the first step, as far as the journal goes."""
    attempt: int = 0
    step: str = ""
    """The one under way; empty between two of them."""
    since: datetime | None = None
    """When it began, or when the last one ended."""
    tool_calls: int = 0
    calls: tuple[Said, ...] = ()
    """Tool calls, and what guard rails and the stop gate answered; newest last."""
    used: Usage = field(default_factory=Usage)
    """By the call of the agent whose iteration is not recorded yet."""
    checks: Mapping[str, Said] = field(default_factory=dict[str, Said])
    """The last word on each check, in the order in which they began."""


def after(doings: Doings, told: Told) -> Doings:
    """Fold one event; what says nothing of the present is passed over."""
    at, event = told
    match event:
        case StepStarted():
            now = replace(_attempt(doings, event.iteration, event.attempt), step=event.step, since=at)
        case StepFinished(step=doings.step):
            now = replace(doings, step="", since=at)
        case PreparationStarted() if not doings.iteration:
            now = replace(doings, step=f"preparing {clean(event.what)}", since=at)
        case ToolCalled():
            now = _said(_called(doings, at), at, f"{clean(event.tool)}: {clean(event.detail)}")
        case UsageCounted():
            now = replace(doings, used=event.usage)
        case ToolGuarded() | StopAnswered() | SignalRaised():
            now = _said(doings, at, _answer(event))
        case CheckStarted():
            now = _checked(doings, event.name, Said(at, f"… {clean(event.name)}"))
        case CheckFinished():
            now = _checked(doings, event.result.name, Said(at, check_text(event.result)))
        case IterationRecorded():
            now = replace(_attempt(doings, event.record.iteration, event.record.attempt), step="", since=at, used=Usage())
        case _:
            now = doings
    return now


def _answer(event: ToolGuarded | StopAnswered | SignalRaised) -> str:
    match event:
        case ToolGuarded():
            return guard_text(event.guarded)
        case StopAnswered():
            return f"wants to stop, {stop_text(event.attempt)}"
        case SignalRaised():
            return f"{signal_word(event.signal)}: {clean(event.signal.message)}"


def _attempt(doings: Doings, iteration: int, attempt: int) -> Doings:
    """Another attempt begins with nothing called and nothing checked."""
    if (iteration, attempt) == (doings.iteration, doings.attempt):
        return doings
    return Doings(iteration=iteration, attempt=attempt)


def _called(doings: Doings, at: datetime) -> Doings:
    """Tools are called in one step only, so where its beginning lies further back than was read it is known all the same."""
    known = doings if doings.since else replace(doings, step="execute", since=at)
    return replace(known, tool_calls=known.tool_calls + 1)


def _said(doings: Doings, at: datetime, text: str) -> Doings:
    return replace(doings, calls=(*doings.calls, Said(at, text))[-CALLS_KEPT:])


def _checked(doings: Doings, name: str, said: Said) -> Doings:
    known = {**doings.checks, name: said}
    return replace(doings, checks=dict(list(known.items())[-CHECKS_KEPT:]))
