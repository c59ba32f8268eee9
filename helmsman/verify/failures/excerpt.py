"""The part of an output that is read: its head and its tail, as clean lines."""

import re

from helmsman.verify.loose_json import last, text
from helmsman.verify.summaries import clean_lines

EDGE = 20_000
"""Characters that are read at each end; summaries stand last, the first error often first."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WRAPPED = re.compile(r"<tool_use_error>(?:Error: )?|</tool_use_error>|\AError: (?=Exit code )")


def excerpt(output: object) -> list[str]:
    """Both ends of an output without colours and control characters; of any other type than a text nothing."""
    if not isinstance(output, str):
        return []
    if len(output) <= 2 * EDGE:
        return _clean(text(output, 2 * EDGE))
    return [*_clean(text(output, EDGE))[:-1], *_clean(last(output, EDGE))]


def _clean(part: str) -> list[str]:
    return [_CONTROL.sub("", line).rstrip() for line in clean_lines(_WRAPPED.sub("", part))]
