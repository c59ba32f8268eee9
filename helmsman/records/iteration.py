"""One iteration from start to decision: the only thing that journal, log, report and display are fed from."""

from datetime import datetime

from helmsman.records.base import Record
from helmsman.records.checks import CheckReport
from helmsman.records.evidence import Claims, Execution
from helmsman.records.memory import WorkingMemory
from helmsman.records.verdict import Decision, Signal


class IterationRecord(Record):
    """What happened in one attempt at one iteration and what was decided."""

    loop: str
    iteration: int
    attempt: int
    started_at: datetime
    execution: Execution
    checks: CheckReport | None
    """None when the agent's call was not worth checking (usage limit, refused start)."""
    claims: Claims
    memory: WorkingMemory
    signals: tuple[Signal, ...]
    decision: Decision

    @property
    def ended_at(self) -> datetime:
        return self.decision.at

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def counts(self) -> bool:
        """Whether it is one of the loop's iterations: an attempt that a usage limit cut off is not."""
        return not self.decision.repeat
