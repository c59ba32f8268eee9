"""Baselines: simple rules that commonly stop loops. They see the checks' results, and trust no more than Helmsman does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.simulation.kinds import Kind, make_profile, start_agent
from bench.simulation.model import Feedback, Step

ITERATIONS = 30
"""Default of `limits.iterations`."""
PATIENCE = 3

Rule = Callable[[Sequence[Step]], bool]
"""Whether to stop after these iterations; the newest is last."""


@dataclass(frozen=True)
class BaselineResult:
    """Result of an agent under one rule."""

    completed: bool
    iterations: int
    """Counted iterations; an attempt interrupted by a usage limit does not count."""
    dollars: float
    dollars_after_onset: float
    """Cost of the iterations from the onset of the fault on."""


def never_stop(_steps: Sequence[Step]) -> bool:
    """Only the number of iterations ends the loop."""
    return False


def stop_without_change(steps: Sequence[Step]) -> bool:
    """The last 3 iterations changed no file."""
    return len(steps) >= PATIENCE and all(step.changed == 0 for step in steps[-PATIENCE:])


def stop_without_test_change(steps: Sequence[Step]) -> bool:
    """As many tests pass as 3 iterations before."""
    window = [step.tree.passing for step in steps[-PATIENCE - 1 :]]
    return len(window) > PATIENCE and len(set(window)) == 1


RULES: Mapping[str, Rule] = {
    "max iterations only": never_stop,
    "3 without a change": stop_without_change,
    "3 without another test": stop_without_test_change,
}


def run(kind: Kind, seed: int, rule: Rule) -> BaselineResult:
    """Run a loop with this agent until it is done, the rule stops it or the iterations are used up."""
    behaviour, feedback = start_agent(kind, make_profile(kind, seed))
    step, steps, dollars, after_onset = next(behaviour), list[Step](), 0.0, 0.0
    while True:
        dollars, after_onset = dollars + step.dollars, after_onset + step.dollars * step.is_faulty
        steps.extend([step] if step.is_counted else [])
        if step.is_done or (step.is_counted and (rule(steps) or len(steps) >= ITERATIONS)):
            return BaselineResult(step.is_done, len(steps), dollars, after_onset)
        feedback = feedback_after(feedback, step)
        step = behaviour.send(feedback)


def feedback_after(feedback: Feedback, step: Step) -> Feedback:
    """Feedback to an agent without steering."""
    failed_by_chance = bool(step.chance_failures) or (feedback.failed_by_chance and step.tree == feedback.tree)
    return replace(feedback, tree=step.tree, call=feedback.call + 1, failed_by_chance=failed_by_chance)
