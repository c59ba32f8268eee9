"""The agents that control is measured against are what their names say, or the measurement says nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.modelled.kinds import BY_NAME, KINDS, Kind, agent, character
from bench.modelled.plain_rules import ITERATIONS, followed, never, same_tests, same_tree
from bench.modelled.steered import run
from bench.modelled.worlds import Step, Tree
from helmsman.records.decision import Outcome

pytestmark = pytest.mark.feature("S5", "S8")

SEEDS = st.integers(0, 10_000)
SICK = [kind.name for kind in KINDS if not kind.healthy]


def alone(kind: Kind, seed: int, calls: int = 20, *, rung: int = 0, response: float = 0.0) -> list[Step]:
    """What the agent does in its first calls, on a rung that stays."""
    habit, told = agent(kind, character(kind, seed, response))
    steps = [next(habit)]
    while len(steps) < calls:
        told = replace(followed(told, steps[-1]), rung=rung, redirected=rung > 0)
        steps.append(habit.send(told))
    return steps


def failing(step: Step) -> set[int]:
    return {test for test, _ in step.tree.failing}


@given(st.sampled_from(SICK), SEEDS)
def test_an_agent_at_fault_never_finishes_by_itself(name: str, seed: int) -> None:
    assert not any(step.done for step in alone(BY_NAME[name], seed, ITERATIONS))


@given(st.sampled_from(SICK), SEEDS)
def test_only_redirecting_cures(name: str, seed: int) -> None:
    kind = BY_NAME[name]
    assert alone(kind, seed, response=1.0) == alone(kind, seed)
    cured = alone(kind, seed, rung=1, response=1.0)
    assert not any(step.sick for step in cured[7:])


@given(SEEDS)
def test_a_steady_agent_only_ever_mends_and_ends_by_asking(seed: int) -> None:
    steps = alone(BY_NAME["steady"], seed, ITERATIONS)
    assert all(failing(after) <= failing(before) for before, after in pairwise(steps))
    assert steps[-1].done


@pytest.mark.parametrize(
    ("rule", "steps", "stops"),
    [
        (never, [Step(Tree(3))] * 50, False),
        (same_tree, [Step(Tree(3))] * 2, False),
        (same_tree, [Step(Tree(3))] * 3, True),
        (same_tree, [Step(Tree(3)), Step(Tree(3), changed=1), Step(Tree(3))], False),
        (same_tests, [Step(Tree(3), changed=1)] * 3, False),
        (same_tests, [Step(Tree(3), changed=1)] * 4, True),
        (same_tests, [*[Step(Tree(3), changed=1)] * 3, Step(Tree(4))], False),
    ],
)
def test_plain_rules_stop_where_they_should(rule: Callable[[Sequence[Step]], bool], steps: list[Step], stops: bool) -> None:
    assert rule(steps) is stops


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_a_steady_agent_completes_under_the_core(seed: int) -> None:
    loop, seen = run(BY_NAME["steady"], seed)
    assert loop.state.outcome is Outcome.COMPLETED
    assert seen[-1].step.done


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(SICK), SEEDS)
def test_an_agent_at_fault_never_completes_under_the_core(name: str, seed: int) -> None:
    loop, _ = run(BY_NAME[name], seed)
    assert loop.state.outcome is not Outcome.COMPLETED
