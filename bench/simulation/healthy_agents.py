"""Behaviour of healthy agents. Each is a generator: it yields the result of an iteration and receives the loop's feedback.

Steering does not help them: on a higher escalation level they do less, and rolled-back work has to be repeated.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from bench.simulation.model import AgentProfile, Feedback, Step, Tree
from helmsman.records.agent import AgentOutcome

Behaviour = Generator[Step, Feedback, Feedback]
StartBehaviour = Callable[[AgentProfile, Feedback], Behaviour]

LEVEL_FACTOR = 0.85
"""Work of a healthy agent on an escalation level, as a share of that on the level below."""
CLAIM_PROBABILITY = 0.9
"""Probability that an agent claims completion once everything passes."""


def make_step(profile: AgentProfile, feedback: Feedback, tree: Tree, **facts: Any) -> Step:
    """An iteration that ends with this tree, with random costs, times and sizes."""
    rng = profile.rng(feedback)
    has_changed = tree != feedback.tree
    actions = rng.randint(4, 20)
    defaults: dict[str, Any] = {
        "dollars": profile.dollars * rng.lognormvariate(0, 0.35),
        "seconds": profile.seconds * rng.lognormvariate(0, 0.35),
        "tool_calls": rng.randint(5, 60),
        "changed": rng.randint(1, 8) if has_changed else 0,
        "insertions": int(rng.lognormvariate(3.5, 1)) + 1 if has_changed else 0,
        "deletions": int(rng.lognormvariate(2.5, 1)) if has_changed else 0,
        "file_id": feedback.call,
        "actions": actions,
        "related_actions": sum(rng.random() < profile.relevance for _ in range(actions)),
        "outcome": AgentOutcome.MAX_TURNS if rng.random() < 0.05 else AgentOutcome.FINISHED,
    }
    return Step(tree, **{**defaults, **facts})


def edit(feedback: Feedback, tree: Tree | None = None) -> Tree:
    """The tree with an edit that no test sees."""
    return replace(tree or feedback.tree, revision=feedback.call)


def do_work(profile: AgentProfile, feedback: Feedback, share: float) -> Tree:
    """Do an amount of work, as a share of all tests. Tests pass one by one as their work is done."""
    profile.carried_work += share * profile.tests
    tree = edit(feedback)
    for test in sorted((test for test, _ in tree.failing), key=profile.order_of):
        if profile.carried_work < profile.work_for(test):
            return tree.with_later_failure(test) if profile.rng(feedback).random() < profile.partial_progress else tree
        profile.carried_work -= profile.work_for(test)
        tree = tree.with_fixed([test])
    profile.carried_work = 0.0
    return tree


def iteration_work(profile: AgentProfile, feedback: Feedback) -> float:
    """Work done in one iteration."""
    return profile.pace * profile.rng(feedback).uniform(0.4, 1.6) * LEVEL_FACTOR**feedback.level


def work_step(profile: AgentProfile, feedback: Feedback) -> Step:
    """One healthy iteration: work, and a claim of completion once everything passes."""
    if not feedback.tree.is_red:
        return make_step(
            profile, feedback, edit(feedback) if feedback.failed_by_chance else feedback.tree, claims_completion=True
        )
    tree = do_work(profile, feedback, iteration_work(profile, feedback))
    return make_step(
        profile, feedback, tree, claims_completion=not tree.is_red and profile.rng(feedback).random() < CLAIM_PROBABILITY
    )


def steady(profile: AgentProfile, feedback: Feedback, iterations: int | None = None) -> Behaviour:
    """Make progress and claim completion at the end; without limit, or for a number of iterations."""
    while iterations is None or iterations > 0:
        feedback = yield work_step(profile, feedback)
        iterations = None if iterations is None else iterations - 1
    return feedback


def research_first(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Only read in the first iteration, or write notes."""
    writes = profile.rng(feedback).random() < 0.5
    tree = edit(feedback) if writes else feedback.tree
    feedback = yield make_step(profile, feedback, tree, folder="docs", changed=int(writes))
    return (yield from steady(profile, feedback))


def many_small(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Do item after item with passing checks except for a slip, and claim completion after the last one."""
    rng = profile.rng(feedback)
    items, writes_tests, slip_rate = rng.randint(6, 26), rng.choice((0.0, 0.5, 1.0)), rng.choice((0.0, 0.1))
    while items > 0 or feedback.tree.is_red:
        rng = profile.rng(feedback)
        if feedback.tree.is_red:
            feedback = yield make_step(profile, feedback, edit(feedback, feedback.tree.with_fixed(range(feedback.tree.tests))))
            continue
        new_tests = rng.randint(1, 4) if rng.random() < writes_tests else 0
        tree = edit(feedback, replace(feedback.tree, tests=feedback.tree.tests + new_tests))
        has_slipped = rng.random() < slip_rate
        items -= not has_slipped
        feedback = yield make_step(profile, feedback, tree.with_failing([rng.randrange(tree.tests)]) if has_slipped else tree)
    return (yield from steady(profile, feedback))


def noisy(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Two steps forward, one back; some of its tests are flaky."""
    rng = profile.rng(feedback)
    setback_rate, flake_rate, size = rng.uniform(0.15, 0.35), rng.choice((0.0, 0.2, 0.5)), rng.uniform(0.3, 1.0)
    while True:
        rng = profile.rng(feedback)
        if feedback.tree.is_red and rng.random() < setback_rate:
            fixed = sorted(set(range(feedback.tree.tests)) - {test for test, _ in feedback.tree.failing})
            lost = min(len(fixed), max(1, round(size * profile.pace * profile.tests)))
            done = make_step(profile, feedback, edit(feedback, feedback.tree.with_failing(rng.sample(fixed, lost))))
        else:
            done = work_step(profile, feedback)
        flaky = tuple(rng.sample(range(profile.tests), 1)) if rng.random() < flake_rate else ()
        flaky = flaky if done.tree != feedback.tree else ()  # an unchanged tree is not checked again
        twice = rng.random() < 0.15
        feedback = yield replace(done, flaky=() if twice else flaky, chance_failures=flaky if twice else ())


def long_refactor(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Break tests in one or two iterations, and need 4 to 8 failing ones to fix them."""
    rng = profile.rng(feedback)
    share, pieces, red_iterations = rng.uniform(0.2, 0.7), rng.choice((1, 1, 1, 2)), rng.randint(4, 8)
    while True:
        for _ in range(pieces):
            broken = profile.rng(feedback).sample(range(profile.tests), max(1, round(share / pieces * profile.tests)))
            feedback = yield make_step(profile, feedback, edit(feedback, feedback.tree.with_failing(broken)))
        profile.pace = len(feedback.tree.failing) / profile.tests / red_iterations
        while not feedback.rolled_back:
            feedback = yield work_step(profile, feedback)
        share, pieces, profile.carried_work = share / 2, 1, 0.0  # after a rollback, in smaller steps


def flat_step(profile: AgentProfile, feedback: Feedback) -> Step:
    """An honest attempt without progress: a new tree each time, and partly different failures."""
    rng = profile.rng(feedback)
    tree, failing = edit(feedback), [test for test, _ in feedback.tree.failing]
    passing = sorted(set(range(tree.tests)) - set(failing))
    if failing and passing and rng.random() < 0.25:
        tree = tree.with_fixed([rng.choice(failing)]).with_failing([rng.choice(passing)])
    elif failing and rng.random() < profile.partial_progress:
        tree = tree.with_later_failure(min(failing, key=profile.order_of))
    return make_step(profile, feedback, tree)


def plateau(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Make progress, try other things for 2 to 5 iterations, then succeed."""
    rng = profile.rng(feedback)
    first_iterations, flat_iterations = rng.randint(0, 4), rng.randint(2, 5)
    feedback = yield from steady(profile, feedback, first_iterations)
    for _ in range(flat_iterations if feedback.tree.is_red else 0):
        feedback = yield flat_step(profile, feedback)
    return (yield from _finish_plateau(profile, feedback))


def plateau_until_helped(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Succeed by chance, and sooner if told to change the approach."""
    rng = profile.rng(feedback)
    first_iterations, probabilities = rng.randint(0, 4), (rng.uniform(0.12, 0.3), rng.uniform(0.3, 0.6), rng.uniform(0.5, 0.8))
    feedback = yield from steady(profile, feedback, first_iterations)
    while feedback.tree.is_red and profile.rng(feedback).random() >= probabilities[min(feedback.level, 2)]:
        feedback = yield flat_step(profile, feedback)
    return (yield from _finish_plateau(profile, feedback))


def _finish_plateau(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    if feedback.tree.is_red:
        left = len(feedback.tree.failing) / profile.tests
        tree = do_work(profile, feedback, left * profile.rng(feedback).uniform(0.4, 1.2))
        feedback = yield make_step(profile, feedback, tree, claims_completion=not tree.is_red)
    return (yield from steady(profile, feedback))


def usage_limited(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """Usage limits interrupt some attempts."""
    limit_rate = profile.rng(feedback).uniform(0.1, 0.35)
    while True:
        rng = profile.rng(feedback)
        if rng.random() < limit_rate:
            limited = {"outcome": AgentOutcome.USAGE_LIMIT, "reset_minutes": rng.uniform(5, 60), "tool_calls": 0, "dollars": 0.01}
            feedback = yield make_step(profile, feedback, feedback.tree, **limited)
        else:
            feedback = yield work_step(profile, feedback)


def broken_build(profile: AgentProfile, feedback: Feedback) -> Behaviour:
    """For 2 or 3 iterations nothing can be imported, mostly for a different reason each time."""
    rng = profile.rng(feedback)
    feedback = yield from steady(profile, feedback, rng.randint(0, 3))
    tree_before, iterations = feedback.tree, rng.randint(2, 3)
    for number in range(iterations):
        has_new_reason = profile.rng(feedback).random() < 0.8
        module = f"part_{number}" if has_new_reason or not feedback.tree.broken_module else feedback.tree.broken_module
        feedback = yield make_step(profile, feedback, replace(edit(feedback), broken_module=module))
    tree = do_work(
        profile,
        replace(feedback, tree=replace(feedback.tree, broken_module="")),
        iteration_work(profile, feedback) + profile.pace * iterations / 2,
    )
    feedback = yield make_step(profile, feedback, tree, claims_completion=not tree.is_red and tree_before.is_red)
    return (yield from steady(profile, feedback))
