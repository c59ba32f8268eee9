"""What a rule is: one pattern that tells a class, and how it is looked for."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from helmsman.records.session import FailureClass

Programs = frozenset[str]
ANY: Programs = frozenset()


class Rule(NamedTuple):
    """A pattern over lines. Its group `at` is the place, `said` the message (else the line), `name` what it is about."""

    kind: FailureClass
    pattern: re.Pattern[str]
    programs: Programs = ANY
    """It speaks only where the command runs one of them."""


_COLUMN = re.compile(r"(?:\(|:)(\d+)[:,]\d+\)?\Z")
_QUOTES = "'\"`‘’"  # noqa: RUF001 - as GNU quotes


class Hit(NamedTuple):
    """What a rule found."""

    kind: FailureClass
    said: str
    at: str = ""
    name: str = ""


def rule(kind: FailureClass, pattern: str, programs: str = "") -> Rule:
    return Rule(kind, re.compile(pattern, re.MULTILINE), frozenset(programs.split()))


def first_hit(rules: Iterable[Rule], text: str, programs: Programs) -> Hit | None:
    """The first rule of the table that speaks, at the first place where it does."""
    for one in rules:
        if (not one.programs or one.programs & programs) and (match := one.pattern.search(text)):
            return hit(one.kind, match)
    return None


def hit(kind: FailureClass, match: re.Match[str]) -> Hit:
    """What a match says; a place that is told in two pieces is put together."""
    groups = match.groupdict(default="")
    at = groups.get("at") or groups.get("file", "")
    at = f"{at}:{groups['line']}" if at and groups.get("line") else _COLUMN.sub(r":\1", at)
    name = groups.get("name") or groups.get("path", "")
    return Hit(kind, groups.get("said") or _line(match), at.removeprefix("./"), name.strip(_QUOTES))


def _line(match: re.Match[str]) -> str:
    """The line in which a match ends."""
    text, end = match.string, match.end()
    start = text.rfind("\n", 0, max(match.start(), end - 1)) + 1
    stop = text.find("\n", end)
    return text[start : stop if stop >= 0 else len(text)].strip()
