"""A loop with a modelled agent and the real core: oversee, decide, advance. Only Prefect, git and the model are left out."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.modelled.kinds import Kind, agent, character
from bench.modelled.plain_rules import followed
from bench.modelled.rendering import base_report, config, evidence
from bench.modelled.worlds import Character, Step, Told, Tree
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
ACTS = frozenset({Severity.REDIRECT, Severity.PAUSE, Severity.ABORT})


@dataclass(frozen=True)
class Seen:
    """One iteration of a steered loop."""

    step: Step
    record: IterationRecord
    seconds: float
    """CPU seconds of the core for it."""

    @property
    def rung(self) -> EscalationLevel:
        return self.record.oversight.ladder.rung

    @property
    def alarms(self) -> tuple[str, ...]:
        """Rules that intervene, without reached limits."""
        acting = (signal for signal in self.record.signals if signal.severity in ACTS and not signal.rule.startswith("limits."))
        return tuple(signal.rule for signal in acting)

    @property
    def given_up(self) -> bool:
        """Whether the loop stops although it is neither done nor at a limit."""
        decision = self.record.decision
        stopped = decision.kind == "stop" and decision.outcome is not Outcome.COMPLETED
        return stopped and not decision.rule.startswith("limits.")


@dataclass
class Loop:
    """A running loop."""

    of: Character
    state: LoopState
    now: datetime = START
    trees: dict[str, Tree] = field(default_factory=dict[str, Tree])
    """Trees by commit."""

    def iterate(self, told: Told, step: Step) -> tuple[Seen, Told]:
        """Process what the agent did, like the steps of an iteration."""
        started = max(self.now, self.state.waiting.until) if self.state.waiting else self.now
        self.now = started + timedelta(seconds=step.seconds)
        commit = self._commit(told, step)
        found = evidence(self.of, self.state, step, commit, self.now)
        begun = time.process_time()
        record = _record(self.state, found, started, self.now)
        after = advance(self.state, record)
        seen = Seen(step, record, time.process_time() - begun)
        self.state = after
        return seen, self._told(told, step, record)

    def _commit(self, told: Told, step: Step) -> str:
        if step.tree == told.tree:
            commit = self.state.head
        else:
            name = f"{self.state.head}/{step.tree.identity}/{told.number}"
            commit = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
        self.trees[commit] = step.tree
        return commit

    def _told(self, told: Told, step: Step, record: IterationRecord) -> Told:
        rung, back = record.oversight.ladder.rung, record.failed
        then = followed(told, step)
        return Told(
            tree=self.trees[back.back_to] if back else then.tree,
            number=then.number,
            rung=rung,
            redirected=rung > EscalationLevel.PATCH or bool(record.oversight.instructions),
            rolled_back=back is not None,
            wavering=then.wavering and back is None,
        )


def _record(state: LoopState, found: Evidence, started: datetime, now: datetime) -> IterationRecord:
    overseen = oversee(IterationView(state, found, started, now), Observations())
    decision = decide(Situation(state, found, overseen.signals, now, overseen.oversight))
    change, failed = found.execution.change, None
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
    return with_consequences(record_of(state, orientation, found, overseen, decision), failed, None)


def fresh(of: Character, settings: LoopConfig) -> Loop:
    """Create a loop whose checks ran once on its first tree."""
    state = LoopState(
        loop="modelled",
        uid=of.seed,
        config=settings,
        created_at=START,
        updated_at=START,
        base_branch="main",
        base_commit=BASE,
        branch="helmsman/modelled",
        head=BASE,
    )
    begun = with_baseline(state, base_report(of, of.start()))
    return Loop(of, begun, trees={BASE: of.start()})


def run(
    kind: Kind,
    seed: int,
    response: float = 0.0,
    settings: dict[str, Any] | None = None,
    ends: Callable[[Loop], bool] = lambda _: False,
) -> tuple[Loop, list[Seen]]:
    """Run a loop with this agent until it ends."""
    of = character(kind, seed, response)
    loop, (habit, told) = fresh(of, config(of, **settings or {})), agent(kind, of)
    step, seen = next(habit), list[Seen]()
    while True:
        one, told = loop.iterate(told, step)
        seen.append(one)
        if loop.state.ending is not None or ends(loop):
            return loop, seen
        step = habit.send(told)
