"""Run a simulated agent under the real core: oversee, decide, advance. Prefect, git and the model are left out."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.simulation.baselines import feedback_after
from bench.simulation.evidence import base_report, build_evidence, loop_config
from bench.simulation.kinds import Kind, make_profile, start_agent
from bench.simulation.model import AgentProfile, Feedback, Step, Tree
from helmsman.config import LoopConfig
from helmsman.oversee.decide import Situation, decide
from helmsman.oversee.oversee import Observations, oversee
from helmsman.oversee.signals import IterationView
from helmsman.oversee.summary import with_baseline
from helmsman.records.advance import advance, record_of, with_consequences
from helmsman.records.control import EscalationLevel, RolledBack
from helmsman.records.decision import Outcome, Severity
from helmsman.records.iteration import Evidence, IterationRecord, Orientation
from helmsman.records.state import LoopState

START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
BASE = "b" * 40
INTERVENING = frozenset({Severity.REDIRECT, Severity.PAUSE, Severity.ABORT})


@dataclass(frozen=True)
class IterationResult:
    """One iteration of a steered loop."""

    step: Step
    record: IterationRecord
    seconds: float
    """CPU seconds of the core for it."""

    @property
    def level(self) -> EscalationLevel:
        return self.record.oversight.ladder.rung

    @property
    def alarms(self) -> tuple[str, ...]:
        """Rules that intervene, except limits."""
        rules = (signal.rule for signal in self.record.signals if signal.severity in INTERVENING)
        return tuple(rule for rule in rules if not rule.startswith("limits."))

    @property
    def has_given_up(self) -> bool:
        """Whether the loop stops although it is neither done nor at a limit."""
        decision = self.record.decision
        stopped = decision.kind == "stop" and decision.outcome is not Outcome.COMPLETED
        return stopped and not decision.rule.startswith("limits.")


@dataclass
class SimulatedLoop:
    """A running loop of a simulated agent."""

    profile: AgentProfile
    state: LoopState
    now: datetime = START
    trees: dict[str, Tree] = field(default_factory=dict[str, Tree])
    """Trees by commit."""

    def iterate(self, feedback: Feedback, step: Step) -> tuple[IterationResult, Feedback]:
        """Process the agent's step like the steps of an iteration."""
        started = max(self.now, self.state.waiting.until) if self.state.waiting else self.now
        self.now = started + timedelta(seconds=step.seconds)
        commit = self._commit(feedback, step)
        evidence = build_evidence(self.profile, self.state, step, commit, self.now)
        start = time.process_time()
        record = _record(self.state, evidence, started, self.now)
        new_state = advance(self.state, record)
        result = IterationResult(step, record, time.process_time() - start)
        self.state = new_state
        return result, self._feedback(feedback, step, record)

    def _commit(self, feedback: Feedback, step: Step) -> str:
        if step.tree == feedback.tree:
            commit = self.state.head
        else:
            name = f"{self.state.head}/{step.tree.identity}/{feedback.call}"
            commit = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
        self.trees[commit] = step.tree
        return commit

    def _feedback(self, feedback: Feedback, step: Step, record: IterationRecord) -> Feedback:
        level, rollback = record.oversight.ladder.rung, record.failed
        unsteered = feedback_after(feedback, step)
        return Feedback(
            tree=self.trees[rollback.back_to] if rollback else unsteered.tree,
            call=unsteered.call,
            level=level,
            redirected=level > EscalationLevel.PATCH or bool(record.oversight.instructions),
            rolled_back=rollback is not None,
            failed_by_chance=unsteered.failed_by_chance and rollback is None,
        )


def _record(state: LoopState, evidence: Evidence, started: datetime, now: datetime) -> IterationRecord:
    overseen = oversee(IterationView(state, evidence, started, now), Observations())
    decision = decide(Situation(state, evidence, overseen.signals, now, overseen.oversight))
    change, failed = evidence.execution.change, None
    if decision.back_to:
        failed = RolledBack(
            iteration=state.due,
            ref="refs/helmsman/failed",
            commit=change.commit,
            back_to=decision.back_to,
            why=decision.reason[:300],
            files=change.files[:20],
        )
    orientation = Orientation(started_at=started, start_commit=state.head)
    return with_consequences(record_of(state, orientation, evidence, overseen, decision), failed, None)


def start_loop(profile: AgentProfile, settings: LoopConfig) -> SimulatedLoop:
    """Create a loop whose checks ran once on its first tree."""
    state = LoopState(
        loop="simulated",
        uid=profile.seed,
        config=settings,
        created_at=START,
        updated_at=START,
        base_branch="main",
        base_commit=BASE,
        branch="helmsman/simulated",
        head=BASE,
    )
    state = with_baseline(state, base_report(profile, profile.first_tree()))
    return SimulatedLoop(profile, state, trees={BASE: profile.first_tree()})


def run(
    kind: Kind,
    seed: int,
    response: float = 0.0,
    settings: dict[str, Any] | None = None,
    should_end: Callable[[SimulatedLoop], bool] = lambda _: False,
) -> tuple[SimulatedLoop, list[IterationResult]]:
    """Run a loop with this agent until it ends."""
    profile = make_profile(kind, seed, response)
    loop, (behaviour, feedback) = start_loop(profile, loop_config(profile, **settings or {})), start_agent(kind, profile)
    step, results = next(behaviour), list[IterationResult]()
    while True:
        result, feedback = loop.iterate(feedback, step)
        results.append(result)
        if loop.state.ending is not None or should_end(loop):
            return loop, results
        step = behaviour.send(feedback)
