"""What comes back: trees, failures, edits. And what all detectors read of a history."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import groupby, islice

from helmsman.config.oversight import Sensitivity
from helmsman.oversee.detector import Found
from helmsman.oversee.progress import at_work, compared_with, made_progress, place
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.control import MOST_ERRORS, MOST_NAMES, IterationSummary
from helmsman.verify.findings import some

NAME_LENGTH = 200
OF_THE_WORLD = frozenset({FailureClass.TIMEOUT, FailureClass.NETWORK, FailureClass.RESOURCES})


def worked(
    history: Sequence[IterationSummary], count: int, kind: Callable[[IterationSummary], bool] = at_work
) -> list[IterationSummary]:
    """The last `count` iterations of a kind, newest last: by default those in which the agent got to work."""
    return list(islice(filter(kind, reversed(history)), count))[::-1]


def whole(
    history: Sequence[IterationSummary], count: int, kind: Callable[[IterationSummary], bool] = at_work
) -> list[IterationSummary]:
    """The same; none where there are fewer."""
    window = worked(history, count, kind)
    return window if len(window) == count else []


def checked(summary: IterationSummary) -> bool:
    """Whether what an agent's work came to is known."""
    return summary.checked and at_work(summary)


def fewer_fail(before: IterationSummary, after: IterationSummary) -> bool:
    """Whether fewer tests fail and none has vanished: a refactor on its way back, below no record yet."""
    total = before.passing_tests + before.failing_tests
    return after.failing_tests < before.failing_tests and after.passing_tests + after.failing_tests >= total


def in_vain(window: Sequence[IterationSummary]) -> bool:
    """Whether none of these iterations got on, and no fewer tests fail after the last than after the first."""
    return not any(map(made_progress, window)) and not fewer_fail(window[0], window[-1])


def failures(summary: IterationSummary) -> frozenset[str]:
    """Its failures by identity: tests by name, where there are none what the checks say and where."""
    if summary.failing_tests:
        return frozenset(summary.failing)
    return frozenset((*summary.failing, *(f"{error.kind} at {place(error)}" for error in summary.errors)))


def complete(summary: IterationSummary) -> bool:
    """Whether what it does not list did not fail: a full list does not prove that another one is gone."""
    return len(summary.failing) < MOST_NAMES and len(summary.errors) < MOST_ERRORS and summary.failing_tests <= MOST_NAMES


def named(names: Sequence[str]) -> str:
    """Foreign names for a message, short and on one line."""
    return some([clean(name[:NAME_LENGTH]) for name in names])


CYCLE_WINDOW = 16  # iterations that cycles are looked for in: two rounds of the longest one, each step held for two iterations
TREE_PERIODS = (2, 3)
CYCLE_PERIODS = (2, 3, 4)
TRADE = 3  # iterations that show a trade of failures: two are one step, the third takes it back


def recurring_trees(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Found]:
    """The same trees in a cycle, A/B/A/B or A/B/C/A/B/C by hash (S5)."""
    window = [summary for summary in history[-CYCLE_WINDOW:] if summary.tree]
    period = _period([summary.tree for summary in window], TREE_PERIODS)
    if not period or window[-1].tree == window[-2].tree:
        return  # it came round before; what holds still now is another matter
    trees = list(dict.fromkeys(summary.tree[:12] for summary in window[::-1]))[:period]
    message = f"the tree repeats: {len(trees)} in turn came back in full ({named(trees)}); two rounds trip this"
    yield Found(message, len(trees), 1)


def limit_cycle(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Found]:
    """The same failures in a cycle, two full rounds of 2 to 4 steps or one exchange and back, whatever the trees (S14).

    Another attempt would repeat the cycle.
    """
    window = worked(history, CYCLE_WINDOW, compared_with)  # also the tree that the loop began with: a state, but nobody's work
    states = [_state(summary) for summary in window]
    traded, period = _traded(window), _period(states, CYCLE_PERIODS)
    if not (traded or period) or states[-1] == states[-2]:
        return
    runs = [at for at, state in enumerate(states) if at == 0 or state != states[at - 1]]
    start = 1 - TRADE if traded else runs[-period]  # not the first time round: each state may have been news
    # red runs that cannot be told apart take turns with green ones: that may be one test written after another. They can where
    # more is known than which check failed; what took too long or was not reached says nothing of the code
    red = [summary for summary in window[start:] if not summary.green]
    of_code = (any(error.kind not in OF_THE_WORLD for error in one.errors) or one.failing_tests for one in red)
    unknown = len(red) < len(window[start:]) and not all(of_code)
    if unknown or any(map(made_progress, window[start:])):
        return
    names = sorted(frozenset[str]().union(*(failures(summary) for summary in window[-max(period, 2) :])))
    rounds = "two rounds by now" if period else "and the first came back after one turn"
    message = f"the same {period or 2} states of the checks come in turn, {rounds}; what fails in them: {named(names)}"
    yield Found(message, period or 2, CYCLE_PERIODS[0])


def _period(states: Sequence[Hashable], periods: Sequence[int]) -> int:
    """Steps of the shortest cycle that the last stretches of equal states went through twice, 0 where there is none."""
    runs = [state for state, _ in groupby(states)]
    return next((p for p in periods if len(runs) >= 2 * p and runs[-p:] == runs[-2 * p : -p]), 0)


def _state(summary: IterationSummary) -> Hashable:
    """What fails. Where not all of it is listed, how many tests do is part of it: equal lists alone prove nothing."""
    return summary.green, failures(summary), 0 if complete(summary) else summary.failing_tests


def _traded(window: Sequence[IterationSummary]) -> bool:
    """Whether one failure was fixed for another and back again: the third state is the first one."""
    last = window[-TRADE:]
    if len(last) < TRADE or any(summary.green for summary in last):
        return False
    first, second, third = last
    new, gone = failures(second) - failures(first), failures(first) - failures(second)
    # whether some failure is gone for certain: a full list may have dropped its name for one of the new ones
    fixed = bool(gone) if complete(second) else second.failing_tests - first.failing_tests < len(new)
    return _state(first) == _state(third) and bool(new) and fixed
