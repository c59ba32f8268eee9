"""Limits on texts in the prompt: sizes in tokens, visible cuts, unbreakable fences."""

import re
from collections.abc import Sequence

from helmsman.prompts import Piece, Untrusted
from helmsman.tokens import fits, tokens, trim


def join_pieces(pieces: Sequence[Piece]) -> str:
    """Join all pieces by newlines, untrusted ones fenced."""
    return "\n".join(piece if isinstance(piece, str) else fence(piece.text) for piece in pieces)


def fit(pieces: Sequence[Piece], allowance: int) -> str:
    """Join pieces within an allowance of tokens: trusted text whole, untrusted texts in equal shares of the rest; unused shares
    go to the next ones.
    """
    if fits(join_pieces(pieces), allowance):
        return join_pieces(pieces)
    own = "\n".join(piece for piece in pieces if isinstance(piece, str))
    room = allowance - tokens(own)
    if room < 0:
        return trim(own, allowance)
    remaining = sum(isinstance(piece, Untrusted) for piece in pieces)
    parts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
            continue
        quotation = _quote(piece.text, room // remaining - tokens("\n"))  # the joining newline
        parts += [quotation] if quotation else []
        room, remaining = room - tokens(f"\n{quotation}"), remaining - 1
    return "\n".join(parts)


def fence(text: str) -> str:
    """Fence untrusted text; the fence is longer than any run of backticks inside, so nothing in the text can end it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}"


def _quote(text: str, room: int) -> str:
    """A fenced text of at most `room` tokens."""
    fenced = fence(text)
    if fits(fenced, room):
        return fenced
    ticks = fenced.partition("\n")[0]
    cut = trim(text.rstrip(), room - 2 * tokens(f"{ticks}\n"))
    if cut:
        return fence(cut)
    return _LEFT_OUT if tokens(_LEFT_OUT) <= room else ""


_LEFT_OUT = "(left out: it does not fit)"
