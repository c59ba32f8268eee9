"""LoopState: everything needed to continue a loop, and what it has used up."""

from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from helmsman.config import LoopConfig
from helmsman.records.agent import AgentOutcome, Execution, KeptSession, LastCall, RateLimit, Salvage, Survivor
from helmsman.records.agents import Agent, Capability
from helmsman.records.base import Record, Usage
from helmsman.records.checks import CheckReport, Finding
from helmsman.records.claims import Contradiction, Trust
from helmsman.records.control import IterationSummary, Oversight, RolledBack
from helmsman.records.decision import Decision, Outcome
from helmsman.records.gates import Answer, Gate
from helmsman.records.hats import Preset
from helmsman.records.iteration import RESEARCH_TRIES, WorkingMemory
from helmsman.records.lessons import Estimate, TaskType
from helmsman.records.plan import PlanProgress
from helmsman.records.proof import DoneSignals, JudgeMemory
from helmsman.records.tracking import IssueLink, Merged, Merging

SCHEMA = 1
CALLS_WINDOW = timedelta(hours=1)
MOST_BESIDE = timedelta(hours=2)
"""Time of an iteration outside of agent and checks: retries of network and server errors take an hour, judge and writers one."""
MOST_AGAIN = 3
"""Factor on the last measured duration of agent and checks: flaky checks run again, calls are repeated."""
KILLED = frozenset({AgentOutcome.CRASHED, AgentOutcome.ABORTED})
MOST_KILLED = 3
"""Attempts of one iteration that may be killed before any work; after that, more calls would be killed too."""
LAST_PLAIN_EXIT = 128
"""Shells report death by signal N as 128 + N."""
FRUITFUL = frozenset({AgentOutcome.FINISHED, AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET})
"""Successful endings of a call, even without a changed file."""


class Spending(Record):
    """Totals of the loop so far, over all its runs."""

    agent_calls: int = 0
    cost_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    """Time in iterations and in waits between them."""


class Waiting(Record):
    until: datetime
    rule: str
    reason: str


class LoopState(Record):
    """Bounded: its size does not depend on the number of iterations."""

    schema_version: Literal[1] = SCHEMA
    loop: str
    """Id of the loop; unique in its repository."""
    uid: str
    """Random; makes keys of persisted results unique over all repositories."""
    run: str = ""
    """Id of the flow run that created the loop: a firing of a schedule, a run from the UI. Empty: created beforehand."""
    config: LoopConfig
    created_at: datetime
    updated_at: datetime
    base_branch: str = ""
    base_commit: str
    branch: str
    head: str
    """Last commit of the branch at the end of an iteration."""
    iteration: int = 0
    attempt: int = 1
    spending: Spending = Spending()
    recent_calls: tuple[datetime, ...] = ()
    """Ends of agent calls in the hour before `updated_at`."""
    waiting: Waiting | None = None
    checks: CheckReport | None = None
    memory: WorkingMemory = WorkingMemory()
    failed_calls: int = 0
    """Failed agent calls in a row."""
    salvaged: tuple[Salvage, ...] = ()
    """Work kept from attempts that died, newest last, 5 at most."""
    findings: tuple[Finding, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    """Claims of the last iteration that did not hold, 20 at most."""
    trust: Trust = Trust()
    judge: JudgeMemory = JudgeMemory()
    done: DoneSignals = DoneSignals()
    most_tests: dict[str, int] = Field(default_factory=dict[str, int])
    """By check command: the largest number of tests, without skipped ones, that it ran in this loop."""
    session: KeptSession | None = None
    windows: dict[str, int] = Field(default_factory=dict[str, int])
    """Context windows in tokens by model, as reported by the CLI, 20 at most."""
    last_call: LastCall = LastCall()
    survivors: tuple[Survivor, ...] = ()
    """Processes that the agent started and that could not be ended, as of the last call; 20 at most."""
    usage: RateLimit | None = None
    oversight: Oversight = Oversight()
    history: tuple[IterationSummary, ...] = ()
    """Summaries of the last `REMEMBERED` iterations, newest last."""
    green_at_start: bool | None = None
    """Whether every check passed before any work; None: unknown."""
    without_test_at_start: tuple[str, ...] = ()
    """Commands of checks that passed before any work although no test ran in them."""
    collected_at_start: tuple[str, ...] = ()
    """Files from which the checks ran tests before any work although they are not named like tests."""
    best_checks: CheckReport | None = None
    failed: RolledBack | None = None
    verified: str = ""
    """The last commit on which completion was proven; only `force_max` and a failed merge continue after it."""
    merging: Merging = Merging()
    merged: Merged | None = None
    gate: Gate | None = None
    gates_asked: int = 0
    task_type: TaskType | None = None
    estimate: Estimate | None = None
    answers: tuple[Answer, ...] = ()
    inherited: str = ""
    preset: Preset | None = None
    plan: PlanProgress = PlanProgress()
    host: str = ""
    """Name of the machine that runs the loop or ran it last, with `remote.push`."""
    agent: Agent | None = None
    proposed: tuple[str, ...] = ()
    """Learnings for the project's AGENTS.md that need a person's consent; 10 lines at most."""
    guidance: tuple[str, ...] = ()
    issue: IssueLink | None = None
    notes: tuple[str, ...] = ()
    ending: Decision | None = None

    @property
    def due(self) -> int:
        """Number of the next or current iteration."""
        return self.iteration + 1

    @property
    def untold(self) -> tuple[str, ...]:
        """What the agent's program does not report, or did not report for every call, by names of `Capability`."""
        unsupported = (
            [capability.value for capability in Capability if capability not in self.agent.kind.capabilities]
            if self.agent
            else []
        )
        return tuple(dict.fromkeys([*unsupported, *(name for summary in self.history for name in summary.untold)]))

    @property
    def past_iterations(self) -> tuple[IterationSummary, ...]:
        """The history without the base tree."""
        return tuple(summary for summary in self.history if summary.iteration)

    @property
    def researching(self) -> bool:
        """Whether the due iteration only does research."""
        research = self.memory.research
        return self.config.research.use and not research.complete and research.tries < RESEARCH_TRIES

    @property
    def outcome(self) -> Outcome | None:
        if self.ending is not None:
            return self.ending.outcome
        return Outcome.WAITING if self.waiting is not None else None


def spend(state: LoopState, usage: Usage, started_at: datetime, now: datetime, at_work: float = 0.0) -> Spending:
    """Usage after one more call. A wait before it counts as wall-clock time; time without a driver does not.

    `at_work`: seconds measured by a monotonic clock. If the wall clock shows less, or more than that plus MOST_BESIDE, it was set
    in the meantime, or there was no driver for a while.
    """
    before, measured = state.spending, (now - started_at).total_seconds()
    waited = (min(started_at, state.waiting.until) - state.updated_at).total_seconds() if state.waiting else 0.0
    return Spending(
        agent_calls=before.agent_calls + 1,
        cost_usd=before.cost_usd + usage.cost_usd,
        tokens=before.tokens + usage.tokens,
        seconds=before.seconds
        + max(waited, 0.0)
        + min(max(measured, at_work), at_work * MOST_AGAIN + MOST_BESIDE.total_seconds()),
    )


def failed_calls(state: LoopState, execution: Execution) -> int:
    """Calls in a row that achieved nothing: they neither ended a turn nor changed a file."""
    fruitful = execution.call.outcome in FRUITFUL or execution.change.files_changed > 0
    return 0 if fruitful else state.failed_calls + 1


def is_killed_at_once(state: LoopState, execution: Execution) -> bool:
    """Whether the agent was killed before any work, so that the same iteration is repeated."""
    call = execution.call
    is_signal = call.exit_code is not None and (call.exit_code < 0 or call.exit_code > LAST_PLAIN_EXIT)
    is_idle = not call.tool_calls and not execution.change.files_changed
    return call.outcome in KILLED and is_signal and is_idle and not state.failed_calls and state.attempt <= MOST_KILLED


def recent_calls(state: LoopState, now: datetime) -> tuple[datetime, ...]:
    """Calls within the last hour, including one that ends now; also bounded in number, in case clocks jump back."""
    begin = now - CALLS_WINDOW
    return (*(ended for ended in state.recent_calls if ended > begin), now)[-state.config.limits.calls_per_hour :]
