"""Limits on texts in the prompt: sizes in tokens, visible cuts, unbreakable fences."""

import re

from helmsman.prompts import fence
from helmsman.tokens import fits, tokens, trim

_FENCED = re.compile(r"^(`{3,})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = "(left out: it does not fit)"


def fit(text: str, allowance: int) -> str:
    """Cut a text to an allowance of tokens: fenced texts in equal shares of what the others leave; unused shares go to the next.

    Text outside of fences is trusted. It is kept whole, up to the first part that does not fit: half an instruction would mean
    something else. Only if it is the first part it is cut.
    """
    if fits(text, allowance):
        return text
    pieces = _FENCED.split(text)  # trusted text, ticks of a fence, text in it, trusted text, …
    trusted, quotations = pieces[::3], pieces[2::3]
    while (size := tokens("\n".join(filter(None, (part.strip("\n") for part in trusted))))) > allowance and len(trusted) > 1:
        trusted.pop()
    if size > allowance:
        return trim(trusted[0], allowance)
    room, result = allowance - size, ""
    quotations = quotations[: len(trusted)]
    for at, part in enumerate(trusted):
        quotation = _quote(quotations[at], room // (len(quotations) - at) - tokens("\n")) if at < len(quotations) else ""
        room -= tokens(f"\n{quotation}")
        result += part + quotation
    return result.strip("\n")


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
