"""Leaves out what two versions of a Python file have in common at their start and end, since reading costs most."""

import re

from helmsman.python_of import python_of
from helmsman.verify.cases.common_ends import common_ends

SMALL = 60
"""Lines up to which a file is read whole: leaving out costs as much as it saves."""
_DEFINED = re.compile(r"(?m)^(?:async[ ]+)?(?:def|class)[ ]+(\w+)")
_REACHES_OUT = re.compile(r"__test__|(?m:^[ ]*del[ ])|(?m:^[ ]*class[ ]+(?!Test))|\\\n")
"""What in a part of a file may decide about tests in the rest of it."""


def trimmed(before: str, after: str) -> tuple[str, str]:
    """Both texts with common beginnings as empty lines and without common ends; whole where that could change their meaning."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) <= SMALL or "\r" in before or "\r" in after:
        return before, after
    start, end = common_ends(old, new, _begins)
    middles = "\n".join(old[start : len(old) - end]), "\n".join(new[start : len(new) - end])
    rest = "\n".join((*new[:start], *new[len(new) - end :]))
    if any(map(_REACHES_OUT.search, middles)) or not _is_apart(middles, rest):
        return before, after
    return "\n" * start + middles[0], "\n" * start + middles[1]


def _is_apart(middles: tuple[str, str], rest: str) -> bool:
    """Whether both parse by themselves and define no name that the rest defines too, of which only the last would count."""
    names = {name for middle in middles for name in _DEFINED.findall(middle)}
    return names.isdisjoint(_DEFINED.findall(rest)) and all(python_of(middle) is not None for middle in middles)


def _begins(lines: list[str], number: int) -> bool:
    """Whether a definition with its decorators begins on a line, or the file ends before it."""
    if number >= len(lines):
        return True
    decorated = number > 0 and lines[number - 1].startswith("@")
    return lines[number].startswith(("def ", "class ", "async def ", "@")) and not decorated
