"""How much of what was found may enter the prompt: sizes in tokens, cuts that are visible, fences that cannot be broken."""

import re

CHARACTERS_PER_TOKEN = 4
"""The common rule of thumb for English and code; the allowance needs no better."""


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def trim(text: str, allowance: int) -> str:
    """Cut the middle out of a text that is longer than the allowance in tokens: beginnings and ends tell most."""
    room = allowance * CHARACTERS_PER_TOKEN
    if len(text) <= room:
        return text
    marker = f"\n[… {len(text) - room} characters left out …]\n"
    keep = max(room - len(marker), 0)
    head = keep // 3
    return text[:head] + marker + (text[len(text) - (keep - head) :] if keep > head else "")


def fence(text: str) -> str:
    """Wrap foreign text so that nothing in it can end the wrapping: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}"
