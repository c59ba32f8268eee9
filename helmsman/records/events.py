"""Events during an iteration, in the past tense. They feed displays and journals; nothing depends on them."""

import re
from datetime import datetime
from typing import Any, cast

from pydantic import computed_field
from pydantic_core import from_json

from helmsman.records.agent import Guarded, StopAttempt
from helmsman.records.base import Record, Usage
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.decision import Alert
from helmsman.records.gates import Answer, Gate
from helmsman.records.iteration import IterationRecord
from helmsman.records.tracking import Merged


class Event(Record):
    @computed_field
    @property
    def event(self) -> str:
        """Kind of the event, which identifies it in a journal."""
        return _kind(type(self))


def _kind(event_type: type[Event]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event_type.__name__).lower()


class PreparationStarted(Event):
    """Slow preparation began: the engine starts, or a setup command runs."""

    what: str


class LoopBegun(Event):
    """The checks ran before any work, unless disabled."""

    report: CheckReport | None = None
    warnings: tuple[str, ...] = ()


class AgentIntroduced(Event):
    """The agent of the loop, unless it is Claude Code, and its missing capabilities."""

    lines: tuple[str, ...]
    untold: tuple[str, ...] = ()


class MemoryNoted(Event):
    """Notes of the memory for people: expectations, lessons, and what it lacks."""

    lines: tuple[str, ...]


class AttemptInterrupted(Event):
    """A driver died or was cancelled during an agent call; reported by the one that resumes the loop."""

    what: str


class ObserverFailed(Event):
    """Telemetry, the tracker or a notification is configured and does not work, which stops nothing."""

    why: str


class StepStarted(Event):
    iteration: int
    attempt: int
    step: str


class StepFinished(Event):
    """The step's work is done; its result is not persisted yet."""

    iteration: int
    attempt: int
    step: str
    seconds: float


class AgentStarted(Event):
    iteration: int
    attempt: int
    cost_usd: float = 0.0
    """What the loop had used up before, and the tokens likewise."""
    tokens: int = 0
    cost_limit: float | None = None


class ToolCalled(Event):
    tool: str
    detail: str
    id: str = ""
    """As the agent's program names the call, 100 characters at most; empty where it does not."""


class ToolReturned(Event):
    id: str
    failed: bool


class UsageCounted(Event):
    """Usage of the running agent call since its start."""

    usage: Usage


class ToolGuarded(Event):
    guarded: Guarded


class StopAnswered(Event):
    attempt: StopAttempt


class CheckStarted(Event):
    name: str


class CheckFinished(Event):
    result: CheckResult


class SignalRaised(Event):
    signal: Alert


class IterationRecorded(Event):
    record: IterationRecord


class WaitStarted(Event):
    until: datetime
    reason: str


class MergeFailed(Event):
    """Proven work could not be merged: the loop continues with this as its task, or a person is asked."""

    into: str
    why: str


class LoopMerged(Event):
    merged: Merged
    notes: tuple[str, ...] = ()
    """What a person may have to do in their own checkout."""


class GateOpened(Event):
    loop: str
    gate: Gate


class GateAnswered(Event):
    answer: Answer


EVENTS = {_kind(of): of for of in Event.__subclasses__()}


def read_event(text: str) -> Event:
    """Parse a line of a journal. Raises ValueError (pydantic's error is one) for anything else."""
    fields = from_json(text)
    event_type = EVENTS.get(str(cast("dict[str, Any]", fields).get("event"))) if isinstance(fields, dict) else None
    if event_type is None:
        raise ValueError("an event of another version")
    return event_type.model_validate_json(text)
