"""What a loop is doing, folded from the events of its journal: the one fold for live views, `watch`, `status` and telemetry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from helmsman.plain import clean
from helmsman.records import events
from helmsman.records.base import Usage
from helmsman.records.checks import CheckResult
from helmsman.records.control import Oversight
from helmsman.texts import alert_word, check_text, guard_text, stop_text

SAID_KEPT = 8  # of the attempt under way, the last tool calls and checks
TOOLS_KEPT, FINISHED_KEPT = 256, 50  # tool calls that are timed, the first ones, and checks; all tool calls are counted


class LoggedEvent(NamedTuple):
    """An event, and when it was written down."""

    at: datetime
    event: events.Event


class Timed(NamedTuple):
    """A step, or a tool call."""

    name: str
    start: datetime
    end: datetime | None = None  # None: nobody heard of it
    id: str = ""  # as the agent's program names the call; empty where it does not
    failed: bool = False


class FinishedCheck(NamedTuple):
    """A check that came to an end, in the step that ran it."""

    step: str
    at: datetime
    result: CheckResult


@dataclass(frozen=True)
class Activity:
    """Bounded whatever the agent does. What comes after `since` is of the attempt under way; another one begins without it."""

    cost_usd: float = 0.0  # by the loop, the call of the agent that runs not included; likewise the tokens
    tokens: int = 0
    cost_limit: float | None = None
    untold: tuple[str, ...] = ()  # what the agent's program does not tell
    asked: bool = False  # whether a person is
    oversight: Oversight | None = None  # how far the work is and how it is steered, by the last iteration that ended
    used: Usage = field(default_factory=Usage)  # by the call of the agent whose iteration is not recorded yet
    iteration: int = 0  # 0 before the first step, as far as the journal goes
    attempt: int = 0
    step: str = ""  # the one under way; empty between two of them
    since: datetime | None = None  # when it began, or when the last one ended
    tool_calls: int = 0
    said: tuple[str, ...] = ()  # tool calls, checks, and what guard rails and the stop gate answered; newest last
    steps: Mapping[str, Timed] = field(default_factory=dict[str, Timed])
    """By name; of a step that was done again the last time counts."""
    agent: datetime | None = None  # when its program was started
    tools: Mapping[str, Timed] = field(default_factory=dict[str, Timed])  # in the order of their calls, by id or else by number
    finished: tuple[FinishedCheck, ...] = ()


def after(activity: Activity, logged: LoggedEvent) -> Activity:
    """Fold one event; what says nothing of the present is passed over."""
    at, event = logged
    match event:
        case events.ToolCalled() | events.ToolReturned():
            now = _tool(activity, at, event)
        case events.ToolGuarded():
            now = _said(activity, guard_text(event.guarded))
        case events.StopAnswered():
            now = _said(activity, f"wants to stop, {stop_text(event.attempt)}")
        case events.SignalRaised():
            now = _said(activity, f"{alert_word(event.signal)}: {clean(event.signal.message)}")
        case events.CheckStarted() | events.CheckFinished():
            now = _check(activity, at, event)
        case events.UsageCounted():
            now = replace(activity, used=event.usage)
        case events.AgentIntroduced():
            now = replace(activity, untold=event.untold)
        case events.GateOpened() | events.GateAnswered():
            now = replace(activity, asked=isinstance(event, events.GateOpened))
        case _:
            now = _moved_on(activity, at, event)
    return now


def _moved_on(activity: Activity, at: datetime, event: events.Event) -> Activity:
    """Steps, attempts and iterations that begin and end."""
    match event:
        case events.StepStarted():
            now = _attempt(activity, event.iteration, event.attempt)
            return replace(now, step=event.step, since=at, steps={**now.steps, event.step: Timed(event.step, at)})
        case events.StepFinished(step=name):
            known = activity.steps.get(name)
            now = replace(activity, steps={**activity.steps, name: known._replace(end=at)}) if known else activity
            return replace(now, step="", since=at) if name == activity.step else now
        case events.PreparationStarted():
            return activity if activity.iteration else replace(activity, step=f"preparing {clean(event.what)}", since=at)
        case events.AgentStarted():
            spent = {"cost_usd": event.cost_usd, "tokens": event.tokens, "cost_limit": event.cost_limit}
            return replace(_attempt(activity, event.iteration, event.attempt), agent=at, tools={}, used=Usage(), **spent)
        case events.IterationRecorded(record=record):
            now = _attempt(activity, record.iteration, record.attempt)
            cost, tokens = now.cost_usd + record.usage.cost_usd, now.tokens + record.usage.tokens
            return replace(now, step="", since=at, used=Usage(), cost_usd=cost, tokens=tokens, oversight=record.oversight)
        case _:
            return activity


def _attempt(activity: Activity, iteration: int, attempt: int) -> Activity:
    """Another attempt begins with nothing called and nothing checked."""
    if (iteration, attempt) == (activity.iteration, activity.attempt):
        return activity
    kept = {name: getattr(activity, name) for name in ("cost_usd", "tokens", "cost_limit", "untold", "asked", "oversight")}
    return Activity(iteration=iteration, attempt=attempt, **kept)


def _tool(activity: Activity, at: datetime, event: events.ToolCalled | events.ToolReturned) -> Activity:
    tools = activity.tools
    if isinstance(event, events.ToolReturned):
        known = tools.get(event.id)
        return replace(activity, tools={**tools, event.id: known._replace(end=at, failed=event.failed)}) if known else activity
    if len(tools) < TOOLS_KEPT:
        tools = {**tools, event.id or f"#{len(tools)}": Timed(event.tool, at, id=event.id)}
    # tools are called in one step only, so where its beginning lies further back than was read it is known all the same
    now = activity if activity.since else replace(activity, step="execute", since=at)
    now = replace(now, tools=tools, tool_calls=now.tool_calls + 1)
    return _said(now, f"{clean(event.tool)}: {clean(event.detail)}")


def _said(activity: Activity, text: str) -> Activity:
    return replace(activity, said=(*activity.said, text)[-SAID_KEPT:])


def _check(activity: Activity, at: datetime, event: events.CheckStarted | events.CheckFinished) -> Activity:
    if isinstance(event, events.CheckStarted):
        return _said(activity, f"… {clean(event.name)}")
    finished = (*activity.finished, FinishedCheck(activity.step, at, event.result))[-FINISHED_KEPT:]
    return _said(replace(activity, finished=finished), check_text(event.result))
