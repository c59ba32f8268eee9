"""The agents that control is measured against are what their names say, or the measurement says nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.modelled import plain_rules, sick_agents
from bench.modelled.comparing import Task, compare
from bench.modelled.kinds import BY_NAME, KINDS, Kind, agent, character
from bench.modelled.plain_rules import ITERATIONS, followed, never, same_tests, same_tree
from bench.modelled.steered import run
from bench.modelled.worlds import Step, Told, Tree
from helmsman.records.decision import Outcome

pytestmark = pytest.mark.feature("S5", "S8")

SEEDS = st.integers(0, 10_000)
NAMES = st.sampled_from(sorted(BY_NAME))
SICK = [kind.name for kind in KINDS if not kind.healthy]
STUCK = [kind.name for kind in KINDS if kind.name.startswith("stuck")]


def alone(kind: Kind, seed: int, calls: int = 20, *, rung: int = 0, response: float = 0.0) -> list[Step]:
    """What the agent does in its first calls, on a rung that stays."""
    habit, told = agent(kind, character(kind, seed, response))
    steps = [next(habit)]
    while len(steps) < calls:
        told = replace(followed(told, steps[-1]), rung=rung, redirected=rung > 0)
        steps.append(habit.send(told))
    return steps


def at_fault(name: str, seed: int) -> list[Step]:
    return [step for step in alone(BY_NAME[name], seed) if step.sick]


def failing(step: Step) -> set[int]:
    return {test for test, _ in step.tree.failing}


@given(NAMES, SEEDS)
def test_the_same_seed_is_the_same_agent(name: str, seed: int) -> None:
    assert alone(BY_NAME[name], seed) == alone(BY_NAME[name], seed)


@given(st.sampled_from(STUCK), SEEDS)
def test_a_stuck_agent_fails_the_same_tests_for_ever(name: str, seed: int) -> None:
    assert len({frozenset(failing(step)) for step in at_fault(name, seed)}) == 1


@given(SEEDS)
def test_an_agent_that_tries_in_vain_makes_a_new_tree_each_time(seed: int) -> None:
    trees = [step.tree for step in at_fault("stuck, new trees", seed)]
    assert len(set(trees)) == len(trees) > 0


@given(SEEDS)
def test_an_oscillating_agent_comes_back_to_the_same_two_trees(seed: int) -> None:
    trees = [step.tree.identity for step in at_fault("oscillating, trees", seed)]
    assert len(set(trees)) == 2
    assert all(before != after for before, after in pairwise(trees))


@given(SEEDS)
def test_an_agent_that_trades_tests_never_mends_them_all_and_never_repeats_a_tree(seed: int) -> None:
    steps = at_fault("oscillating, tests", seed)
    assert len({step.tree for step in steps}) == len(steps)
    assert {frozenset(failing(step)) for step in steps[::2]} != {frozenset(failing(step)) for step in steps[1::2]}
    assert all(len({frozenset(failing(step)) for step in half}) == 1 for half in (steps[::2], steps[1::2]))


@given(SEEDS)
def test_a_regressing_agent_never_mends_anything(seed: int) -> None:
    assert all(failing(before) <= failing(after) for before, after in pairwise(at_fault("regressing", seed)))


@given(SEEDS)
def test_a_gaming_agent_asks_each_time_and_is_never_done(seed: int) -> None:
    for name in ("gaming, red", "gaming, findings"):
        steps = at_fault(name, seed)
        assert all(step.asked and not step.done for step in steps)


@given(SEEDS)
def test_a_drifting_agent_does_next_to_nothing_that_was_asked(seed: int) -> None:
    assert all(step.related / step.deeds < 0.2 and step.changed for step in at_fault("drifting", seed))


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


@given(SEEDS)
def test_an_agent_with_many_small_tasks_is_green_but_for_single_slips(seed: int) -> None:
    reds = [step.tree.red for step in alone(BY_NAME["many small tasks"], seed)]
    assert not any(before and after for before, after in pairwise(reds))


@given(SEEDS)
def test_a_long_refactor_makes_it_worse_before_it_gets_better(seed: int) -> None:
    kind = BY_NAME["long refactor"]
    steps = alone(kind, seed, ITERATIONS)
    assert len(failing(steps[0])) >= character(kind, seed).failing
    assert any(step.done for step in steps)


@given(SEEDS)
def test_a_broken_build_lasts_two_or_three_iterations(seed: int) -> None:
    assert sum(bool(step.tree.broken) for step in alone(BY_NAME["broken build"], seed)) in {2, 3}


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


@given(st.sampled_from(SICK), SEEDS)
def test_max_iterations_only_lets_an_agent_at_fault_use_them_all(name: str, seed: int) -> None:
    fared = plain_rules.run(BY_NAME[name], seed, never)
    assert (fared.completed, fared.iterations) == (False, ITERATIONS)


def test_the_faults_are_all_in_the_table() -> None:
    assert len(SICK) == len({name for name in vars(sick_agents) if callable(getattr(sick_agents, name))} & FAULTS) == 12


FAULTS = frozenset(
    {
        "still",
        "in_vain",
        "varying",
        "repeating",
        "swinging",
        "trading",
        "regressing",
        "boasting",
        "gaming",
        "drifting",
        "burning",
        "denied",
    }
)


@settings(max_examples=5, deadline=None)
@given(NAMES, SEEDS)
def test_the_same_seed_fares_the_same_under_the_core(name: str, seed: int) -> None:
    task = Task(name, seed, 0.3, {})
    assert compare(task) == compare(task)


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


def test_a_rolled_back_agent_begins_at_the_tree_of_that_commit() -> None:
    for seed in range(50):
        loop, seen = run(BY_NAME["regressing"], seed)
        for before, after in pairwise(seen):
            if before.record.failed:
                assert after.record.execution.change.start == before.record.failed.back_to
                assert loop.trees[before.record.failed.back_to] != before.step.tree


def test_what_an_agent_is_told_holds_the_tree_that_it_left() -> None:
    step = Step(Tree(3, edition=7))
    assert followed(Told(Tree(3)), step).tree == step.tree
