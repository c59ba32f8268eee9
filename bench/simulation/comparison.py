"""Compare one agent under the core with the same agent under the baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.simulation import baselines, simulated_loop
from bench.simulation.baselines import RULES, BaselineResult
from bench.simulation.kinds import BY_NAME
from bench.simulation.simulated_loop import IterationResult
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
class Comparison:
    """Results of one agent under the core and the baselines."""

    kind: str
    seed: int
    baselines: Mapping[str, BaselineResult]
    completed: bool
    ended_by: str
    """Rule of the last decision."""
    iterations: int
    dollars: float
    dollars_after_onset: float
    """Cost from the onset on."""
    hours_waited: float
    """Hours that the circuit breaker waited."""
    iterations_to_detect: int | None
    """Iteration after the onset, from 1, in which the loop reacted; None if it never did."""
    detected_by: tuple[str, ...]
    alarms: tuple[str, ...]
    """Rules that intervened in healthy iterations."""
    check: str
    """Format of its checks' output."""
    reached_onset: bool
    """Whether the loop reached the onset."""
    healthy_iterations: int
    """Iterations before the fault, or all."""
    escalated_iterations: int
    """Healthy iterations on an escalation level above the first."""
    alarmed_iterations: int
    """Healthy iterations with a signal that intervenes."""
    rollbacks: int
    faults: tuple[str, ...]
    """Parts of the overseer that failed."""

    @property
    def would_finish(self) -> bool:
        return self.baselines["max iterations only"].completed

    @property
    def is_false_stop(self) -> bool:
        return self.would_finish and not self.completed


def compare(task: Task) -> Comparison:
    """Run the agent under the core and under every baseline."""
    kind = BY_NAME[task.kind]
    loop, results = simulated_loop.run(kind, task.seed, task.response, task.settings)
    healthy = [result for result in results if not result.step.is_faulty][: _onset_index(results)]
    iterations_to_detect, rules = _first_reaction(results)
    return Comparison(
        kind=task.kind,
        seed=task.seed,
        baselines={name: baselines.run(kind, task.seed, rule) for name, rule in RULES.items()},
        completed=loop.state.outcome is Outcome.COMPLETED,
        ended_by=loop.state.ending.rule if loop.state.ending else "",
        iterations=loop.state.iteration,
        dollars=sum(result.step.dollars for result in results),
        dollars_after_onset=sum(result.step.dollars for result in results[_onset_index(results) :]),
        hours_waited=sum(_hours_waited(result) for result in results),
        iterations_to_detect=iterations_to_detect,
        detected_by=rules,
        alarms=tuple(rule for result in healthy for rule in result.alarms),
        check=loop.profile.check,
        reached_onset=any(result.step.is_faulty for result in results),
        healthy_iterations=len(healthy),
        escalated_iterations=sum(result.level > EscalationLevel.PATCH for result in healthy),
        alarmed_iterations=sum(bool(result.alarms) for result in healthy),
        rollbacks=sum(result.record.failed is not None for result in results),
        faults=tuple(dict.fromkeys(fault for result in results for fault in result.record.oversight.faults)),
    )


def _onset_index(results: Sequence[IterationResult]) -> int:
    """Index of the first faulty iteration; the number of iterations if there is none."""
    return next((index for index, result in enumerate(results) if result.step.is_faulty), len(results))


def _first_reaction(results: Sequence[IterationResult]) -> tuple[int | None, tuple[str, ...]]:
    """Iteration after the onset in which the loop reacted, and the rules. A level reached before the onset does not count."""
    before = results[: _onset_index(results)]
    level = before[-1].level if before else EscalationLevel.PATCH
    for iteration, result in enumerate(results[len(before) :], 1):
        if result.alarms or result.has_given_up or result.level > level:
            return iteration, result.alarms or (result.record.decision.rule if result.has_given_up else "escalation",)
    return None, ()


def _hours_waited(result: IterationResult) -> float:
    decision = result.record.decision
    if decision.rule != "breaker.open" or decision.until is None:
        return 0.0
    return max(0.0, (decision.until - decision.at).total_seconds() / 3600)
