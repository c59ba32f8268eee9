"""When the parts of an attempt began and ended, folded from the events of its journal. Bounded whatever the agent does."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from helmsman.records.checks import CheckResult
from helmsman.records.events import AgentStarted, CheckFinished, StepFinished, StepStarted, ToolCalled, ToolReturned
from helmsman.render.doings import Told

TOOLS_KEPT = 256
"""Tool calls of one attempt that get a span, the first ones; all of them are counted."""
CHECKS_KEPT = 50


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


class Checked(NamedTuple):
    """A check that came to an end, in the step that ran it."""

    step: str
    at: datetime
    result: CheckResult


@dataclass(frozen=True)
class Timeline:
    """Of one attempt at one iteration."""

    iteration: int = 0
    attempt: int = 0
    step: str = ""
    """The one that began last."""
    steps: Mapping[str, Step] = field(default_factory=dict[str, Step])
    """By name; of a step that was done again the last time counts."""
    agent: datetime | None = None
    """When its program was started."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """In the order of their calls, by id or else by number."""
    checks: tuple[Checked, ...] = ()


def after(line: Timeline, told: Told) -> Timeline:
    """Fold one event; what takes no time is passed over."""
    at, event = told
    match event:
        case StepStarted():
            now = _of(line, event.iteration, event.attempt)
            now = replace(now, step=event.step, steps={**now.steps, event.step: Step(event.step, at, None)})
        case StepFinished(step=name) if name in line.steps:
            now = replace(line, steps={**line.steps, name: line.steps[name]._replace(end=at)})
        case AgentStarted():
            now = replace(_of(line, event.iteration, event.attempt), agent=at, tools={})
        case ToolCalled() if len(line.tools) < TOOLS_KEPT:
            called = Tool(event.id, event.tool, at, None)
            now = replace(line, tools={**line.tools, event.id or f"#{len(line.tools)}": called})
        case ToolReturned(id=name) if name in line.tools:
            now = replace(line, tools={**line.tools, name: line.tools[name]._replace(end=at, failed=event.failed)})
        case CheckFinished():
            now = replace(line, checks=(*line.checks, Checked(line.step, at, event.result))[-CHECKS_KEPT:])
        case _:
            now = line
    return now


def _of(line: Timeline, iteration: int, attempt: int) -> Timeline:
    """Another attempt begins with nothing done."""
    return line if (iteration, attempt) == (line.iteration, line.attempt) else Timeline(iteration, attempt)
