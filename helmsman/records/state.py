"""LoopState: everything that is needed to go on with a loop, and `advance`, its only fold."""

from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from helmsman.config import LoopConfig
from helmsman.records.agent import (
    MOST_SURVIVORS,
    AgentOutcome,
    Execution,
    Interrupted,
    KeptSession,
    LastCall,
    RateLimit,
    Salvage,
    Survivor,
)
from helmsman.records.agents import Agent, Capability
from helmsman.records.base import Record, Usage
from helmsman.records.checks import CheckReport, Finding
from helmsman.records.claims import Contradiction, Trust
from helmsman.records.control import Failed, IterationSummary, Overseen, Oversight
from helmsman.records.decision import Decision, DecisionKind, Outcome
from helmsman.records.folds import (
    asked_again,
    at_tick,
    best_checks,
    done_signals,
    history,
    kept_session,
    last_call,
    most_tests,
    plan_after,
    remember,
    taken_back,
    trust,
    windows,
)
from helmsman.records.gates import Answer, Gate
from helmsman.records.hats import Preset
from helmsman.records.iteration import RESEARCH_TRIES, Evidence, IterationRecord, Orientation, WorkingMemory
from helmsman.records.lessons import Estimate, Learned, TaskType
from helmsman.records.plan import PlanProgress, Tick
from helmsman.records.proof import DoneSignals, JudgeMemory
from helmsman.records.tracking import IssueLink, Merged, Merging

SCHEMA = 1
SALVAGES_REMEMBERED = 5
CALLS_WINDOW = timedelta(hours=1)
MOST_BESIDE = timedelta(hours=2)
"""Of an iteration, beside agent and checks: retries of network and server errors take an hour, judge and writers another."""
KILLED = frozenset({AgentOutcome.CRASHED, AgentOutcome.ABORTED})
MOST_KILLED = 3
"""Attempts of one iteration that may be killed before they did anything: who kills the agent that often goes on with it."""
LAST_PLAIN_EXIT = 128
"""A shell reports a death by signal N as 128 + N."""
FRUITFUL = frozenset({AgentOutcome.FINISHED, AgentOutcome.MAX_TURNS, AgentOutcome.CALL_BUDGET})
"""Endings of a call that came to something even where no file was changed."""
MOST_AGAIN = 3
"""Times that agent and checks may take as long as their last account says: flaky checks run again, calls are made again."""


class Spending(Record):
    """What the loop has used up so far, over all its drivers."""

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
    """Bounded: its size does not depend on how many iterations there were."""

    schema_version: Literal[1] = SCHEMA
    loop: str
    """The id that people use; unique in its repository."""
    uid: str
    """Random; makes keys of persisted results unique over all repositories."""
    run: str = ""
    """Id of the flow run that the loop was made for: a firing of a schedule, a run from the UI. Empty: made beforehand."""
    config: LoopConfig
    created_at: datetime
    updated_at: datetime
    base_branch: str = ""
    base_commit: str
    branch: str
    head: str
    """Last commit of the branch that an iteration ended with."""
    iteration: int = 0
    attempt: int = 1
    spending: Spending = Spending()
    recent_calls: tuple[datetime, ...] = ()
    """Ends of agent calls in the hour before `updated_at`."""
    waiting: Waiting | None = None
    checks: CheckReport | None = None
    memory: WorkingMemory = WorkingMemory()
    failed_calls: int = 0
    """Agent calls in a row that came to nothing."""
    salvaged: tuple[Salvage, ...] = ()
    """Work kept from attempts that died, newest last, 5 at most."""
    findings: tuple[Finding, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    """Claims of the last iteration that did not hold, 20 at most."""
    trust: Trust = Trust()
    judge: JudgeMemory = JudgeMemory()
    done: DoneSignals = DoneSignals()
    most_tests: dict[str, int] = Field(default_factory=dict[str, int])
    """By check command: the largest number of tests, skipped ones left out, that it ran in this loop."""
    session: KeptSession | None = None
    windows: dict[str, int] = Field(default_factory=dict[str, int])
    """Context windows in tokens by model, as the CLI told them, 20 at most."""
    last_call: LastCall = LastCall()
    survivors: tuple[Survivor, ...] = ()
    """Processes that the agent started and that could not be ended, as the last call saw them; 20 at most."""
    usage: RateLimit | None = None
    oversight: Oversight = Oversight()
    history: tuple[IterationSummary, ...] = ()
    """The last iterations in short, newest last, `REMEMBERED` of them."""
    green_at_start: bool | None = None
    """Whether every check passed before any work; None: nobody looked."""
    without_test_at_start: tuple[str, ...] = ()
    """Commands of checks that passed before any work although no test ran in them."""
    collected_at_start: tuple[str, ...] = ()
    """Files that the checks had tests of before any work although they are not named like tests."""
    best_checks: CheckReport | None = None
    failed: Failed | None = None
    verified: str = ""
    """The last commit on which completion was proven; only `force_max` and a merge that failed go on after it."""
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
    """Name of the machine that drives it or drove it last, of a loop that travels (`remote.push`)."""
    agent: Agent | None = None
    proposed: tuple[str, ...] = ()
    """What it learnt for the project's AGENTS.md, where a person is to agree; 10 lines at most."""
    guidance: tuple[str, ...] = ()
    issue: IssueLink | None = None
    notes: tuple[str, ...] = ()
    ending: Decision | None = None

    @property
    def due(self) -> int:
        """Number of the iteration that comes next or is under way."""
        return self.iteration + 1

    @property
    def untold(self) -> tuple[str, ...]:
        """What the agent's program does not tell, or did not tell of every call, as `Capability` names it."""
        never = [one.value for one in Capability if one not in self.agent.kind.tells] if self.agent else []
        return tuple(dict.fromkeys([*never, *(name for summary in self.history for name in summary.untold)]))

    @property
    def worked(self) -> tuple[IterationSummary, ...]:
        """The history without the tree that the loop began with."""
        return tuple(summary for summary in self.history if summary.iteration)

    @property
    def researching(self) -> bool:
        """Whether the iteration that is due looks only."""
        found = self.memory.research
        return self.config.research.use and not found.complete and found.tries < RESEARCH_TRIES

    @property
    def outcome(self) -> Outcome | None:
        if self.ending is not None:
            return self.ending.outcome
        return Outcome.WAITING if self.waiting is not None else None


def advance(state: LoopState, record: IterationRecord) -> LoopState:
    """Fold one record into the state. The only way that a loop moves on by itself."""
    return state.model_copy(update=_gone_on(state, record) | _on_the_branch(state, record) | _remembered(state, record))


def _gone_on(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """What is due next, and what is used up. An attempt that does not count is made again, with what it was told."""
    counts, decision = record.counts, record.decision
    until, waits = decision.until, decision.kind is DecisionKind.WAIT
    return {
        "updated_at": record.ended_at,
        "iteration": state.iteration + counts,
        "attempt": 1 if counts else state.attempt + 1,
        "spending": spend(state, record.usage, record.started_at, record.ended_at, record.at_work),
        "recent_calls": recent_calls(state, record.ended_at),
        "failed_calls": failed_calls(state, record.execution) if counts else state.failed_calls,
        "salvaged": () if counts else state.salvaged,
        "guidance": () if counts else state.guidance,
        "waiting": Waiting(until=until, rule=decision.rule, reason=decision.reason) if waits and until else None,
        "ending": decision if decision.kind is DecisionKind.STOP else None,
    }


def _on_the_branch(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """The work that is there, and what is known of it. Work that was taken off the branch is not there any more."""
    best, remembered = best_checks(state.best_checks, record), history(state.history, record)
    return {
        "head": record.failed.back_to if record.failed else record.head,
        "checks": best if record.failed else record.checks or state.checks,
        "best_checks": best,
        "oversight": taken_back(record.oversight, record.failed),
        "history": remembered,
        "failed": record.failed if record.counts else state.failed,
        "plan": plan_after(state.plan, record, {summary.iteration for summary in remembered if summary.undone}),
        "findings": () if record.failed else record.findings if record.checks else state.findings,
        "contradictions": () if record.failed else record.contradictions,
        # tests that were taken off with the work that they belong to are not missed
        "most_tests": most_tests({}, best) if record.failed else most_tests(state.most_tests, record.checks),
        "verified": record.execution.change.commit if record.proven else state.verified,
    }


def _remembered(state: LoopState, record: IterationRecord) -> dict[str, Any]:
    """What later iterations know of this one, whatever becomes of its work."""
    config, call = state.config, record.execution.call
    known_windows = windows(state.windows, call)
    return {
        "memory": record.memory,
        "trust": trust(state.trust, record.contradictions, record.claims_checked),
        "judge": remember(state.judge, record, config.judge.rejections, reset=config.resets_strategy),
        "done": done_signals(state.done, record),
        "session": kept_session(state.session, record, config.claude.session),
        "windows": known_windows,
        "survivors": call.survivors[:MOST_SURVIVORS],
        "last_call": last_call(state.last_call, record, known_windows),
        "usage": call.rate_limit or state.usage,
        "notes": tuple(dict.fromkeys((*state.notes, *(signal.rule for signal in record.signals)))),
    }


def record_of(
    state: LoopState,
    orientation: Orientation,
    evidence: Evidence,
    memory: WorkingMemory,
    overseen: Overseen,
    decision: Decision,
    learned: Learned | None = None,
) -> IterationRecord:
    """All that is known of the iteration that is due, before anything follows from the decision."""
    return IterationRecord(
        **dict(evidence),
        loop=state.loop,
        iteration=state.due,
        attempt=state.attempt,
        started_at=orientation.started_at,
        memory=memory,
        signals=overseen.signals,
        oversight=overseen.oversight,
        moment=overseen.moment,
        decision=decision,
        recalled=orientation.recalled,
        hat=orientation.hat,
        learned=learned or Learned(),
    )


def with_its_end(record: IterationRecord, failed: Failed | None, tick: Tick | None) -> IterationRecord:
    """With what became of its work: taken off the branch, or ticked in the plan. A tick belongs to the work that it is for."""
    moment = record.moment.model_copy(update={"commit": tick.commit}) if record.moment and tick else record.moment
    oversight = at_tick(record.oversight, record.execution.change.commit, tick)
    return record.model_copy(update={"failed": failed, "tick": tick, "moment": moment, "oversight": oversight})


def interrupt(state: LoopState, attempt: Interrupted, salvage: Salvage | None) -> LoopState:
    """A driver died with an agent call in flight: the same iteration is due again, as the next attempt.

    What the call is known to have used up is charged, or a cycle of crashes would have no budget. Its session is left:
    nobody heard how it ended.
    """
    kept = state.salvaged if salvage is None else (*state.salvaged, salvage)[-SALVAGES_REMEMBERED:]
    return state.model_copy(
        update={
            "updated_at": attempt.ended_at,
            "attempt": state.attempt + 1,
            "spending": spend(state, attempt.usage, attempt.started_at, attempt.ended_at),
            "recent_calls": recent_calls(state, attempt.ended_at),
            "waiting": None,
            "salvaged": kept,
            "session": None,
        }
    )


def end(state: LoopState, decision: Decision, now: datetime) -> LoopState:
    """Stop from outside an iteration: cancelled, or broken by an error."""
    return state.model_copy(update={"ending": decision, "waiting": None, "updated_at": now})


def reopen(state: LoopState, config: LoopConfig, now: datetime) -> LoopState:
    """Go on with a loop that had ended, under the given configuration. A person has looked: rejections count anew."""
    judge = state.judge.model_copy(update={"rejections": 0})
    counted_anew = {"failed_calls": 0, "judge": judge, "done": DoneSignals(), "plan": asked_again(state.plan)}
    return state.model_copy(update={"ending": None, "config": config, "updated_at": now, **counted_anew})


def spend(state: LoopState, usage: Usage, started_at: datetime, now: datetime, at_work: float = 0.0) -> Spending:
    """What is used up after one more call. A wait before it counts as wall-clock time, the time that nobody drove does not.

    `at_work`: seconds of it that were measured by a clock that nobody sets. Where the wall clock tells of less, or of more than
    that and MOST_BESIDE, it was set meanwhile, or nobody drove for a while.
    """
    before, told = state.spending, (now - started_at).total_seconds()
    waited = (min(started_at, state.waiting.until) - state.updated_at).total_seconds() if state.waiting else 0.0
    return Spending(
        agent_calls=before.agent_calls + 1,
        cost_usd=before.cost_usd + usage.cost_usd,
        tokens=before.tokens + usage.tokens,
        seconds=before.seconds + max(waited, 0.0) + min(max(told, at_work), at_work * MOST_AGAIN + MOST_BESIDE.total_seconds()),
    )


def failed_calls(state: LoopState, execution: Execution) -> int:
    """Calls in a row that came to nothing: they neither ended a turn nor changed a file."""
    fruitful = execution.call.outcome in FRUITFUL or execution.change.files_changed > 0
    return 0 if fruitful else state.failed_calls + 1


def killed_at_once(state: LoopState, execution: Execution) -> bool:
    """Whether the agent was killed before it did anything, and the same iteration is due again for it."""
    call = execution.call
    died = call.exit_code is not None and (call.exit_code < 0 or call.exit_code > LAST_PLAIN_EXIT)
    idle = not call.tool_calls and not execution.change.files_changed
    return call.outcome in KILLED and died and idle and not state.failed_calls and state.attempt <= MOST_KILLED


def recent_calls(state: LoopState, now: datetime) -> tuple[datetime, ...]:
    """Calls within the last hour, one that ends now included; bounded in number too, for clocks that jump back."""
    begin = now - CALLS_WINDOW
    return (*(summary for summary in state.recent_calls if summary > begin), now)[-state.config.limits.calls_per_hour :]
