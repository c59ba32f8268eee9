"""Current activity of a loop, folded from the events of its journal, for live views, `watch`, `status` and telemetry."""

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

LINES_KEPT = 8  # last tool calls and checks of the current attempt
TOOLS_KEPT, FINISHED_KEPT = 256, 50  # first tool calls with times, and last checks; all tool calls are counted


class LoggedEvent(NamedTuple):
    """An event and the time when it was logged."""

    at: datetime
    event: events.Event


class Timed(NamedTuple):
    """A step, or a tool call."""

    name: str
    start: datetime
    end: datetime | None = None  # None: unknown
    id: str = ""  # the agent's own id of the call, if it reports one
    failed: bool = False


class FinishedCheck(NamedTuple):
    """A finished check, and the step that ran it."""

    step: str
    at: datetime
    result: CheckResult


@dataclass(frozen=True)
class Activity:
    """Activity of bounded size. Fields after `since` belong to the current attempt and are reset by the next one."""

    cost_usd: float = 0.0  # of the loop without the running agent call; tokens too
    tokens: int = 0
    cost_limit: float | None = None
    untold: tuple[str, ...] = ()  # what the agent does not report
    is_waiting: bool = False  # whether a question to a person is open
    oversight: Oversight | None = None  # progress and control as of the last finished iteration
    used: Usage = field(default_factory=Usage)  # of the agent call whose iteration is not recorded yet
    iteration: int = 0  # 0 before the first step in the journal
    attempt: int = 0
    step: str = ""  # the current one; empty between steps
    since: datetime | None = None  # start of the step, or end of the last one
    tool_calls: int = 0
    lines: tuple[str, ...] = ()  # tool calls, checks, and answers of guard rails and the stop hook; newest last
    steps: Mapping[str, Timed] = field(default_factory=dict[str, Timed])
    """By name; the last run of a repeated step."""
    agent: datetime | None = None  # start of its process
    tools: Mapping[str, Timed] = field(default_factory=dict[str, Timed])  # in the order of calls, by id or else by number
    finished: tuple[FinishedCheck, ...] = ()


def apply_event(activity: Activity, logged: LoggedEvent) -> Activity:
    """Fold one event; events without news about the present are ignored."""
    at, event = logged
    match event:
        case events.ToolCalled() | events.ToolReturned():
            updated = _fold_tool(activity, at, event)
        case events.ToolGuarded():
            updated = _append_line(activity, guard_text(event.guarded))
        case events.StopAnswered():
            updated = _append_line(activity, f"wants to stop, {stop_text(event.attempt)}")
        case events.SignalRaised():
            updated = _append_line(activity, f"{alert_word(event.signal)}: {clean(event.signal.message)}")
        case events.CheckStarted() | events.CheckFinished():
            updated = _fold_check(activity, at, event)
        case events.UsageCounted():
            updated = replace(activity, used=event.usage)
        case events.AgentIntroduced():
            updated = replace(activity, untold=event.untold)
        case events.GateOpened() | events.GateAnswered():
            updated = replace(activity, is_waiting=isinstance(event, events.GateOpened))
        case _:
            updated = _fold_progress(activity, at, event)
    return updated


def _fold_progress(activity: Activity, at: datetime, event: events.Event) -> Activity:
    """Fold starts and ends of steps, attempts and iterations."""
    match event:
        case events.StepStarted():
            updated = _begin_attempt(activity, event.iteration, event.attempt)
            return replace(updated, step=event.step, since=at, steps={**updated.steps, event.step: Timed(event.step, at)})
        case events.StepFinished(step=name):
            started = activity.steps.get(name)
            updated = replace(activity, steps={**activity.steps, name: started._replace(end=at)}) if started else activity
            return replace(updated, step="", since=at) if name == activity.step else updated
        case events.PreparationStarted():
            return activity if activity.iteration else replace(activity, step=f"preparing {clean(event.what)}", since=at)
        case events.AgentStarted():
            spent = {"cost_usd": event.cost_usd, "tokens": event.tokens, "cost_limit": event.cost_limit}
            return replace(_begin_attempt(activity, event.iteration, event.attempt), agent=at, tools={}, used=Usage(), **spent)
        case events.IterationRecorded(record=record):
            updated = _begin_attempt(activity, record.iteration, record.attempt)
            cost, tokens = updated.cost_usd + record.usage.cost_usd, updated.tokens + record.usage.tokens
            return replace(updated, step="", since=at, used=Usage(), cost_usd=cost, tokens=tokens, oversight=record.oversight)
        case _:
            return activity


def _begin_attempt(activity: Activity, iteration: int, attempt: int) -> Activity:
    """Reset the fields of an attempt if another one begins."""
    if (iteration, attempt) == (activity.iteration, activity.attempt):
        return activity
    carried_over = {
        name: getattr(activity, name) for name in ("cost_usd", "tokens", "cost_limit", "untold", "is_waiting", "oversight")
    }
    return Activity(iteration=iteration, attempt=attempt, **carried_over)


def _fold_tool(activity: Activity, at: datetime, event: events.ToolCalled | events.ToolReturned) -> Activity:
    tools = activity.tools
    if isinstance(event, events.ToolReturned):
        call = tools.get(event.id)
        return replace(activity, tools={**tools, event.id: call._replace(end=at, failed=event.failed)}) if call else activity
    if len(tools) < TOOLS_KEPT:
        tools = {**tools, event.id or f"#{len(tools)}": Timed(event.tool, at, id=event.id)}
    # only one step calls tools, so it is known even if its start precedes the part of the journal that was read
    updated = activity if activity.since else replace(activity, step="execute", since=at)
    updated = replace(updated, tools=tools, tool_calls=updated.tool_calls + 1)
    return _append_line(updated, f"{clean(event.tool)}: {clean(event.detail)}")


def _append_line(activity: Activity, text: str) -> Activity:
    return replace(activity, lines=(*activity.lines, text)[-LINES_KEPT:])


def _fold_check(activity: Activity, at: datetime, event: events.CheckStarted | events.CheckFinished) -> Activity:
    if isinstance(event, events.CheckStarted):
        return _append_line(activity, f"… {clean(event.name)}")
    finished = (*activity.finished, FinishedCheck(activity.step, at, event.result))[-FINISHED_KEPT:]
    return _append_line(replace(activity, finished=finished), check_text(event.result))
