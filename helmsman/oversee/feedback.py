"""How good the feedback is that the next iteration can steer by: the worse it is, the less is begun at once."""

from collections.abc import Callable

from helmsman.records.modes import Feedback
from helmsman.records.moments import Moment
from helmsman.records.session import FailureClass

UNRUNNABLE = frozenset(
    {
        FailureClass.BUILD,
        FailureClass.SYNTAX,
        FailureClass.MISSING_MODULE,
        FailureClass.MISSING_FILE,
        FailureClass.MISSING_COMMAND,
    }
)
"""Failures that keep a program from running at all."""
DROWNED = ("failed one after the other", "are errors or repetition")
"""Parts of the reasons for which a session is rotated that are failures; a full context is none."""


def unbuilt(moment: Moment) -> bool:
    """Whether nothing could be run, for reasons of the code alone."""
    return bool(moment.errors) and not moment.passing_tests and all(error.kind in UNRUNNABLE for error in moment.errors)


def feedback_of(moment: Moment, rotated: str) -> Feedback:
    """What an iteration left to steer by. `rotated`: why the loop ended its session; empty where it did not."""
    return next(feedback for holds, feedback in _QUALITIES if holds(moment, rotated))


def _green(moment: Moment, _rotated: str) -> bool:
    return moment.checked and moment.green


def _drowned(_moment: Moment, rotated: str) -> bool:
    return any(part in rotated for part in DROWNED)


def _unchecked(moment: Moment, _rotated: str) -> bool:
    return not moment.checked


def _unrunnable(moment: Moment, _rotated: str) -> bool:
    return unbuilt(moment)


def _otherwise(_moment: Moment, _rotated: str) -> bool:
    return True


_QUALITIES: tuple[tuple[Callable[[Moment, str], bool], Feedback], ...] = (
    (_green, Feedback.GREEN),
    (_drowned, Feedback.GUTTER),
    (_unchecked, Feedback.NONE),
    (_unrunnable, Feedback.BROKEN),
    (_otherwise, Feedback.FAILING),
)
"""The first that holds. Under green checks it does not matter what the session went through."""
