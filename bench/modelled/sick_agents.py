"""Faulty agents: healthy up to the onset, then at fault until a redirection cures them, if it ever does."""

from collections.abc import Callable
from dataclasses import replace

from bench.modelled.agents import Begin, Habit, edited, steady, step, stride
from bench.modelled.worlds import Character, Step, Told, Tree

Fault = Callable[[Character, Told, Tree], Step]
"""Function that makes one faulty iteration; the tree is that of the onset."""

CURED_PACE = 0.2


def sick(fault: Fault) -> Begin:
    """Behaviour of an agent with this fault."""

    def begin(me: Character, told: Told) -> Habit:
        told = yield from _healthy(me, told)
        onset, first = told.tree, told.number
        while told.number == first or not _cured(me, told):
            told = yield replace(fault(me, told, onset), sick=True)
        me.pace = CURED_PACE
        honest = replace(told.tree, cheats=False)
        return (yield from steady(me, replace(told, tree=honest)))

    return begin


def _healthy(me: Character, told: Told) -> Habit:
    """It makes progress up to the onset, but never so much that everything passes."""
    for _ in range(me.onset):
        done = stride(me, told)
        if not done.tree.red:
            break
        told = yield done
    return told


def _cured(me: Character, told: Told) -> bool:
    return told.redirected and me.dice(told).random() < me.response


def still(me: Character, told: Told, _onset: Tree) -> Step:
    """It only reads."""
    return step(me, told, told.tree)


def in_vain(me: Character, told: Told, _onset: Tree) -> Step:
    """A new tree each time, without effect."""
    return step(me, told, edited(told))


def varying(me: Character, told: Told, onset: Tree) -> Step:
    """As `in_vain`, but one failing test has another message each time, from the same few words."""
    dice, tree = me.dice(told), edited(told)
    test = dice.choice([name for name, _ in onset.failing])
    words = tuple((name, dice.randrange(5) if name == test else far) for name, far in tree.failing)
    return step(me, told, replace(tree, failing=words))


def repeating(me: Character, told: Told, _onset: Tree) -> Step:
    """It repeats an edit to a file: mostly it exists already, or is reverted."""
    if me.dice(told).random() < 0.5:
        return step(me, told, told.tree, reverted=2)
    return step(me, told, edited(told), changed=1, insertions=4, deletions=4, place=0)


def swinging(me: Character, told: Told, onset: Tree) -> Step:
    """A, B, A, B: it reverts its previous edit exactly."""
    other = replace(onset, edition=onset.edition + 1_000)
    return step(me, told, onset if told.tree == other else other, changed=2, insertions=9, deletions=9, place=0)


def trading(me: Character, told: Told, onset: Tree) -> Step:
    """It alternately fixes one test and breaks another, with a new tree each time."""
    failing = sorted(test for test, _ in onset.failing)
    passing = sorted(set(range(onset.tests)) - set(failing))
    fixed = failing[: max(1, len(failing) // 4)]
    broken = passing[: max(1, len(passing) // 4)] if passing else []
    swapped = onset.fixed(fixed).with_failing(broken)
    at_onset = {test for test, _ in told.tree.failing} == set(failing)
    return step(me, told, edited(told, swapped if at_onset else onset))


def regressing(me: Character, told: Told, _onset: Tree) -> Step:
    """Each iteration breaks something that passed."""
    dice, failing = me.dice(told), {test for test, _ in told.tree.failing}
    passing = sorted(set(range(told.tree.tests)) - failing)
    lost = min(len(passing), dice.randint(1, max(1, told.tree.tests // 10)))
    return step(me, told, edited(told, told.tree.with_failing(dice.sample(passing, lost))))


def boasting(me: Character, told: Told, _onset: Tree) -> Step:
    """It claims completion with failing checks every time, sometimes after an edit."""
    return step(me, told, edited(told) if me.dice(told).random() < 0.5 else told.tree, asked=True)


def gaming(me: Character, told: Told, _onset: Tree) -> Step:
    """It weakens the tests until they pass, and claims completion."""
    tree = replace(told.tree, cheats=True)
    return step(me, told, edited(told, tree) if me.dice(told).random() < 0.5 else tree, asked=True)


def drifting(me: Character, told: Told, _onset: Tree) -> Step:
    """It builds something that nobody requested."""
    deeds = me.dice(told).randint(5, 20)
    return step(me, told, edited(told), folder="tools/telemetry", deeds=deeds, related=me.dice(told).randint(0, deeds // 6))


def burning(me: Character, told: Told, _onset: Tree) -> Step:
    """It only reads, at ten times the price."""
    return step(me, told, told.tree, dollars=10 * me.dollars * me.dice(told).lognormvariate(0, 0.35), tool_calls=200)


def denied(me: Character, told: Told, _onset: Tree) -> Step:
    """It lacks a permission that it needs."""
    tree = edited(told) if me.dice(told).random() < 0.3 else told.tree
    return step(me, told, tree, denials=me.dice(told).randint(1, 5))
