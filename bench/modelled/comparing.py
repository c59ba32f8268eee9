"""Compare one agent under the core and under the plain rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.modelled import plain_rules, steered
from bench.modelled.kinds import BY_NAME
from bench.modelled.plain_rules import RULES, Plain
from bench.modelled.steered import Seen
from helmsman.records.control import EscalationLevel
from helmsman.records.decision import Outcome


@dataclass(frozen=True)
class Task:
    """An agent to run."""

    kind: str
    seed: int
    response: float
    settings: dict[str, Any]


@dataclass(frozen=True)
class Fared:
    """Results of one agent."""

    kind: str
    seed: int
    plain: Mapping[str, Plain]
    completed: bool
    ended_by: str
    """Rule of the last decision."""
    iterations: int
    dollars: float
    sick_dollars: float
    """Cost from the onset on."""
    hours_waited: float
    """Stopped by the circuit breaker."""
    detected: int | None
    """Iteration of the pathology, from 1, after which the loop reacted."""
    detected_by: tuple[str, ...]
    alarms: tuple[str, ...]
    """Rules that intervened in healthy iterations."""
    check: str
    """Detail of its checks' output."""
    reached: bool
    """Whether the loop reached the onset."""
    healthy: int
    """Iterations before a pathology, or all."""
    climbed: int
    """Healthy iterations on a level above the first."""
    alarmed: int
    """Healthy iterations with a signal that intervenes."""
    rollbacks: int
    faults: tuple[str, ...]
    """Parts of the overseer that failed."""

    @property
    def would_finish(self) -> bool:
        return self.plain["max iterations only"].completed

    @property
    def false_stop(self) -> bool:
        return self.would_finish and not self.completed


def compare(task: Task) -> Fared:
    """Run the agent under every rule."""
    kind = BY_NAME[task.kind]
    loop, seen = steered.run(kind, task.seed, task.response, task.settings)
    healthy = [one for one in seen if not one.step.sick][: _onset(seen)]
    detected, by = _detected(seen)
    return Fared(
        kind=task.kind,
        seed=task.seed,
        plain={name: plain_rules.run(kind, task.seed, rule) for name, rule in RULES.items()},
        completed=loop.state.outcome is Outcome.COMPLETED,
        ended_by=loop.state.ending.rule if loop.state.ending else "",
        iterations=loop.state.iteration,
        dollars=sum(one.step.dollars for one in seen),
        sick_dollars=sum(one.step.dollars for one in seen[_onset(seen) :]),
        hours_waited=sum(_waited(one) for one in seen),
        detected=detected,
        detected_by=by,
        alarms=tuple(rule for one in healthy for rule in one.alarms),
        check=loop.of.check,
        reached=any(one.step.sick for one in seen),
        healthy=len(healthy),
        climbed=sum(one.rung > EscalationLevel.PATCH for one in healthy),
        alarmed=sum(bool(one.alarms) for one in healthy),
        rollbacks=sum(one.record.failed is not None for one in seen),
        faults=tuple(dict.fromkeys(fault for one in seen for fault in one.record.oversight.faults)),
    )


def _onset(seen: Sequence[Seen]) -> int:
    """Index of the first faulty iteration; the number of iterations if there is none."""
    return next((place for place, one in enumerate(seen) if one.step.sick), len(seen))


def _detected(seen: Sequence[Seen]) -> tuple[int | None, tuple[str, ...]]:
    """Whether the loop reacted. A level reached before the onset does not count."""
    before = seen[: _onset(seen)]
    rung = before[-1].rung if before else EscalationLevel.PATCH
    for number, one in enumerate(seen[len(before) :], 1):
        if one.alarms or one.given_up or one.rung > rung:
            return number, one.alarms or (one.record.decision.rule if one.given_up else "rung",)
    return None, ()


def _waited(one: Seen) -> float:
    decision = one.record.decision
    if decision.rule != "breaker.open" or decision.until is None:
        return 0.0
    return max(0.0, (decision.until - decision.at).total_seconds() / 3600)
