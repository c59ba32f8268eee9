"""What detectors read of a history: the iterations that say something, and whether they got on."""

import re
from collections.abc import Callable, Sequence
from itertools import islice

from helmsman.oversee.movement import at_work, compared_with, got_on, is_base
from helmsman.plain import clean
from helmsman.records.moments import MOST_ERRORS, MOST_NAMES, Moment
from helmsman.records.session import ErrorVector, FailureClass

NAME_LENGTH = 200
OF_THE_WORLD = frozenset({FailureClass.TIMEOUT, FailureClass.NETWORK, FailureClass.RESOURCES})
_LINE = re.compile(r"(?::\d{1,9}){1,2}\Z")


def worked(history: Sequence[Moment], count: int) -> list[Moment]:
    """The last `count` iterations in which the agent got to work, newest last."""
    return _last(history, count, at_work)


def checked(history: Sequence[Moment], count: int) -> list[Moment]:
    """The last `count` iterations whose evidence is known, newest last."""
    return _last(history, count, lambda moment: moment.checked and at_work(moment))


def compared(history: Sequence[Moment], count: int) -> list[Moment]:
    """As `checked`, and the tree that the loop began with where it reaches back so far: a state, but nobody's work."""
    return _last(history, count, compared_with)


def worked_from(history: Sequence[Moment], count: int) -> list[Moment]:
    """As `worked`, and the tree that the loop began with where it reaches back so far."""
    return _last(history, count, lambda moment: at_work(moment) or is_base(moment))


def _last(history: Sequence[Moment], count: int, counts: Callable[[Moment], bool]) -> list[Moment]:
    return list(islice(filter(counts, reversed(history)), count))[::-1]


def fewer_fail(before: Moment, after: Moment) -> bool:
    """Whether fewer tests fail and none has vanished: a refactor on its way back, below no record yet."""
    total = before.passing_tests + before.failing_tests
    return after.failing_tests < before.failing_tests and after.passing_tests + after.failing_tests >= total


def in_vain(window: Sequence[Moment]) -> bool:
    """Whether none of these iterations got on, and no fewer tests fail after the last than after the first."""
    return not any(map(got_on, window)) and not fewer_fail(window[0], window[-1])


def place(error: ErrorVector) -> str:
    """Where it failed, without the line: every edit above it moves the line."""
    return _LINE.sub("", error.where)


def failures(moment: Moment) -> frozenset[str]:
    """Its failures by identity: tests by name, where there are none what the checks say and where."""
    if moment.failing_tests:
        return frozenset(moment.failing)
    return frozenset((*moment.failing, *(f"{error.kind} at {place(error)}" for error in moment.errors)))


def complete(moment: Moment) -> bool:
    """Whether what it does not list did not fail: a full list does not prove that another one is gone."""
    return len(moment.failing) < MOST_NAMES and len(moment.errors) < MOST_ERRORS and moment.failing_tests <= MOST_NAMES


def told_apart(moment: Moment) -> bool:
    """Whether more is known of its failures than which check failed: two red runs can look alike without being it.

    That something took too long or could not be reached says nothing of the code.
    """
    return any(error.kind not in OF_THE_WORLD for error in moment.errors) or moment.failing_tests > 0


def named(names: Sequence[str], most: int = 3) -> str:
    """Foreign names for a message, short and on one line."""
    shown = [clean(name[:NAME_LENGTH]) for name in names[:most]]
    rest = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join((*shown, *rest))
