"""What the next session is told of the last one: why it was ended, and which failures kept coming back."""

from collections.abc import Sequence

from helmsman.orient.budget import Foreign, Piece
from helmsman.records.session import ErrorVector, LastCall

SHOWN = 5


def last_session(last: LastCall, *, green: bool) -> Sequence[Piece]:
    """Nothing where nothing of it matters any more: under green checks failures are history."""
    again = [] if green else [error for error in last.errors[::-1] if error.times > 1][:SHOWN]
    if not last.rotated and not again:
        return ()
    return ("# The last session", *_ending(last.rotated), *_failures(again))


def _ending(why: str) -> Sequence[Piece]:
    if not why:
        return ()
    told = f"The loop ended it for the sake of a fresh one: {why}. What it knew is in `.helmsman/progress.md` and in the commits."
    return (f"{told} Begin with these, then read only what the next step needs.",)


def _failures(again: Sequence[ErrorVector]) -> Sequence[Piece]:
    if not again:
        return ()
    lines = "\n".join(f"{error.times} times {error.kind} at {error.where or '?'}: {error.message}" for error in again)
    return ("These failures kept coming back in it; where one is still there, begin with what causes it:", Foreign(lines))
