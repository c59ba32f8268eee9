"""What comes back: trees, failures, edits."""

from collections.abc import Hashable, Sequence
from itertools import groupby

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.detectors.telling import redirect, warning
from helmsman.oversee.detectors.windows import (
    compared,
    complete,
    failures,
    in_vain,
    named,
    told_apart,
    worked,
    worked_from,
)
from helmsman.oversee.movement import got_on
from helmsman.records.moments import Moment
from helmsman.records.verdict import Signal

CYCLE_WINDOW = 16
"""Iterations that cycles are looked for in: two rounds of the longest one, each step held for two iterations."""
TREE_PERIODS = (2, 3)
CYCLE_PERIODS = (2, 3, 4)
TRADE = 3
"""Iterations that show a trade of failures: two are one step, the third takes it back."""
UNDONE = 2
"""Iterations in a row that edited and took it back."""


def recurring_trees(history: Sequence[Moment], _config: DetectConfig) -> Signal | None:
    """The same trees in turn, A/B/A/B or A/B/C/A/B/C by hash (S5), or one tree that edits left and came back to twice."""
    window = [moment for moment in worked_from(history, CYCLE_WINDOW) if moment.tree]
    period = _period(_runs([moment.tree for moment in window]), TREE_PERIODS)
    if period and window[-1].tree == window[-2].tree:
        return None  # it came round before; what holds still now is another matter
    if not period and not _edited_in_place(window):
        return None
    trees = list(dict.fromkeys(moment.tree[:12] for moment in window[::-1]))[: period or 1]
    message = f"the tree goes round: {len(trees)} in turn came back in full ({named(trees)}); two rounds trip this"
    instruction = (
        "You are back at code that was there before. Read the history of these files, write down which approaches were tried "
        "and what each one broke, and take one that is not on that list."
    )
    return redirect("recurring_trees", message, instruction, value=len(trees), threshold=1)


def limit_cycle(history: Sequence[Moment], _config: DetectConfig) -> Signal | None:
    """The same failures in turn, two full rounds of 2 to 4 steps or one trade and back, whatever the trees (S14).

    Another try would go round again.
    """
    window = compared(history, CYCLE_WINDOW)
    states = [_state(moment) for moment in window]
    traded, period = _traded(window), _period(_runs(states), CYCLE_PERIODS)
    if not (traded or period) or states[-1] == states[-2]:
        return None
    start = 1 - TRADE if traded else _start_of_runs(states, period)  # not the first time round: each state may have been news
    if any(map(got_on, window[start:])) or _unknown(window[start:]):
        return None
    names = sorted(frozenset[str]().union(*(failures(moment) for moment in window[-max(period, 2) :])))
    rounds = "two rounds by now" if period else "and the first came back after one turn"
    message = f"the same {period or 2} states of the checks come in turn, {rounds}; what fails in them: {named(names)}"
    instruction = (
        "Fixing one of these failures brings back the other. Set the present plan aside and write a new one whose design "
        "serves both at once: list what each of them demands, find the one structure that meets all of it, and build that."
    )
    return redirect("limit_cycle", message, instruction, value=period or 2, threshold=CYCLE_PERIODS[0])


def reverted(history: Sequence[Moment], _config: DetectConfig) -> Signal | None:
    """2 iterations in a row edited files back to what they were and did not get on (S5). One try taken back is honest work."""
    window = worked(history, UNDONE)
    if len(window) < UNDONE or not all(moment.reverted for moment in window) or not in_vain(window):
        return None
    files = sum(moment.reverted for moment in window)
    message = f"{UNDONE} iterations in a row edited {files} files and took it back ({UNDONE} trip this)"
    instruction = "Before you edit, say in one sentence what the change will make pass; keep a change that did so."
    return warning("reverted", message, instruction, value=files, threshold=UNDONE)


def _runs(states: Sequence[Hashable]) -> list[Hashable]:
    """One for each stretch of equal ones."""
    return [state for state, _ in groupby(states)]


def _period(runs: Sequence[Hashable], periods: Sequence[int]) -> int:
    """Steps of the shortest cycle that the last runs went through twice, 0 where there is none."""
    return next((p for p in periods if len(runs) >= 2 * p and runs[-p:] == runs[-2 * p : -p]), 0)


def _state(moment: Moment) -> Hashable:
    """What fails. Where not all of it is listed, how many tests do is part of it: equal lists alone prove nothing."""
    return moment.green, failures(moment), 0 if complete(moment) else moment.failing_tests


def _traded(window: Sequence[Moment]) -> bool:
    """Whether one failure was fixed for another and back again: the third state is the first one."""
    last = window[-TRADE:]
    if len(last) < TRADE or any(moment.green for moment in last):
        return False
    first, second, third = last
    new = failures(second) - failures(first)
    return _state(first) == _state(third) and bool(new) and _fixed(first, second, len(new))


def _fixed(before: Moment, after: Moment, new: int) -> bool:
    """Whether some failure is gone for certain. A full list may have dropped its name for one of the new failures."""
    if complete(after):
        return bool(failures(before) - failures(after))
    return after.failing_tests - before.failing_tests < new


def _start_of_runs(states: Sequence[Hashable], count: int) -> int:
    """Where the last `count` runs begin."""
    starts = [at for at, state in enumerate(states) if at == 0 or state != states[at - 1]]
    return starts[-count]


def _unknown(window: Sequence[Moment]) -> bool:
    """Whether red runs that cannot be told apart take turns with green ones: that may be one test written after another."""
    red = [moment for moment in window if not moment.green]
    return len(red) < len(window) and not all(map(told_apart, red))


def _edited_in_place(window: Sequence[Moment]) -> bool:
    """The newest iterations edited, took it back, and ended on the tree that they began with."""
    last = window[-UNDONE - 1 :]
    return len(last) > UNDONE and len({moment.tree for moment in last}) == 1 and all(moment.reverted for moment in last[1:])
