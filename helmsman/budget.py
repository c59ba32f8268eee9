"""How much of what was found may enter the prompt: sizes in tokens, cuts that are visible, fences that cannot be broken."""

import re
from collections.abc import Sequence

from helmsman.prompts import Piece, Untrusted
from helmsman.tokens import fits, tokens, trim


def whole(pieces: Sequence[Piece]) -> str:
    """All pieces, one below the other."""
    return "\n".join(piece if isinstance(piece, str) else fence(piece.text) for piece in pieces)


def fit(pieces: Sequence[Piece], allowance: int) -> str:
    """The pieces in so many tokens: our own words whole, foreign texts in equal shares of the rest, unused shares passed on."""
    if fits(whole(pieces), allowance):
        return whole(pieces)
    own = "\n".join(piece for piece in pieces if isinstance(piece, str))
    room = allowance - tokens(own)
    if room < 0:
        return trim(own, allowance)
    left = sum(isinstance(piece, Untrusted) for piece in pieces)
    parts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
            continue
        quoted = _quote(piece.text, room // left - tokens("\n"))  # which joins it to the rest
        parts += [quoted] if quoted else []
        room, left = room - tokens(f"\n{quoted}"), left - 1
    return "\n".join(parts)


def fence(text: str) -> str:
    """Wrap foreign text so that nothing in it can end the wrapping: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}"


def _quote(text: str, room: int) -> str:
    """A fenced text of at most so many tokens."""
    fenced = fence(text)
    if fits(fenced, room):
        return fenced
    ticks = fenced.partition("\n")[0]
    cut = trim(text.rstrip(), room - 2 * tokens(f"{ticks}\n"))
    if cut:
        return fence(cut)
    return _LEFT_OUT if tokens(_LEFT_OUT) <= room else ""


_LEFT_OUT = "(left out: it does not fit)"
