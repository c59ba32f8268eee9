"""Rules that commonly stop loops. They see the checks' results, and trust no more than Helmsman does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.modelled.kinds import Kind, agent, character
from bench.modelled.worlds import Step, Told

ITERATIONS = 30
"""Default of `limits.iterations`."""
PATIENCE = 3

Rule = Callable[[Sequence[Step]], bool]
"""Whether to stop after these iterations; the newest is last."""


@dataclass(frozen=True)
class Plain:
    """Results of an agent under one rule."""

    completed: bool
    iterations: int
    """Counted iterations; an attempt interrupted by a usage limit does not count."""
    dollars: float
    sick_dollars: float
    """Iterations from the onset of a pathology on."""


def never(_steps: Sequence[Step]) -> bool:
    """Only the number of iterations ends the loop."""
    return False


def same_tree(steps: Sequence[Step]) -> bool:
    """The last 3 iterations changed no file."""
    return len(steps) >= PATIENCE and all(step.changed == 0 for step in steps[-PATIENCE:])


def same_tests(steps: Sequence[Step]) -> bool:
    """As many tests pass as 3 iterations before."""
    window = [step.tree.passing for step in steps[-PATIENCE - 1 :]]
    return len(window) > PATIENCE and len(set(window)) == 1


RULES: Mapping[str, Rule] = {
    "max iterations only": never,
    "3 without a change": same_tree,
    "3 without another test": same_tests,
}


def run(kind: Kind, seed: int, rule: Rule) -> Plain:
    """Run a loop with this agent until it is done, the rule stops it or the iterations are used up."""
    habit, told = agent(kind, character(kind, seed))
    step, steps, dollars, sick = next(habit), list[Step](), 0.0, 0.0
    while True:
        dollars, sick = dollars + step.dollars, sick + step.dollars * step.sick
        steps.extend([step] if step.counts else [])
        if step.done or (step.counts and (rule(steps) or len(steps) >= ITERATIONS)):
            return Plain(step.done, len(steps), dollars, sick)
        told = followed(told, step)
        step = habit.send(told)


def followed(told: Told, step: Step) -> Told:
    """Input of an agent without steering."""
    wavering = bool(step.unlucky) or (told.wavering and step.tree == told.tree)
    return replace(told, tree=step.tree, number=told.number + 1, wavering=wavering)
