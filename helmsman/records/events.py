"""What happens while an iteration runs, in the past tense. Displays and journals are fed from these; nothing depends on them."""

import re
from datetime import datetime

from pydantic import computed_field

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
        """Its kind, by which it is told from others in a journal."""
        return _kind(type(self))


def _kind(of: type[Event]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", of.__name__).lower()


class PreparationStarted(Event):
    """What comes before the work takes its time: the engine starts, a command of the set-up runs."""

    what: str


class LoopBegun(Event):
    """The checks have been tried before any work, unless that was not wanted."""

    report: CheckReport | None = None
    warnings: tuple[str, ...] = ()


class AgentIntroduced(Event):
    """Which agent the loop drives, where it is not Claude Code, and what it lacks."""

    lines: tuple[str, ...]
    untold: tuple[str, ...] = ()


class MemoryNoted(Event):
    """What memory has to say to people: what to expect, what was learnt, what it lacks."""

    lines: tuple[str, ...]


class AttemptInterrupted(Event):
    """A driver died, or was cancelled, with a call of the agent in flight; told by the one that takes the loop up."""

    what: str


class TelemetryFailed(Event):
    """Telemetry was asked for and is not delivered; told once by each driver."""

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
    """The call of the agent that runs has used so much, from its beginning."""

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
    """Proven work could not be merged: the loop goes on with that as its task, or a person is asked."""

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


class _Of(Record):
    event: str


EVENTS = {_kind(of): of for of in Event.__subclasses__()}


def read_event(text: str) -> Event:
    """From a line of a journal. Raises ValueError, which pydantic's own error is too, where it is none of these."""
    of = EVENTS.get(_Of.model_validate_json(text).event)
    if of is None:
        raise ValueError("an event of another version")
    return of.model_validate_json(text)
