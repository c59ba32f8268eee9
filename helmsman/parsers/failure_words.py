"""Outputs and failures without what differs from run to run, so that the same failure is known again: the part of an output that
is read, how much failed in it, its fingerprint, and which failures are one.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache

from helmsman.parsers.failure_rules import table_of
from helmsman.parsers.loose import last, text
from helmsman.parsers.test_report import clean_lines, read_summary
from helmsman.records.agent import ErrorVector

MESSAGE = 300
WHERE = 200
_READ = 1000


def normal(said: str) -> str:
    """A message in one line without what differs from run to run; small numbers stay, they may be what was expected."""
    return " ".join(_replaced(said[:_READ], "temporary", "ids", "varying").split())[:MESSAGE]


def place(where: str) -> str:
    """A place in one line: its line numbers stay."""
    return " ".join(_replaced(where[:_READ], "temporary", "ids").split())[:WHERE]


def _replaced(whole: str, *tables: str) -> str:
    for pattern, instead in (pair for name in tables for pair in _replacements(name)):
        whole = pattern.sub(instead, whole)
    return whole


@cache
def _replacements(name: str) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), instead) for pattern, instead in table_of("replaced")[name]]


EDGE = 20_000  # characters that are read at each end; summaries stand last, the first error often first
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
    return hashlib.sha256(_replaced(ends, "temporary", "ids", "varying").encode("utf-8", "backslashreplace")).hexdigest()[:16]


KEPT = 20


def same_error(a: ErrorVector, b: ErrorVector) -> bool:
    """Whether two failures are one: their class, their place and their message are the same."""
    first, second = ((one.kind, place(one.where), normal(one.message)) for one in (a, b))
    return first == second


def merge(errors: Sequence[ErrorVector], new: ErrorVector) -> tuple[ErrorVector, ...]:
    """Count a failure that is known and put it last; the newest are kept."""
    times = new.times + sum(error.times for error in errors if same_error(error, new))
    others = [error for error in errors if not same_error(error, new)]
    return (*others, new.model_copy(update={"times": times}))[-KEPT:]
