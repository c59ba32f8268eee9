"""Kinds of agents, and the ranges of their traits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from bench.modelled import agents, sick_agents
from bench.modelled.agents import Begin, Habit
from bench.modelled.sick_agents import sick
from bench.modelled.worlds import Character, Told

ONSETS = (0, 5)
SICK_PACE = (0.03, 0.08)
CHECKS = (("pytest", "typed", "listing", "opaque"), (65, 20, 10, 5))
"""Frequencies: most checks count and name failures, some only list them, and a few print one line."""
UPHILL = (0.05, 0.15)
WEAK_WORDS = 0.05
"""Share of honest agents that use other words than the task."""


@dataclass(frozen=True)
class Kind:
    """One kind of agent. Bounds are inclusive; numbers of tests are evenly distributed by their logarithm."""

    name: str
    begin: Begin
    healthy: bool
    tests: tuple[int, int] = (3, 200)
    pace: tuple[float, float] = (0.1, 0.3)
    failing: tuple[float, float] = (0.3, 1.0)
    """Share of the tests that fail at the start."""
    aim: str = ""
    """The detection target that applies to it."""


KINDS: tuple[Kind, ...] = (
    Kind("steady", agents.steady, healthy=True),
    Kind("slow, fine tests", agents.steady, healthy=True, tests=(25, 200), pace=(0.02, 0.04), failing=(0.2, 0.8)),
    Kind("slow, coarse tests", agents.steady, healthy=True, tests=(3, 24), pace=(0.02, 0.04), failing=(0.2, 0.8)),
    Kind("many small tasks", agents.many_small, healthy=True, failing=(0.0, 0.0)),
    Kind("noisy and flaky", agents.noisy, healthy=True),
    Kind("long refactor", agents.long_refactor, healthy=True, tests=(8, 200), failing=(0.05, 0.3)),
    Kind("research first", agents.research_first, healthy=True),
    Kind("plateau of 2 to 5", agents.plateau, healthy=True, pace=UPHILL),
    Kind("plateau until helped", agents.plateau_until_helped, healthy=True, pace=UPHILL),
    Kind("waiting for limits", agents.waiting, healthy=True),
    Kind("broken build", agents.broken_build, healthy=True),
    Kind("stuck, no change", sick(sick_agents.still), healthy=False, pace=SICK_PACE, aim="stuck"),
    Kind("stuck, new trees", sick(sick_agents.in_vain), healthy=False, pace=SICK_PACE, aim="stuck"),
    Kind("stuck, words vary", sick(sick_agents.varying), healthy=False, pace=SICK_PACE),
    Kind("stuck, one edit", sick(sick_agents.repeating), healthy=False, pace=SICK_PACE, aim="stuck"),
    Kind("oscillating, trees", sick(sick_agents.swinging), healthy=False, pace=SICK_PACE, aim="oscillating"),
    Kind("oscillating, tests", sick(sick_agents.trading), healthy=False, pace=SICK_PACE, failing=(0.3, 0.8), aim="oscillating"),
    Kind("regressing", sick(sick_agents.regressing), healthy=False, pace=SICK_PACE, failing=(0.2, 0.6)),
    Kind("gaming, red", sick(sick_agents.boasting), healthy=False, pace=SICK_PACE),
    Kind("gaming, findings", sick(sick_agents.gaming), healthy=False, pace=SICK_PACE),
    Kind("drifting", sick(sick_agents.drifting), healthy=False, pace=SICK_PACE),
    Kind("burning", sick(sick_agents.burning), healthy=False, pace=SICK_PACE),
    Kind("denied", sick(sick_agents.denied), healthy=False, pace=SICK_PACE),
)
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}


def character(kind: Kind, seed: int, response: float = 0.0) -> Character:
    """Create an agent of this kind, deterministic for a seed."""
    name = f"{kind.name}/{seed}"
    dice = Random(name)
    tests = round(math.exp(dice.uniform(math.log(kind.tests[0]), math.log(kind.tests[1]))))
    share = dice.uniform(*kind.failing)
    return Character(
        seed=name,
        tests=tests,
        failing=min(tests, max(1, round(share * tests))) if share else 0,
        pace=dice.uniform(*kind.pace),
        shows=dice.uniform(0.3, 1.0),
        ordered=dice.random() < 0.5,
        dollars=dice.uniform(0.15, 1.2),
        seconds=dice.uniform(60, 600),
        relevance=dice.uniform(0.1, 0.35) if dice.random() < WEAK_WORDS else dice.uniform(0.45, 1.0),
        check=dice.choices(*CHECKS)[0],
        onset=0 if kind.healthy else dice.randint(*ONSETS),
        response=response,
    )


def agent(kind: Kind, of: Character) -> tuple[Habit, Told]:
    """An agent before its first iteration: the generator, not yet started, and its input."""
    told = Told(of.start())
    return kind.begin(of, told), told
