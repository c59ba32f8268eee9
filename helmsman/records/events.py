"""What happens while an iteration runs, in the past tense. Displays and journals are fed from these; nothing depends on them."""

from datetime import datetime
from typing import Literal

from helmsman.records.base import Record
from helmsman.records.checks import CheckReport, CheckResult
from helmsman.records.evidence import Guarded
from helmsman.records.gates import Answer, Gate
from helmsman.records.iteration import IterationRecord
from helmsman.records.merging import Merged
from helmsman.records.session import StopAttempt
from helmsman.records.usage import Usage
from helmsman.records.verdict import Signal


class LinkStarted(Record):
    """A chain drives this loop from here on."""

    event: Literal["link_started"] = "link_started"
    loop: str
    number: int
    loops: int
    goal: str


class PreparationStarted(Record):
    """What comes before the work takes its time: the engine starts, a command of the set-up runs."""

    event: Literal["preparation_started"] = "preparation_started"
    what: str


class LoopBegun(Record):
    """The checks have been tried before any work, unless that was not wanted."""

    event: Literal["loop_begun"] = "loop_begun"
    report: CheckReport | None = None
    warnings: tuple[str, ...] = ()
    """What could prove nothing of the goal, a sentence each."""


class AgentIntroduced(Record):
    """Which agent the loop drives, where it is not Claude Code, and what it lacks."""

    event: Literal["agent_introduced"] = "agent_introduced"
    lines: tuple[str, ...]
    untold: tuple[str, ...] = ()
    """What its program does not tell, as `Capability` names it."""


class MemoryNoted(Record):
    """What memory has to say to people: what to expect, what was learnt, what it lacks."""

    event: Literal["memory_noted"] = "memory_noted"
    lines: tuple[str, ...]


class AttemptInterrupted(Record):
    """A driver died, or was cancelled, with a call of the agent in flight; told by the one that takes the loop up."""

    event: Literal["attempt_interrupted"] = "attempt_interrupted"
    what: str
    """Which attempt, and where its work is kept."""


class TelemetryFailed(Record):
    """Telemetry was asked for and is not delivered; told once by each driver."""

    event: Literal["telemetry_failed"] = "telemetry_failed"
    why: str


class StepStarted(Record):
    event: Literal["step_started"] = "step_started"
    iteration: int
    attempt: int
    step: str


class StepFinished(Record):
    """The step's work is done; its result is not persisted yet."""

    event: Literal["step_finished"] = "step_finished"
    iteration: int
    attempt: int
    step: str
    seconds: float


class AgentStarted(Record):
    event: Literal["agent_started"] = "agent_started"
    iteration: int
    attempt: int
    process_id: int
    cost_usd: float = 0.0
    """What the loop had used up before, and the tokens likewise."""
    tokens: int = 0
    cost_limit: float | None = None
    """US dollars that the loop may use up in all."""


class ToolCalled(Record):
    event: Literal["tool_called"] = "tool_called"
    tool: str
    detail: str
    """What it was called with, in a line of 120 characters at most."""
    id: str = ""
    """As the agent's program names the call, 100 characters at most; empty where it does not."""


class ToolReturned(Record):
    """A tool call came to an end."""

    event: Literal["tool_returned"] = "tool_returned"
    id: str
    failed: bool


class UsageCounted(Record):
    """The call of the agent that runs has used so much, from its beginning."""

    event: Literal["usage_counted"] = "usage_counted"
    usage: Usage


class ToolGuarded(Record):
    event: Literal["tool_guarded"] = "tool_guarded"
    guarded: Guarded


class StopAnswered(Record):
    """The agent wanted to end its turn."""

    event: Literal["stop_answered"] = "stop_answered"
    attempt: StopAttempt


class CheckStarted(Record):
    event: Literal["check_started"] = "check_started"
    name: str


class CheckFinished(Record):
    event: Literal["check_finished"] = "check_finished"
    result: CheckResult


class SignalRaised(Record):
    event: Literal["signal_raised"] = "signal_raised"
    signal: Signal


class IterationRecorded(Record):
    event: Literal["iteration_recorded"] = "iteration_recorded"
    record: IterationRecord


class WaitStarted(Record):
    event: Literal["wait_started"] = "wait_started"
    until: datetime
    reason: str


class MergeFailed(Record):
    """Proven work could not be merged: the loop goes on with that as its task, or a person is asked."""

    event: Literal["merge_failed"] = "merge_failed"
    into: str
    why: str


class LoopMerged(Record):
    """The work is in the branch that it was for."""

    event: Literal["loop_merged"] = "loop_merged"
    merged: Merged
    notes: tuple[str, ...] = ()
    """What a person may have to do in their own checkout."""


class GateOpened(Record):
    """A person is asked."""

    event: Literal["gate_opened"] = "gate_opened"
    loop: str
    gate: Gate


class GateAnswered(Record):
    event: Literal["gate_answered"] = "gate_answered"
    answer: Answer


Event = (
    LinkStarted
    | PreparationStarted
    | LoopBegun
    | AgentIntroduced
    | MemoryNoted
    | AttemptInterrupted
    | TelemetryFailed
    | StepStarted
    | StepFinished
    | AgentStarted
    | ToolCalled
    | ToolReturned
    | UsageCounted
    | ToolGuarded
    | StopAnswered
    | CheckStarted
    | CheckFinished
    | SignalRaised
    | IterationRecorded
    | WaitStarted
    | MergeFailed
    | LoopMerged
    | GateOpened
    | GateAnswered
)
