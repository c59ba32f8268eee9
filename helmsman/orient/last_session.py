"""What the next session is told of the last one: why it was ended, and which failures kept coming back."""

from collections.abc import Sequence

from helmsman.prompts import Piece, render_pieces
from helmsman.records.session import LastCall

SHOWN = 5


def last_session(last: LastCall, *, green: bool) -> Sequence[Piece]:
    """Nothing where nothing of it matters any more: under green checks failures are history."""
    again = [] if green else [error for error in last.errors[::-1] if error.times > 1][:SHOWN]
    if not last.rotated and not again:
        return ()
    lines = "\n".join(f"{error.times} times {error.kind} at {error.where or '?'}: {error.message}" for error in again)
    return render_pieces("last_session", rotated=bool(last.rotated), failures=lines)
