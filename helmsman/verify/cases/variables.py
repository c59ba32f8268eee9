"""Local variables of a test, so that naming a value or no longer naming it is no change."""

import re
from collections import Counter
from dataclasses import replace

from helmsman.verify.cases.kinds import compact
from helmsman.verify.cases.model import Assertion, Case

_ASSIGNMENT = re.compile(
    r"(?m)^[ \t]*+(?:if )?(?:(?:const|let|var|val|final|auto|mut|[A-Z]\w{0,40}|int|double|String)\s++){0,3}"
    r"\$?(\w{1,60})(?::\s?\w{1,40})?"
    r"\s?(?::=|=)(?!=)[ \t]*+([^;\n]{1,300})(?:;.*)?$",
)
_NAME = re.compile(r"(?<![\w.\"])[A-Za-z_]\w*+(?![\w(\"])")
_LONGEST = 600
"""Characters of an assertion after its variables were replaced; beyond them it stays as it was."""


def inlined(case: Case) -> tuple[Assertion, ...]:
    """The assertions with each variable that is set once replaced by what it is set to."""
    if not case.assertions:
        return ()
    found = _ASSIGNMENT.findall(case.body)
    times = Counter(name for name, _ in found)
    values = {name: compact(value).rstrip(";") for name, value in found if times[name] == 1}
    return tuple(_replaced(item, values) for item in case.assertions) if values else case.assertions


def _replaced(item: Assertion, values: dict[str, str]) -> Assertion:
    subject, expected = _expanded(item.subject, values), _expanded(item.expected, values)
    return item if (subject, expected) == (item.subject, item.expected) else replace(item, subject=subject, expected=expected)


def _expanded(text: str, values: dict[str, str]) -> str:
    """Two rounds: a value may itself be built from a variable."""
    plain = text
    for _ in range(2):
        longer = _NAME.sub(lambda match: values.get(match[0], match[0]), plain)
        plain = longer if len(longer) <= _LONGEST else plain
    return plain


_CALLED = re.compile(
    r"(?m)(?:^|[;{]|\bif)[ \t]*+(?:(?:const|let|var|final|auto) )?(\w{1,60}(?:, ?\w{1,60}){0,3})\s?:?=(?!=)([^=\n]{1,200}\()"
)
_OUTSIDE = re.compile(
    r"\b(?:exec|net|os|http|sql|docker|socket|fs|redis|grpc)\.|LookPath|[Dd]ial|[Cc]onnect|[Ll]isten|spawn|fetch\("
)
"""Calls that reach out of the program: what they give tells of the machine."""


def results_in(body: str, compared: frozenset[str]) -> frozenset[str]:
    """Variables that are set by a call of the code under test, which gave one that is compared; its error is another."""
    found = ((names.replace(" ", "").split(","), call) for names, call in _CALLED.findall(body))
    kept = (names for names, call in found if not _OUTSIDE.search(call) and not compared.isdisjoint(names))
    return frozenset(name for names in kept for name in names) - {"_"}
