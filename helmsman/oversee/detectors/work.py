"""What the work itself shows: the same failure, more and more lines, tests instead of code."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

from helmsman.config.oversight import DetectConfig
from helmsman.oversee.detectors.telling import redirect, warning
from helmsman.oversee.detectors.windows import checked, fewer_fail, in_vain, named, place, worked
from helmsman.oversee.movement import identity
from helmsman.records.moments import Moment, Movement
from helmsman.records.session import ErrorVector
from helmsman.records.verdict import Signal

SWELLING = 3
"""Iterations in a row, each longer than the one before: S4's patience."""
TESTS_ONLY = 3


def same_error(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """The same class of failure at the same place in 5 iterations in a row (S5), not smaller, and nothing got past in between.

    By class and place, never by text, which differs from run to run.
    """
    window = checked(history, config.same_error)
    if len(window) < config.same_error or any(moment.movement is Movement.FORWARD for moment in window[1:]):
        return None
    lasting = None if fewer_fail(window[0], window[-1]) else next(_lasting(window), None)
    if lasting is None:
        return None
    what = f"{lasting.kind} at {named((place(lasting),))}" if lasting.where else f"{lasting.kind}, at a place nothing tells"
    message = f"the same failure in the last {len(window)} iterations ({config.same_error} trip this): {what}"
    instruction = (
        "This failure has outlived every attempt. Reproduce it alone with the smallest command, read the whole of its output, "
        "write down its cause with the evidence for it, and change the code only then."
    )
    return redirect("same_error", message, instruction, value=len(window), threshold=config.same_error)


def same_words(history: Sequence[Moment], config: DetectConfig) -> Signal | None:
    """8 iterations in a row left every failure as it was, word for word but for numbers, and every count.

    Where checks are coarse, words are the first thing to move when work gets somewhere.
    """
    window = checked(history, config.plateau)
    if len(window) < config.plateau or any(moment.movement is Movement.FORWARD for moment in window[1:]):
        return None
    if len({_state(moment) for moment in window}) > 1 or not window[-1].errors:
        return None
    message = f"{len(window)} iterations in a row left every failure word for word as it was ({config.plateau} trip this)"
    instruction = (
        "Nothing that was changed reached what fails. Prove first that the failing check runs the code that you edit: make it "
        "fail in another way on purpose, then go on from there."
    )
    return redirect("same_words", message, instruction, value=len(window), threshold=config.plateau)


def growing_diff(history: Sequence[Moment], _config: DetectConfig) -> Signal | None:
    """3 iterations in a row each wrote more lines than the one before and more than they took away, and none got on (S5)."""
    window = worked(history, SWELLING)
    if len(window) < SWELLING or not in_vain(window) or any(moment.insertions <= moment.deletions for moment in window):
        return None
    if not all(before.insertions < after.insertions for before, after in pairwise(window)):
        return None
    lines = sum(moment.insertions - moment.deletions for moment in window)
    message = (
        f"the code grew by {lines} lines in {SWELLING} iterations ({SWELLING} trip this), each by more, and nothing got better"
    )
    instruction = "Look for what can go: make the next change one that leaves the code shorter and a failing check passing."
    return warning("growing_diff", message, instruction, value=lines, threshold=0)


def only_tests(history: Sequence[Moment], _config: DetectConfig) -> Signal | None:
    """3 iterations in a row changed tests only while checks fail, and none got on (peers' issues). One is test-first."""
    window = worked(history, TESTS_ONLY)
    if len(window) < TESTS_ONLY or not in_vain(window) or any(moment.green or not moment.test_only for moment in window):
        return None
    message = f"{TESTS_ONLY} iterations in a row changed only tests ({TESTS_ONLY} trip this) while checks fail"
    instruction = "Let the tests be as they are, and make the code pass them: begin with the first one that fails."
    return warning("test_only", message, instruction, value=TESTS_ONLY, threshold=TESTS_ONLY)


def _state(moment: Moment) -> Hashable:
    counts = (moment.passing_tests, moment.failing_tests, moment.failing)
    return counts, tuple((identity(error), error.extent) for error in moment.errors)


def _lasting(window: Sequence[Moment]) -> Iterator[ErrorVector]:
    """Errors of the newest iteration that all have, no smaller now than at first."""
    extents = [{(error.kind, place(error)): error.extent for error in moment.errors} for moment in window]
    for error in window[-1].errors:
        key = (error.kind, place(error))
        if all(key in found for found in extents) and error.extent >= extents[0][key]:
            yield error
