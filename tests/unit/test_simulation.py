"""The simulated agents behave as their names say; otherwise the measurements of bench/simulate.py mean nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.simulation.baselines import ITERATIONS, feedback_after, never_stop, stop_without_change, stop_without_test_change
from bench.simulation.kinds import BY_NAME, KINDS, Kind, make_profile, start_agent
from bench.simulation.model import Step, Tree
from bench.simulation.simulated_loop import run
from helmsman.records.decision import Outcome

pytestmark = pytest.mark.feature("S5", "S8")

SEEDS = st.integers(0, 10_000)
FAULTY = [kind.name for kind in KINDS if not kind.healthy]


def steps_of(kind: Kind, seed: int, calls: int = 20, *, level: int = 0, response: float = 0.0) -> list[Step]:
    """Steps of an agent in its first calls, on a constant escalation level."""
    behaviour, feedback = start_agent(kind, make_profile(kind, seed, response))
    steps = [next(behaviour)]
    while len(steps) < calls:
        feedback = replace(feedback_after(feedback, steps[-1]), level=level, redirected=level > 0)
        steps.append(behaviour.send(feedback))
    return steps


def failing(step: Step) -> set[int]:
    return {test for test, _ in step.tree.failing}


@given(st.sampled_from(FAULTY), SEEDS)
def test_a_faulty_agent_never_finishes_by_itself(name: str, seed: int) -> None:
    assert not any(step.is_done for step in steps_of(BY_NAME[name], seed, ITERATIONS))


@given(st.sampled_from(FAULTY), SEEDS)
def test_only_a_redirection_cures_a_faulty_agent(name: str, seed: int) -> None:
    kind = BY_NAME[name]
    assert steps_of(kind, seed, response=1.0) == steps_of(kind, seed)
    cured = steps_of(kind, seed, level=1, response=1.0)
    assert not any(step.is_faulty for step in cured[7:])


@given(SEEDS)
def test_a_steady_agent_fixes_tests_until_it_claims_completion(seed: int) -> None:
    steps = steps_of(BY_NAME["steady"], seed, ITERATIONS)
    assert all(failing(after) <= failing(before) for before, after in pairwise(steps))
    assert steps[-1].is_done


@pytest.mark.parametrize(
    ("rule", "steps", "stops"),
    [
        (never_stop, [Step(Tree(3))] * 50, False),
        (stop_without_change, [Step(Tree(3))] * 2, False),
        (stop_without_change, [Step(Tree(3))] * 3, True),
        (stop_without_change, [Step(Tree(3)), Step(Tree(3), changed=1), Step(Tree(3))], False),
        (stop_without_test_change, [Step(Tree(3), changed=1)] * 3, False),
        (stop_without_test_change, [Step(Tree(3), changed=1)] * 4, True),
        (stop_without_test_change, [*[Step(Tree(3), changed=1)] * 3, Step(Tree(4))], False),
    ],
)
def test_a_baseline_stops_when_its_condition_holds(
    rule: Callable[[Sequence[Step]], bool], steps: list[Step], stops: bool
) -> None:
    assert rule(steps) is stops


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_a_steady_agent_completes_under_the_core(seed: int) -> None:
    loop, results = run(BY_NAME["steady"], seed)
    assert loop.state.outcome is Outcome.COMPLETED
    assert results[-1].step.is_done


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(FAULTY), SEEDS)
def test_a_faulty_agent_never_completes_under_the_core(name: str, seed: int) -> None:
    loop, _ = run(BY_NAME[name], seed)
    assert loop.state.outcome is not Outcome.COMPLETED
