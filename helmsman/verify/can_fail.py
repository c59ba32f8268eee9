"""Tests must be able to fail on the work: tests that turned green are run once more with other values in them.

A check that still passes shows nothing, whatever makes it so: a module of the test framework's name, a runner's setting, an
assertion that was patched, an object that equals everything, or a source that reads its answers from the tests.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from helmsman.parsers.source import Source
from helmsman.plain import clean
from helmsman.verify.findings import some

MOST_ALTERED = 20
"""Test files that are altered; to fail, one is enough."""
_NUMBER = re.compile(rb"(0|[1-9][0-9]{0,8})((?:\.[0-9]+)?(?:[iuf][0-9]{1,3})?)")
_MODULE = re.compile(rb"[./@]|node:")  # how the name of a module begins that JavaScript loads
_QUOTES = frozenset({b"'", b'"', b"`"})
_STEPS = (1, 4, 2, 9, 3, 14, 6)
"""What the next numbers grow by. None is the sum, difference or double of its neighbours: `add(1, 2) == 3` would still hold."""
_OPPOSITES = (
    (re.compile(r"\bassert (?!not\b)"), "assert not "),
    (re.compile(r"\b(assert!?|assert\.ok)\((?!!)"), r"\1(!"),
    (re.compile(r"\)\.to(?=[A-Z.])"), ").not.to"),
    (re.compile(r"\b(assert(?:Is)?)(?=(?:Equals?|None|In|Null|Same)\b)"), r"\1Not"),
    (re.compile(r"\b(assert_?)[Tt]rue\b"), r"\1False"),
    (re.compile(r"\b(assert_?)[Ff]alse\b"), r"\1True"),
)
"""Assertions and their opposites; of each line the first that is there. One that does not exist fails as well."""
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_PARTS = re.compile(r"::| > |/|\.| \(")


def own_names(cases: Collection[str]) -> frozenset[str]:
    """What the functions or titles of these cases may be called in a file, whichever runner named them."""
    whole = {_PARAMETERS.sub("", case).strip() for case in cases}
    return frozenset(part for case in whole for part in (case, *_PARTS.split(case)) if part)


def with_other_values(source: Source, names: Collection[str] | None) -> str | None:
    """The text with other numbers and texts in tests of these names (`None`: in all), or with opposite assertions.

    Values are changed where an assertion names one, or where there is no assertion to turn round. None where neither can be done.
    """
    inside = frozenset(_lines(source, names))
    asserted = inside & {line for place in source.assertions for line in range(place.line, place.last + 1)}
    other, altered = _with_other_literals(source, inside)
    if asserted.isdisjoint(altered):
        lines = [_opposite(line) if at in asserted else line for at, line in enumerate(source.text.split("\n"), 1)]
        if (opposite := "\n".join(lines)) != source.text:
            return opposite
    # a single value that no assertion names, as a time limit, may decide nothing
    return other if len(altered) > 1 or not asserted.isdisjoint(altered) else None


def _lines(source: Source, names: Collection[str] | None) -> Iterator[int]:
    """Of each test, with what stands between it and the test before, such as its table of cases."""
    end = 0
    for test in source.tests:
        if names is None or not own_names([test.name]).isdisjoint(names):
            yield from range(end + 1, test.last + 1)
        end = max(end, test.last)


def _with_other_literals(source: Source, lines: Collection[int]) -> tuple[str, list[int]]:
    """The text, and the lines of what was changed in it."""
    data, parts, end, altered = source.text.encode(errors="replace"), list[bytes](), 0, list[int]()
    for start, stop, line in source.literal_spans:
        quoted = data[start - 1 : start] in _QUOTES
        step = _STEPS[len(altered) % len(_STEPS)]
        if start >= end and line in lines and (value := _other(data[start:stop], step, quoted=quoted)):
            parts += (data[end:start], value)
            end = stop
            altered.append(line)
    return b"".join((*parts, data[end:])).decode(errors="replace"), altered


def _opposite(line: str) -> str:
    found = ((pattern, other) for pattern, other in _OPPOSITES if pattern.search(line))
    return next((pattern.sub(other, line, count=1) for pattern, other in found), line)


def _other(literal: bytes, step: int, *, quoted: bool) -> bytes:
    """Another literal of the same kind; empty for one that is left alone, as a number that is no plain decimal one."""
    if number := _NUMBER.fullmatch(literal):
        return b"%d%s" % (int(number[1]) + step, number[2])
    if not literal.strip() or _MODULE.match(literal) or (literal[:1].isdigit() and not quoted):
        return b""
    return literal + b"~" * step


def cannot_fail(checks: Sequence[str] | None) -> str:
    """Of checks that pass with other values in their tests as well; empty where there is none."""
    what = "with other values in the tests that turned green, these checks pass as well, so they show nothing"
    return f"{what}: {some([clean(name) for name in checks])}" if checks else ""
