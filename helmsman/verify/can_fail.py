"""Check that tests can fail on the work: tests that turned green run once more with other values.

A check that still passes shows nothing, whatever the cause: a module that shadows the test framework, a runner's setting, a
patched assertion, an object that equals everything, or a source that reads its answers from the tests.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from helmsman.parsers.source import Source
from helmsman.plain import clean
from helmsman.verify.findings import join_some

MOST_ALTERED = 20  # maximum number of test files to alter; one is enough to make a check fail
_NUMBER = re.compile(rb"(0|[1-9][0-9]{0,8})((?:\.[0-9]+)?(?:[iuf][0-9]{1,3})?)")
_MODULE = re.compile(rb"[./@]|node:")  # prefix of a module path in JavaScript
_QUOTES = frozenset({b"'", b'"', b"`"})
_STEPS = (1, 4, 2, 9, 3, 14, 6)
"""Increments for successive numbers. None is the sum, difference or double of its neighbours, or `add(1, 2) == 3` would hold."""
_OPPOSITES = (
    (re.compile(r"\bassert (?!not\b)"), "assert not "),
    (re.compile(r"\b(assert!?|assert\.ok)\((?!!)"), r"\1(!"),
    (re.compile(r"\)\.to(?=[A-Z.])"), ").not.to"),
    (re.compile(r"\b(assert(?:Is)?)(?=(?:Equals?|None|In|Null|Same)\b)"), r"\1Not"),
    (re.compile(r"\b(assert_?)[Tt]rue\b"), r"\1False"),
    (re.compile(r"\b(assert_?)[Ff]alse\b"), r"\1True"),
)
"""Assertions and their opposites; per line the first match applies. An opposite that does not exist fails as well."""
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_PARTS = re.compile(r"::| > |/|\.| \(")


def names_in_file(cases: Collection[str]) -> frozenset[str]:
    """Return the possible names of these cases' functions or titles in a file, for any runner."""
    names = {_PARAMETERS.sub("", case).strip() for case in cases}
    return frozenset(part for case in names for part in (case, *_PARTS.split(case)) if part)


def alter_values(source: Source, names: Collection[str] | None) -> str | None:
    """Return the text with other numbers and strings in tests of these names (`None`: in all), or with opposite assertions.

    Values change if an assertion names one, or if there is no assertion to negate. None if neither is possible.
    """
    inside = frozenset(_lines_of_tests(source, names))
    asserted = inside & {line for place in source.places("assertion") for line in range(place.line, place.last + 1)}
    altered_text, altered = _with_other_literals(source, inside)
    if asserted.isdisjoint(altered):
        lines = [_negate_assertion(line) if at in asserted else line for at, line in enumerate(source.text.split("\n"), 1)]
        if (negated := "\n".join(lines)) != source.text:
            return negated
    # a single value that no assertion names, such as a time limit, may not matter
    return altered_text if len(altered) > 1 or not asserted.isdisjoint(altered) else None


def _lines_of_tests(source: Source, names: Collection[str] | None) -> Iterator[int]:
    """Yield the lines of each test and of the code before it, such as its table of cases."""
    end = 0
    for test in source.tests:
        if names is None or not names_in_file([test.name]).isdisjoint(names):
            yield from range(end + 1, test.last + 1)
        end = max(end, test.last)


def _with_other_literals(source: Source, lines: Collection[int]) -> tuple[str, list[int]]:
    """Return the text and the altered lines."""
    data, parts, end, altered = source.text.encode(errors="replace"), list[bytes](), 0, list[int]()
    for start, stop, line in source.literal_spans:
        quoted = data[start - 1 : start] in _QUOTES
        step = _STEPS[len(altered) % len(_STEPS)]
        if start >= end and line in lines and (value := _alter_literal(data[start:stop], step, quoted=quoted)):
            parts += (data[end:start], value)
            end = stop
            altered.append(line)
    return b"".join((*parts, data[end:])).decode(errors="replace"), altered


def _negate_assertion(line: str) -> str:
    matching = ((pattern, other) for pattern, other in _OPPOSITES if pattern.search(line))
    return next((pattern.sub(other, line, count=1) for pattern, other in matching), line)


def _alter_literal(literal: bytes, step: int, *, quoted: bool) -> bytes:
    """Return another literal of the same kind; empty to leave it unchanged, for example a hexadecimal number."""
    if number := _NUMBER.fullmatch(literal):
        return b"%d%s" % (int(number[1]) + step, number[2])
    if not literal.strip() or _MODULE.match(literal) or (literal[:1].isdigit() and not quoted):
        return b""
    return literal + b"~" * step


def describe_cannot_fail(checks: Sequence[str] | None) -> str:
    """Describe checks that still pass with other values in their tests; empty if there are none."""
    message = "these checks still pass with other values in the tests that turned green, so they prove nothing"
    return f"{message}: {join_some([clean(name) for name in checks])}" if checks else ""
