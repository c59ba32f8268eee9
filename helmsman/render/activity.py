"""What a loop is doing, folded from the events of its journal: the one fold for live views, `watch`, `status` and telemetry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from helmsman.plain import clean
from helmsman.records.base import Usage
from helmsman.records.checks import CheckResult
from helmsman.records.control import Oversight
from helmsman.records.events import (
    AgentIntroduced,
    AgentStarted,
    CheckFinished,
    CheckStarted,
    Event,
    GateAnswered,
    GateOpened,
    IterationRecorded,
    PreparationStarted,
    SignalRaised,
    StepFinished,
    StepStarted,
    StopAnswered,
    ToolCalled,
    ToolGuarded,
    ToolReturned,
    UsageCounted,
)
from helmsman.texts import alert_word, check_text, guard_text, stop_text

CALLS_KEPT, CHECKS_KEPT = 8, 20
"""Of the attempt under way, the last tool calls and checks."""
TOOLS_KEPT, FINISHED_KEPT = 256, 50
"""Tool calls that are timed, the first ones, and checks; all tool calls are counted."""


class LoggedEvent(NamedTuple):
    """An event, and when it was written down."""

    at: datetime
    event: Event


class Said(NamedTuple):
    """A line about something that has happened, with its moment."""

    at: datetime
    text: str


class Step(NamedTuple):
    """A step from its beginning to its end."""

    name: str
    start: datetime
    end: datetime | None


class Tool(NamedTuple):
    """A tool call."""

    id: str
    """As the agent's program names it; empty where it does not."""
    name: str
    start: datetime
    end: datetime | None
    """None: nobody heard what came of it."""
    failed: bool = False


class FinishedCheck(NamedTuple):
    """A check that came to an end, in the step that ran it."""

    step: str
    at: datetime
    result: CheckResult


@dataclass(frozen=True)
class Activity:
    """Bounded whatever the agent does. What comes after `since` is of the attempt under way; another one begins without it."""

    cost_usd: float = 0.0
    """By the loop, the call of the agent that runs not included; likewise the tokens."""
    tokens: int = 0
    cost_limit: float | None = None
    untold: tuple[str, ...] = ()
    """What the agent's program does not tell."""
    asked: bool = False
    """Whether a person is."""
    oversight: Oversight | None = None
    """How far the work is and how it is steered, by the last iteration that ended."""
    used: Usage = field(default_factory=Usage)
    """By the call of the agent whose iteration is not recorded yet."""
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
    checks: Mapping[str, Said] = field(default_factory=dict[str, Said])
    """The last word on each check, in the order in which they began."""
    steps: Mapping[str, Step] = field(default_factory=dict[str, Step])
    """By name; of a step that was done again the last time counts."""
    agent: datetime | None = None
    """When its program was started."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """In the order of their calls, by id or else by number."""
    finished: tuple[FinishedCheck, ...] = ()


def after(activity: Activity, logged: LoggedEvent) -> Activity:
    """Fold one event; what says nothing of the present is passed over."""
    at, event = logged
    now = activity
    match event:
        case StepStarted() | StepFinished() | PreparationStarted() | AgentStarted() | IterationRecorded():
            now = _moved_on(activity, at, event)
        case ToolCalled() | ToolReturned():
            now = _tool(activity, at, event)
        case ToolGuarded() | StopAnswered() | SignalRaised():
            now = _said(activity, at, _answer(event))
        case CheckStarted() | CheckFinished():
            now = _check(activity, at, event)
        case UsageCounted():
            now = replace(activity, used=event.usage)
        case AgentIntroduced():
            now = replace(activity, untold=event.untold)
        case GateOpened() | GateAnswered():
            now = replace(activity, asked=isinstance(event, GateOpened))
        case _:
            pass
    return now


def _moved_on(
    activity: Activity, at: datetime, event: StepStarted | StepFinished | PreparationStarted | AgentStarted | IterationRecorded
) -> Activity:
    match event:
        case StepStarted():
            now = _attempt(activity, event.iteration, event.attempt)
            return replace(now, step=event.step, since=at, steps={**now.steps, event.step: Step(event.step, at, None)})
        case StepFinished(step=name):
            known = activity.steps.get(name)
            now = replace(activity, steps={**activity.steps, name: known._replace(end=at)}) if known else activity
            return replace(now, step="", since=at) if name == activity.step else now
        case PreparationStarted():
            return activity if activity.iteration else replace(activity, step=f"preparing {clean(event.what)}", since=at)
        case AgentStarted():
            spent = {"cost_usd": event.cost_usd, "tokens": event.tokens, "cost_limit": event.cost_limit}
            return replace(_attempt(activity, event.iteration, event.attempt), agent=at, tools={}, used=Usage(), **spent)
        case IterationRecorded(record=record):
            now = _attempt(activity, record.iteration, record.attempt)
            cost, tokens = now.cost_usd + record.usage.cost_usd, now.tokens + record.usage.tokens
            return replace(now, step="", since=at, used=Usage(), cost_usd=cost, tokens=tokens, oversight=record.oversight)


def _attempt(activity: Activity, iteration: int, attempt: int) -> Activity:
    """Another attempt begins with nothing called and nothing checked."""
    if (iteration, attempt) == (activity.iteration, activity.attempt):
        return activity
    kept = {name: getattr(activity, name) for name in ("cost_usd", "tokens", "cost_limit", "untold", "asked", "oversight")}
    return Activity(iteration=iteration, attempt=attempt, **kept)


def _tool(activity: Activity, at: datetime, event: ToolCalled | ToolReturned) -> Activity:
    tools = activity.tools
    if isinstance(event, ToolReturned):
        known = tools.get(event.id)
        return replace(activity, tools={**tools, event.id: known._replace(end=at, failed=event.failed)}) if known else activity
    if len(tools) < TOOLS_KEPT:
        tools = {**tools, event.id or f"#{len(tools)}": Tool(event.id, event.tool, at, None)}
    # tools are called in one step only, so where its beginning lies further back than was read it is known all the same
    now = activity if activity.since else replace(activity, step="execute", since=at)
    now = replace(now, tools=tools, tool_calls=now.tool_calls + 1)
    return _said(now, at, f"{clean(event.tool)}: {clean(event.detail)}")


def _answer(event: ToolGuarded | StopAnswered | SignalRaised) -> str:
    match event:
        case ToolGuarded():
            return guard_text(event.guarded)
        case StopAnswered():
            return f"wants to stop, {stop_text(event.attempt)}"
        case SignalRaised():
            return f"{alert_word(event.signal)}: {clean(event.signal.message)}"


def _said(activity: Activity, at: datetime, text: str) -> Activity:
    return replace(activity, calls=(*activity.calls, Said(at, text))[-CALLS_KEPT:])


def _check(activity: Activity, at: datetime, event: CheckStarted | CheckFinished) -> Activity:
    if isinstance(event, CheckStarted):
        name, text, finished = event.name, f"… {clean(event.name)}", activity.finished
    else:
        name, text = event.result.name, check_text(event.result)
        finished = (*activity.finished, FinishedCheck(activity.step, at, event.result))[-FINISHED_KEPT:]
    known = {**activity.checks, name: Said(at, text)}
    return replace(activity, checks=dict(list(known.items())[-CHECKS_KEPT:]), finished=finished)
