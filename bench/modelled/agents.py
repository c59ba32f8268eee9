"""Behaviour of agents that do their work. Each is a generator: it yields the result of an iteration and receives the reaction.

Steering does not help them: on a higher escalation level they do less, and rolled-back work has to be repeated.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from bench.modelled.worlds import Character, Step, Told, Tree
from helmsman.records.agent import AgentOutcome

Habit = Generator[Step, Told, Told]
Begin = Callable[[Character, Told], Habit]

STEERED = 0.85
"""Work of an honest agent on a level, as a share of that on the level below."""
ASKS = 0.9
"""Probability that it claims completion once it sees everything pass."""


def step(me: Character, told: Told, tree: Tree, **facts: Any) -> Step:
    """An iteration that ends with this tree, with random costs, times and sizes."""
    dice = me.dice(told)
    moved = tree != told.tree
    deeds = dice.randint(4, 20)
    usual: dict[str, Any] = {
        "dollars": me.dollars * dice.lognormvariate(0, 0.35),
        "seconds": me.seconds * dice.lognormvariate(0, 0.35),
        "tool_calls": dice.randint(5, 60),
        "changed": dice.randint(1, 8) if moved else 0,
        "insertions": int(dice.lognormvariate(3.5, 1)) + 1 if moved else 0,
        "deletions": int(dice.lognormvariate(2.5, 1)) if moved else 0,
        "place": told.number,
        "deeds": deeds,
        "related": sum(dice.random() < me.relevance for _ in range(deeds)),
        "outcome": AgentOutcome.MAX_TURNS if dice.random() < 0.05 else AgentOutcome.FINISHED,
    }
    return Step(tree, **{**usual, **facts})


def edited(told: Told, tree: Tree | None = None) -> Tree:
    """The tree with an edit that no test sees."""
    return replace(tree or told.tree, edition=told.number)


def advanced(me: Character, told: Told, share: float) -> Tree:
    """Advance by an amount of work, in shares of all tests: tests pass one by one as their work is done."""
    me.carry += share * me.tests
    tree = edited(told)
    for test in sorted((test for test, _ in tree.failing), key=me.turn):
        if me.carry < me.dear(test):
            return tree.further(test) if me.dice(told).random() < me.shows else tree
        me.carry -= me.dear(test)
        tree = tree.fixed([test])
    me.carry = 0.0
    return tree


def effort(me: Character, told: Told) -> float:
    """Work done in one iteration."""
    return me.pace * me.dice(told).uniform(0.4, 1.6) * STEERED**told.rung


def stride(me: Character, told: Told) -> Step:
    """One honest iteration: it works, and claims completion once everything passes."""
    if not told.tree.red:
        return step(me, told, edited(told) if told.wavering else told.tree, asked=True)
    tree = advanced(me, told, effort(me, told))
    return step(me, told, tree, asked=not tree.red and me.dice(told).random() < ASKS)


def steady(me: Character, told: Told, iterations: int | None = None) -> Habit:
    """It makes progress and claims completion at the end; without limit, or for a number of iterations."""
    while iterations is None or iterations > 0:
        told = yield stride(me, told)
        iterations = None if iterations is None else iterations - 1
    return told


def research_first(me: Character, told: Told) -> Habit:
    """The first iteration only reads, and writes notes at most."""
    writes = me.dice(told).random() < 0.5
    tree = edited(told) if writes else told.tree
    told = yield step(me, told, tree, folder="docs", changed=int(writes))
    return (yield from steady(me, told))


def many_small(me: Character, told: Told) -> Habit:
    """Item after item with passing checks except for a slip, and a claim after the last one."""
    dice = me.dice(told)
    items, writes_tests, slips = dice.randint(6, 26), dice.choice((0.0, 0.5, 1.0)), dice.choice((0.0, 0.1))
    while items > 0 or told.tree.red:
        dice = me.dice(told)
        if told.tree.red:
            told = yield step(me, told, edited(told, told.tree.fixed(range(told.tree.tests))))
            continue
        new = dice.randint(1, 4) if dice.random() < writes_tests else 0
        tree = edited(told, replace(told.tree, tests=told.tree.tests + new))
        slipped = dice.random() < slips
        items -= not slipped
        told = yield step(me, told, tree.with_failing([dice.randrange(tree.tests)]) if slipped else tree)
    return (yield from steady(me, told))


def noisy(me: Character, told: Told) -> Habit:
    """Two steps forward, one back; some of its tests are flaky."""
    at_start = me.dice(told)
    backs, flakes, size = at_start.uniform(0.15, 0.35), at_start.choice((0.0, 0.2, 0.5)), at_start.uniform(0.3, 1.0)
    while True:
        dice = me.dice(told)
        if told.tree.red and dice.random() < backs:
            fixed = sorted(set(range(told.tree.tests)) - {test for test, _ in told.tree.failing})
            lost = min(len(fixed), max(1, round(size * me.pace * me.tests)))
            done = step(me, told, edited(told, told.tree.with_failing(dice.sample(fixed, lost))))
        else:
            done = stride(me, told)
        flaky = tuple(dice.sample(range(me.tests), 1)) if dice.random() < flakes else ()
        flaky = flaky if done.tree != told.tree else ()  # an unchanged tree is not checked again
        twice = dice.random() < 0.15
        told = yield replace(done, flaky=() if twice else flaky, unlucky=flaky if twice else ())


def long_refactor(me: Character, told: Told) -> Habit:
    """It first takes things apart, in one or two iterations, and needs 4 to 8 failing ones to reassemble them."""
    dice = me.dice(told)
    share, pieces, red = dice.uniform(0.2, 0.7), dice.choice((1, 1, 1, 2)), dice.randint(4, 8)
    while True:
        for _ in range(pieces):
            broken = me.dice(told).sample(range(me.tests), max(1, round(share / pieces * me.tests)))
            told = yield step(me, told, edited(told, told.tree.with_failing(broken)))
        me.pace = len(told.tree.failing) / me.tests / red
        while not told.rolled_back:
            told = yield stride(me, told)
        share, pieces, me.carry = share / 2, 1, 0.0  # it restarts in smaller steps


def groping(me: Character, told: Told) -> Step:
    """An honest attempt without progress: a new tree each time, and partly different failures."""
    dice = me.dice(told)
    tree, failing = edited(told), [test for test, _ in told.tree.failing]
    passing = sorted(set(range(tree.tests)) - set(failing))
    if failing and passing and dice.random() < 0.25:
        tree = tree.fixed([dice.choice(failing)]).with_failing([dice.choice(passing)])
    elif failing and dice.random() < me.shows:
        tree = tree.further(min(failing, key=me.turn))
    return step(me, told, tree)


def plateau(me: Character, told: Told) -> Habit:
    """It makes progress, tries other things for 2 to 5 iterations, and then succeeds."""
    dice = me.dice(told)
    before, flat = dice.randint(0, 4), dice.randint(2, 5)
    told = yield from steady(me, told, before)
    for _ in range(flat if told.tree.red else 0):
        told = yield groping(me, told)
    return (yield from _broken_through(me, told))


def plateau_until_helped(me: Character, told: Told) -> Habit:
    """It succeeds by chance, and sooner if it is told to change its approach."""
    dice = me.dice(told)
    before, by_rung = dice.randint(0, 4), (dice.uniform(0.12, 0.3), dice.uniform(0.3, 0.6), dice.uniform(0.5, 0.8))
    told = yield from steady(me, told, before)
    while told.tree.red and me.dice(told).random() >= by_rung[min(told.rung, 2)]:
        told = yield groping(me, told)
    return (yield from _broken_through(me, told))


def _broken_through(me: Character, told: Told) -> Habit:
    if told.tree.red:
        left = len(told.tree.failing) / me.tests
        tree = advanced(me, told, left * me.dice(told).uniform(0.4, 1.2))
        told = yield step(me, told, tree, asked=not tree.red)
    return (yield from steady(me, told))


def waiting(me: Character, told: Told) -> Habit:
    """Usage limits interrupt some of its attempts."""
    often = me.dice(told).uniform(0.1, 0.35)
    while True:
        dice = me.dice(told)
        if dice.random() < often:
            cut = {"outcome": AgentOutcome.USAGE_LIMIT, "reset_minutes": dice.uniform(5, 60), "tool_calls": 0, "dollars": 0.01}
            told = yield step(me, told, told.tree, **cut)
        else:
            told = yield stride(me, told)


def broken_build(me: Character, told: Told) -> Habit:
    """For 2 or 3 iterations nothing can be imported, mostly for a different reason each time."""
    dice = me.dice(told)
    told = yield from steady(me, told, dice.randint(0, 3))
    whole, parts = told.tree, dice.randint(2, 3)
    for part in range(parts):
        moves = me.dice(told).random() < 0.8
        module = f"part_{part}" if moves or not told.tree.broken else told.tree.broken
        told = yield step(me, told, replace(edited(told), broken=module))
    tree = advanced(me, replace(told, tree=replace(told.tree, broken="")), effort(me, told) + me.pace * parts / 2)
    told = yield step(me, told, tree, asked=not tree.red and whole.red)
    return (yield from steady(me, told))
