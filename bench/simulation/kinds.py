"""Kinds of agents, with the ranges of their properties."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from bench.simulation import faulty_agents, healthy_agents
from bench.simulation.faulty_agents import FaultyStep, with_fault
from bench.simulation.healthy_agents import Behaviour, StartBehaviour
from bench.simulation.model import AgentProfile, Feedback

ONSETS = (0, 5)
FAULTY_PACE = (0.03, 0.08)
CHECK_FORMATS = (("pytest", "typed", "listing", "opaque"), (65, 20, 10, 5))
"""Formats of checks' output with their frequencies: most count and name failures, some list them, a few print one line."""
PLATEAU_PACE = (0.05, 0.15)
LOW_RELEVANCE = 0.05
"""Share of agents whose actions rarely use the words of the task."""


@dataclass(frozen=True)
class Kind:
    """One kind of agent. Bounds are inclusive; numbers of tests are evenly distributed by their logarithm."""

    name: str
    start: StartBehaviour
    healthy: bool
    tests: tuple[int, int] = (3, 200)
    pace: tuple[float, float] = (0.1, 0.3)
    failing: tuple[float, float] = (0.3, 1.0)
    """Share of the tests that fail at the start."""
    target: str = ""
    """The detection target that applies to it."""


def _faulty(name: str, make_fault: FaultyStep, *, failing: tuple[float, float] = (0.3, 1.0), target: str = "") -> Kind:
    return Kind(name, with_fault(make_fault), healthy=False, pace=FAULTY_PACE, failing=failing, target=target)


KINDS: tuple[Kind, ...] = (
    Kind("steady", healthy_agents.steady, healthy=True),
    Kind("slow, fine tests", healthy_agents.steady, healthy=True, tests=(25, 200), pace=(0.02, 0.04), failing=(0.2, 0.8)),
    Kind("slow, coarse tests", healthy_agents.steady, healthy=True, tests=(3, 24), pace=(0.02, 0.04), failing=(0.2, 0.8)),
    Kind("many small tasks", healthy_agents.many_small, healthy=True, failing=(0.0, 0.0)),
    Kind("noisy and flaky", healthy_agents.noisy, healthy=True),
    Kind("long refactor", healthy_agents.long_refactor, healthy=True, tests=(8, 200), failing=(0.05, 0.3)),
    Kind("research first", healthy_agents.research_first, healthy=True),
    Kind("plateau of 2 to 5", healthy_agents.plateau, healthy=True, pace=PLATEAU_PACE),
    Kind("plateau until helped", healthy_agents.plateau_until_helped, healthy=True, pace=PLATEAU_PACE),
    Kind("waiting for limits", healthy_agents.usage_limited, healthy=True),
    Kind("broken build", healthy_agents.broken_build, healthy=True),
    _faulty("stuck, no change", faulty_agents.no_change, target="stuck"),
    _faulty("stuck, new trees", faulty_agents.ineffective_edits, target="stuck"),
    _faulty("stuck, words vary", faulty_agents.varying_messages),
    _faulty("stuck, one edit", faulty_agents.repeated_edit, target="stuck"),
    _faulty("oscillating, trees", faulty_agents.oscillating_trees, target="oscillating"),
    _faulty("oscillating, tests", faulty_agents.oscillating_tests, failing=(0.3, 0.8), target="oscillating"),
    _faulty("regressing", faulty_agents.regressing, failing=(0.2, 0.6)),
    _faulty("gaming, red", faulty_agents.false_claims),
    _faulty("gaming, findings", faulty_agents.weakened_tests),
    _faulty("drifting", faulty_agents.off_task),
    _faulty("burning", faulty_agents.expensive_reads),
    _faulty("denied", faulty_agents.permission_denied),
)
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}


def make_profile(kind: Kind, seed: int, response: float = 0.0) -> AgentProfile:
    """Draw the profile of an agent of this kind. The same seed gives the same profile."""
    seed_text = f"{kind.name}/{seed}"
    rng = Random(seed_text)
    tests = round(math.exp(rng.uniform(math.log(kind.tests[0]), math.log(kind.tests[1]))))
    share = rng.uniform(*kind.failing)
    return AgentProfile(
        seed=seed_text,
        tests=tests,
        failing=min(tests, max(1, round(share * tests))) if share else 0,
        pace=rng.uniform(*kind.pace),
        partial_progress=rng.uniform(0.3, 1.0),
        ordered=rng.random() < 0.5,
        dollars=rng.uniform(0.15, 1.2),
        seconds=rng.uniform(60, 600),
        relevance=rng.uniform(0.1, 0.35) if rng.random() < LOW_RELEVANCE else rng.uniform(0.45, 1.0),
        check=rng.choices(*CHECK_FORMATS)[0],
        onset=0 if kind.healthy else rng.randint(*ONSETS),
        response=response,
    )


def start_agent(kind: Kind, profile: AgentProfile) -> tuple[Behaviour, Feedback]:
    """An agent before its first iteration: the generator, not yet started, and its input."""
    feedback = Feedback(profile.first_tree())
    return kind.start(profile, feedback), feedback
