"""Repeated trees, failures and edits, and how all detectors read a history."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import groupby, islice

from helmsman.config.loop import Sensitivity
from helmsman.oversee.detector import Detection
from helmsman.oversee.progress import has_worked, is_comparable, made_progress, place
from helmsman.plain import clean
from helmsman.records.agent import FailureClass
from helmsman.records.control import MOST_ERRORS, MOST_NAMES, IterationSummary
from helmsman.verify.findings import join_some

NAME_LENGTH = 200
ENVIRONMENT_FAILURES = frozenset({FailureClass.TIMEOUT, FailureClass.NETWORK, FailureClass.RESOURCES})


def last_iterations(
    history: Sequence[IterationSummary], count: int, kind: Callable[[IterationSummary], bool] = has_worked
) -> list[IterationSummary]:
    """The last `count` iterations of a kind, newest last; by default those in which the agent worked."""
    return list(islice(filter(kind, reversed(history)), count))[::-1]


def recent_window(
    history: Sequence[IterationSummary], count: int, kind: Callable[[IterationSummary], bool] = has_worked
) -> list[IterationSummary]:
    """The last `count` iterations of a kind, newest last; empty if there are fewer."""
    window = last_iterations(history, count, kind)
    return window if len(window) == count else []


def is_checked(summary: IterationSummary) -> bool:
    """Whether the result of an agent's work is known."""
    return summary.checked and has_worked(summary)


def fewer_fail(before: IterationSummary, after: IterationSummary) -> bool:
    """Whether fewer tests fail and none vanished: a refactoring on its way back, though below its record."""
    total = before.passing_tests + before.failing_tests
    return after.failing_tests < before.failing_tests and after.passing_tests + after.failing_tests >= total


def without_progress(window: Sequence[IterationSummary]) -> bool:
    """Whether none of these iterations made progress, and as many tests fail after the last as after the first."""
    return not any(map(made_progress, window)) and not fewer_fail(window[0], window[-1])


def failures(summary: IterationSummary) -> frozenset[str]:
    """Failures by identity: names of tests, or without counted tests class and place of the errors."""
    if summary.failing_tests:
        return frozenset(summary.failing)
    return frozenset((*summary.failing, *(f"{error.kind} at {place(error)}" for error in summary.errors)))


def lists_all_failures(summary: IterationSummary) -> bool:
    """Whether all failures are listed; a full list does not prove that another failure is gone."""
    return len(summary.failing) < MOST_NAMES and len(summary.errors) < MOST_ERRORS and summary.failing_tests <= MOST_NAMES


def join_names(names: Sequence[str]) -> str:
    """Join untrusted names for a message, short and on one line."""
    return join_some([clean(name[:NAME_LENGTH]) for name in names])


CYCLE_WINDOW = 16  # iterations searched for cycles: two rounds of the longest one, with two iterations per step
TREE_PERIODS = (2, 3)
CYCLE_PERIODS = (2, 3, 4)
TRADE = 3  # iterations that show an exchange of failures: two make one step, the third reverts it


def recurring_trees(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """The same trees in a cycle, A/B/A/B or A/B/C/A/B/C by hash (S5)."""
    window = [summary for summary in history[-CYCLE_WINDOW:] if summary.tree]
    period = _period([summary.tree for summary in window], TREE_PERIODS)
    if not period or window[-1].tree == window[-2].tree:
        return  # the cycle is over; other detectors handle an unchanged tree
    trees = list(dict.fromkeys(summary.tree[:12] for summary in window[::-1]))[:period]
    message = f"{len(trees)} trees alternate and came back unchanged ({join_names(trees)}); the threshold is two rounds"
    yield Detection(message, len(trees), 1)


def limit_cycle(history: Sequence[IterationSummary], _sensitivity: Sensitivity) -> Iterator[Detection]:
    """The same failures in a cycle, two full rounds of 2 to 4 steps or one exchange and back, whatever the trees (S14).

    Another attempt would repeat the cycle.
    """
    window = last_iterations(history, CYCLE_WINDOW, is_comparable)  # including the base tree: a state without work
    states = [_state(summary) for summary in window]
    exchanged, period = _failures_were_exchanged(window), _period(states, CYCLE_PERIODS)
    if not (exchanged or period) or states[-1] == states[-2]:
        return
    runs = [at for at, state in enumerate(states) if at == 0 or state != states[at - 1]]
    start = 1 - TRADE if exchanged else runs[-period]  # skip the first round: each of its states may have been new
    # indistinguishable red runs alternate with green ones: perhaps one test after another is written. They are distinguishable if
    # more is known than which check failed; timeouts and unreachable services say nothing about the code
    red = [summary for summary in window[start:] if not summary.green]
    in_code = (
        any(error.kind not in ENVIRONMENT_FAILURES for error in summary.errors) or summary.failing_tests for summary in red
    )
    is_unclear = len(red) < len(window[start:]) and not all(in_code)
    if is_unclear or any(map(made_progress, window[start:])):
        return
    names = sorted(frozenset[str]().union(*(failures(summary) for summary in window[-max(period, 2) :])))
    rounds = "for two rounds" if period else "and the first came back after one exchange"
    message = f"the same {period or 2} states of the checks alternate, {rounds}; failures in them: {join_names(names)}"
    yield Detection(message, period or 2, CYCLE_PERIODS[0])


def _period(states: Sequence[Hashable], periods: Sequence[int]) -> int:
    """Length of the shortest cycle that the last runs of equal states completed twice; 0 if there is none."""
    runs = [state for state, _ in groupby(states)]
    return next((p for p in periods if len(runs) >= 2 * p and runs[-p:] == runs[-2 * p : -p]), 0)


def _state(summary: IterationSummary) -> Hashable:
    """What fails. If not all failures are listed, their number is included: equal lists alone prove nothing."""
    return summary.green, failures(summary), 0 if lists_all_failures(summary) else summary.failing_tests


def _failures_were_exchanged(window: Sequence[IterationSummary]) -> bool:
    """Whether one failure was exchanged for another and back: the third state equals the first."""
    last = window[-TRADE:]
    if len(last) < TRADE or any(summary.green for summary in last):
        return False
    first, second, third = last
    new, gone = failures(second) - failures(first), failures(first) - failures(second)
    # whether a failure is certainly gone: a full list may have dropped its name for a new one
    fixed = bool(gone) if lists_all_failures(second) else second.failing_tests - first.failing_tests < len(new)
    return _state(first) == _state(third) and bool(new) and fixed
