"""How much failed, and whether two outputs are the same but for what differs from run to run."""

import hashlib
import re

from helmsman.verify.failures.excerpt import excerpt
from helmsman.verify.failures.normal import settled
from helmsman.verify.summaries import read_summary

_COUNTED = tuple(
    re.compile(rf"(?i)\b(\d{{1,7}})\s(?:previous\s)?(?:{words})\b")
    for words in ("errors?|failures?|failed|failing", "problems?|issues?|violations?|offenses", "warnings?")
)
"""The gravest first: tools that count errors count warnings beside them, and problems as the sum of both."""
_COMPLAINS = re.compile(r"(?i)\b(?:error|fail|failed|failure|undefined|cannot|not found)\b|^\S+:\d+")
_COMPARED = 8000


def extent(output: str) -> int:
    """How many things failed, as the output counts them; else the lines that complain. 0: nothing tells."""
    lines = excerpt(output)
    counts = read_summary("\n".join(lines))
    if counts is not None and counts.failed:
        return counts.failed
    starts = [line[:500] for line in lines]
    counted = (max((int(number) for line in starts for number in words.findall(line)), default=0) for words in _COUNTED)
    return next(filter(None, counted), 0) or sum(bool(_COMPLAINS.search(line)) for line in starts)


def fingerprint(output: str) -> str:
    """Digest of an output without times, addresses and folders that are new in each run."""
    ends = output if len(output) <= 2 * _COMPARED else f"{output[:_COMPARED]}{output[-_COMPARED:]}"
    return hashlib.sha256(settled(ends).encode("utf-8", "backslashreplace")).hexdigest()[:16]
